"""The environment of the tests, set before Django reads its settings (pytest loads this first)."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

# Each test process counts for its own database only.
COUNTS = Path(tempfile.mkdtemp(prefix="mailkoenig-tests-"))
atexit.register(shutil.rmtree, COUNTS, ignore_errors=True)

os.environ.update(
    DEBUG="0",
    SECRET_KEY="for-the-tests-only-" + "x" * 32,
    PUBLIC_URL="https://mail.example.com",
    ALLOWED_HOSTS="*",
    MAILGUN_API_URL="http://127.0.0.1:9",
    MAILGUN_API_KEY="key-account",
    MAILGUN_SENDING_KEY="key-sending",
    MAILGUN_WEBHOOK_SIGNING_KEYS="mail-koenig-test-signing-key,mail-koenig-parent-signing-key",
    ADMINS="operator@example.com",
    EMAIL_URL="smtp://127.0.0.1:9",
    # Only tests about it write the counts; a timer must not reach a test's database.
    WEBHOOK_COUNT_EVERY="86400",
    INSTANCE_FILE=str(COUNTS / "instance.json"),
    SENDER_NICE="0",
    LOG_LEVEL="CRITICAL",
)
