"""All settings; the only reader of the environment. Each variable stands in deploy/env.example with its meaning."""

import sys
import warnings
from ipaddress import ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import available_timezones

import environ
from django.core.exceptions import ImproperlyConfigured
from django.templatetags.static import static

BASE_DIR = Path(__file__).resolve().parent.parent

env = environ.Env()
if (BASE_DIR / ".env").is_file():
    env.read_env(BASE_DIR / ".env")


def seconds(name: str, default: float) -> float:
    """Read a number of seconds, greater than nothing."""
    try:
        value = float(env.str(name, default=str(default)) or default)
    except ValueError:
        value = -1.0
    if not 0 < value < 1e9:
        raise ImproperlyConfigured(f"{name} must be a number of seconds greater than 0, such as {default:g}.")
    return value


def whole(name: str, default: int, *, least: int = 1) -> int:
    """Read a whole number of at least `least`."""
    text = env.str(name, default=str(default)) or str(default)
    if not text.strip().isdigit() or int(text) < least:
        raise ImproperlyConfigured(f"{name} must be a whole number of at least {least}, such as {default}.")
    return int(text)


def moments(name: str, default: str) -> list[float]:
    """Read numbers of seconds that grow, separated by commas."""
    try:
        found = [float(part) for part in (env.str(name, default=default) or default).split(",")]
    except ValueError:
        found = []
    if not found or found != sorted(found) or not 0 < found[0] <= found[-1] < 1e9:
        raise ImproperlyConfigured(
            f"{name} must be growing numbers of seconds with commas between, such as {default}."
        )
    return found


def percent(name: str, default: float) -> float:
    """Read a share of a hundred, greater than nothing, as a part of one."""
    try:
        value = float(env.str(name, default=str(default)) or default)
    except ValueError:
        value = -1.0
    if not 0 < value <= 100:
        raise ImproperlyConfigured(f"{name} must be a number of percent up to 100, such as {default:g}.")
    return value / 100


def networks(name: str, default: str) -> list[str]:
    """Read networks such as 10.0.0.0/8, separated by commas."""
    found = [part.strip() for part in (env.str(name, default=default) or default).split(",") if part.strip()]
    for part in found:
        try:
            ip_network(part)
        except ValueError as error:
            raise ImproperlyConfigured(
                f"{name} must be networks with commas between, such as {default}: {error}."
            ) from error
    return found


def flag(name: str, default: bool) -> bool:
    """Read a yes or no."""
    text = env.str(name, default="").strip().lower()
    words = {
        "": default,
        "1": True,
        "true": True,
        "yes": True,
        "on": True,
        "0": False,
        "false": False,
        "no": False,
        "off": False,
    }
    if text not in words:
        raise ImproperlyConfigured(f"{name} must be yes or no, not {text!r}.")
    return words[text]


# The site

DEBUG = flag("DEBUG", False)
INSECURE_KEY = "insecure-for-development-only"
SECRET_KEY = env.str("SECRET_KEY", default="") or INSECURE_KEY
# With another key it is forgotten what stood against people who were erased.
ERASURE_KEY = env.str("ERASURE_KEY", default="") or SECRET_KEY
PUBLIC_URL = (env.str("PUBLIC_URL", default="") or "http://localhost:8000").rstrip("/")
_public = urlsplit(PUBLIC_URL)
if _public.scheme not in ("http", "https") or not _public.hostname:
    raise ImproperlyConfigured(
        "PUBLIC_URL must be the address people reach this site at, such as https://mail.example.com."
    )
