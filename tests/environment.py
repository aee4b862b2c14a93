"""The environment of the tests, set before Django reads its settings (pytest loads this first)."""

import os

os.environ.update(
    DEBUG="0",
    SECRET_KEY="for-the-tests-only-" + "x" * 32,
    PUBLIC_URL="https://mail.example.com",
    ALLOWED_HOSTS="*",
    MAILGUN_API_URL="http://127.0.0.1:9",
    MAILGUN_API_KEY="key-account",
    MAILGUN_SENDING_KEY="key-sending",
    MAILGUN_WEBHOOK_SIGNING_KEYS="mail-koenig-test-signing-key,mail-koenig-parent-signing-key",
    LOG_LEVEL="CRITICAL",
)
