"""The web process: `gunicorn mailkoenig.wsgi`."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mailkoenig.settings")
application = get_wsgi_application()

from mailkoenig.checks import refuse_unsafe_settings  # noqa: E402 - the apps must be loaded first

refuse_unsafe_settings()