HTTPS = _public.scheme == "https"
ALLOWED_HOSTS = [
    host.strip() for host in env.str("ALLOWED_HOSTS", default="").split(",") if host.strip()
] or [
    _public.hostname,
    "localhost",
    "127.0.0.1",
    "[::1]",
]
CSRF_TRUSTED_ORIGINS = [f"{_public.scheme}://{_public.netloc}"]
CSRF_COOKIE_SECURE = SESSION_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = True
X_FRAME_OPTIONS = "SAMEORIGIN"  # the preview of a mail stands in a frame of our own
SECURE_REFERRER_POLICY = "same-origin"
if flag("TRUST_X_FORWARDED_PROTO", False):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
# Nothing is ever redirected to https or to another path by Django: a redirected POST becomes a GET, and the
# one-click unsubscribe and the webhook are POSTs. The web server in front does it for people's pages.
SECURE_SSL_REDIRECT = False

# The provider

MAILGUN_API_URL = (env.str("MAILGUN_API_URL", default="") or "https://api.mailgun.net").rstrip("/")
MAILGUN_API_KEY = env.str("MAILGUN_API_KEY", default="")
MAILGUN_SENDING_KEY = env.str("MAILGUN_SENDING_KEY", default="") or MAILGUN_API_KEY
MAILGUN_WEBHOOK_SIGNING_KEYS = [
    key.strip() for key in env.str("MAILGUN_WEBHOOK_SIGNING_KEYS", default="").split(",") if key.strip()
]
MAILGUN_CONNECT_TIMEOUT = seconds("MAILGUN_CONNECT_TIMEOUT", 10)
MAILGUN_READ_TIMEOUT = seconds("MAILGUN_READ_TIMEOUT", 60)
# No call lasts longer than this in all, whatever the provider sends in between.
MAILGUN_CALL_TIMEOUT = MAILGUN_CONNECT_TIMEOUT + MAILGUN_READ_TIMEOUT

# The webhook

WEBHOOK_MAX_BYTES = whole("WEBHOOK_MAX_BYTES", 1_048_576)
WEBHOOK_MAX_AGE = seconds("WEBHOOK_MAX_AGE", 86_400)
WEBHOOK_MAX_AHEAD = seconds("WEBHOOK_MAX_AHEAD", 300)

# What comes back without a webhook: the provider's log is read every so often, over a window that overlaps the last one

EVENTS_POLL_EVERY = whole("EVENTS_POLL_EVERY", 300, least=0)
EVENTS_POLL_OVERLAP = seconds("EVENTS_POLL_OVERLAP", 1800)
# A campaign of which nothing was heard for so long after its first acceptance is said to be silent.
EVENTS_SILENCE_AFTER = seconds("EVENTS_SILENCE_AFTER", 900)

# The sender

SENDER_CONCURRENCY = whole("SENDER_CONCURRENCY", 4)
SENDER_POLL = seconds("SENDER_POLL", 0.5)
SENDER_GRACE = seconds("SENDER_GRACE", 25)
SENDER_NICE = whole("SENDER_NICE", 10, least=0)
SENDER_MAX_CALL_BYTES = whole("SENDER_MAX_CALL_BYTES", 20_000_000)
# When the provider's log is asked about a call without a clear answer, counted from when it became unclear.
RESOLVER_WAITS = moments("RESOLVER_WAITS", "120,300,900,1800,3600")
# A schedule that was missed by more waits for a person.
SCHEDULE_GRACE = seconds("SCHEDULE_GRACE", 3600)
# Kept outside the database, so that a restored one is noticed; one file a host.
INSTANCE_FILE = Path(env.str("INSTANCE_FILE", default="") or BASE_DIR / ".data" / "instance.json")
MESSAGE_MAX_ATTACHMENT_BYTES = whole("MESSAGE_MAX_ATTACHMENT_BYTES", 10_000_000)
IMPORT_MAX_BYTES = whole("IMPORT_MAX_BYTES", 1_073_741_824)
API_MAX_BYTES = whole("API_MAX_BYTES", 16_777_216)

# Who is told when something is wrong, and when it is over: by a mail server of its own and by a webhook.

ADMINS = [
    (address.strip(), address.strip())
    for address in env.str("ADMINS", default="").split(",")
    if address.strip()
]
_mail: dict[str, Any] = env.email_url("EMAIL_URL", default="") if env.str("EMAIL_URL", default="") else {}
EMAIL_BACKEND = _mail.get("EMAIL_BACKEND", "django.core.mail.backends.dummy.EmailBackend")
EMAIL_HOST = _mail.get("EMAIL_HOST") or "localhost"
EMAIL_PORT = _mail.get("EMAIL_PORT") or 25
EMAIL_HOST_USER = _mail.get("EMAIL_HOST_USER") or ""
EMAIL_HOST_PASSWORD = _mail.get("EMAIL_HOST_PASSWORD") or ""
EMAIL_USE_TLS = _mail.get("EMAIL_USE_TLS", False)
EMAIL_USE_SSL = _mail.get("EMAIL_USE_SSL", False)
EMAIL_FILE_PATH = _mail.get("EMAIL_FILE_PATH") or None
EMAIL_TIMEOUT = 10
SERVER_EMAIL = env.str("SERVER_EMAIL", default="") or f"mailkoenig@{_public.hostname}"
ALERT_BY_EMAIL = bool(_mail and ADMINS)
ALERT_WEBHOOK_URL = env.str("ALERT_WEBHOOK_URL", default="").strip()
ALERT_WEBHOOK_SECRET = env.str("ALERT_WEBHOOK_SECRET", default="")
ALERTS_EVERY = seconds("ALERTS_EVERY", 30)
# An outcome that waits for a person for longer.
ALERT_UNKNOWN_AFTER = seconds("ALERT_UNKNOWN_AFTER", 3600)

# A campaign that goes to too many dead addresses, or that too many call spam, pauses itself.

GUARD_AFTER_RESULTS = whole("GUARD_AFTER_RESULTS", 100)
GUARD_BOUNCES = percent("GUARD_BOUNCES", 5)
GUARD_COMPLAINTS = percent("GUARD_COMPLAINTS", 0.3)
GUARD_COMPLAINTS_WARNING = percent("GUARD_COMPLAINTS_WARNING", 0.1)

# Figures for Prometheus

METRICS_TOKEN = env.str("METRICS_TOKEN", default="")
METRICS_NETWORKS = networks("METRICS_NETWORKS", "127.0.0.0/8,::1/128")
# Webhooks are counted in the process and written down this often, so that a flood of them costs no writes.
WEBHOOK_COUNT_EVERY = seconds("WEBHOOK_COUNT_EVERY", 5)

# Django

INSTALLED_APPS = [
    "unfold",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "mailkoenig",
    "mailkoenig.simulator",
    "mailkoenig.monitoring",
    "mailkoenig.api",
    "ninja",
    "mailkoenig.rehearsal",
    "mailkoenig.worker",
    "contacts",
    "campaigns",
    "events",
]
# The worker shows no pages, and without what makes them it needs a tenth less memory.
PAGES = {
    "unfold",
    "django.contrib.admin",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "whitenoise.runserver_nostatic",
    "ninja",
}
if sys.argv[1:2] == ["run_sender"]:
    INSTALLED_APPS = [app for app in INSTALLED_APPS if app not in PAGES]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "mailkoenig.middleware.content_security_policy",
    "mailkoenig.api.middleware.problems",
]
ROOT_URLCONF = "mailkoenig.urls"
WSGI_APPLICATION = "mailkoenig.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "campaigns.admin.emergency.banner",
                "mailkoenig.monitoring.home.banners",
            ]
        },
    }
]


def database() -> dict[str, Any]:
    """Return the server that DATABASE_URL names, or the embedded one where it is unset."""
    shared: dict[str, Any] = {
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
        # Behind PgBouncer in transaction mode a server-side cursor would vanish at each commit.
        "DISABLE_SERVER_SIDE_CURSORS": True,
    }
    if not env.str("DATABASE_URL", default=""):
        data = Path(env.str("EMBEDDED_DATA_DIR", default="") or BASE_DIR / ".data" / "postgres")
        return {
            "ENGINE": "mailkoenig.lib.embedded",
            "NAME": "mailkoenig",
            "EMBEDDED_NAME": "mailkoenig",
            "DATA_DIR": data,
            **shared,
        }
    with warnings.catch_warnings():
        # It remarks on an address that it can't read; we refuse it in our own words.
        warnings.simplefilter("ignore", UserWarning)
        url = env.db_url("DATABASE_URL")
    if url.get("ENGINE") != "django.db.backends.postgresql":
        raise ImproperlyConfigured(
            "DATABASE_URL must name a PostgreSQL, such as postgres://user:password@localhost/mailkoenig."
        )
    options = {"connect_timeout": 5, **url.pop("OPTIONS", {})}
    return {**url, **shared, "OPTIONS": options}


DATABASES = {"default": database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
LOGIN_URL = "admin:login"
LOGIN_REDIRECT_URL = "admin:index"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
LANGUAGE_CODE = "en"
USE_I18N = True
USE_TZ = True
TIME_ZONE = env.str("TIME_ZONE", default="") or "UTC"
if TIME_ZONE not in available_timezones():
    raise ImproperlyConfigured(
        f"TIME_ZONE {TIME_ZONE!r} is not known: use a name such as Europe/Berlin or UTC."
    )
STATIC_URL = "static/"
STATIC_ROOT = BASE_DIR / ".data" / "static"
# After collectstatic names carry a digest and are cached for ever; before it the apps' own files are served as they are.
IS_COLLECTED = not DEBUG and (STATIC_ROOT / "staticfiles.json").is_file()
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if IS_COLLECTED or "collectstatic" in sys.argv
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}
WHITENOISE_USE_FINDERS = not IS_COLLECTED
# Uploads are spooled to disk: a contact file may have a million rows.
FILE_UPLOAD_HANDLERS = ["django.core.files.uploadhandler.TemporaryFileUploadHandler"]
DATA_UPLOAD_MAX_MEMORY_SIZE = 5_242_880

# The admin's theme. Blue, green, amber and red mean states, so that its own colour is none of them.
UNFOLD = {
    "SITE_TITLE": "Mail Koenig",
    "SITE_HEADER": "Mail Koenig",
    "SITE_SUBHEADER": _public.hostname,
    "SITE_SYMBOL": "mail",
    "SITE_FAVICONS": [
        {"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("mailkoenig/icon.svg")}
    ],
    "SITE_URL": None,
    "SHOW_VIEW_ON_SITE": False,
    "STYLES": [lambda request: static("mailkoenig/admin.css")],
    "SCRIPTS": [lambda request: static("mailkoenig/once.js")],
    "COLORS": {
        "primary": {
            "50": "oklch(96.2% .018 272.314)",
            "100": "oklch(93% .034 272.788)",
            "200": "oklch(87% .065 274.039)",
            "300": "oklch(78.5% .115 274.713)",
            "400": "oklch(67.3% .182 276.935)",
            "500": "oklch(58.5% .233 277.117)",
            "600": "oklch(51.1% .262 276.966)",
            "700": "oklch(45.7% .24 277.023)",
            "800": "oklch(39.8% .195 277.366)",
            "900": "oklch(35.9% .144 278.697)",
            "950": "oklch(25.7% .09 281.288)",
        }
    },
    "DASHBOARD_CALLBACK": "mailkoenig.monitoring.home.dashboard",
    "SIDEBAR": {"show_search": False, "navigation": "mailkoenig.navigation.rooms"},
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": "mailkoenig.lib.log.LineFormatter"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        # Not its own: with ADMINS set it would mail them whole requests.
        "django": {"handlers": [], "level": "WARNING"},
    }
    | {
        name: {"handlers": ["stderr"], "level": env.str("LOG_LEVEL", default="INFO"), "propagate": False}
        for name in ("mailkoenig", "contacts", "campaigns", "events")
    },
}
