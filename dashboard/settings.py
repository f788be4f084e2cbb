"""Settings of one Gatepost installation; what differs between machines is in the environment.

GATEPOST_DATA            data folder (default ./.gatepost)
DATABASE_URL, REDIS_URL  servers of your own; without them the embedded ones of the data folder
GATEPOST_SECRET_KEY      else generated once into the data folder
GATEPOST_ROLE            web | worker | migrate | test | "" (a command): how connections are kept
GATEPOST_AGENTS          modules with agents, separated by commas
GATEPOST_PUBLISHED       where published reports go (default <data>/published)
GATEPOST_POLL_SECONDS    how often a page asks by itself (default 5)
GATEPOST_RECHECK_SECONDS how often logins and roles of open sockets are checked (default 8)
GATEPOST_LEASE_SECONDS   how long a worker may be silent before its thread goes elsewhere (15)
GATEPOST_SWEEP_SECONDS   how often each worker looks for what was lost (2)
GATEPOST_SLICE_SECONDS   how long a thread may keep a slot while others wait (30)
GATEPOST_ALLOWED_HOSTS, GATEPOST_TRUSTED_ORIGINS, GATEPOST_HTTPS, GATEPOST_DEBUG
GATEPOST_LOG_LEVEL, GATEPOST_LOG_FORMAT (console | json)
"""

import os
from pathlib import Path
from typing import Any

import environ
from django.utils.csp import CSP

from dashboard.embedded.folders import folders
from dashboard.logs import logging_config
from dashboard.secret_key import secret_key

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()

DATA = Path(os.path.abspath(Path(env("GATEPOST_DATA", default=".gatepost")).expanduser()))
ROLE = env("GATEPOST_ROLE", default="")
DEBUG = env.bool("GATEPOST_DEBUG", default=False)
SECRET_KEY = env("GATEPOST_SECRET_KEY", default="") or secret_key(DATA)
ALLOWED_HOSTS = env.list("GATEPOST_ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("GATEPOST_TRUSTED_ORIGINS", default=[])

GATEPOST_DATA = DATA
GATEPOST_PUBLISHED = Path(env("GATEPOST_PUBLISHED", default=str(DATA / "published")))
GATEPOST_POLL_SECONDS = env.float("GATEPOST_POLL_SECONDS", default=5.0)
GATEPOST_RECHECK_SECONDS = env.float("GATEPOST_RECHECK_SECONDS", default=8.0)
GATEPOST_LEASE_SECONDS = env.float("GATEPOST_LEASE_SECONDS", default=15.0)
GATEPOST_SWEEP_SECONDS = env.float("GATEPOST_SWEEP_SECONDS", default=2.0)
GATEPOST_SLICE_SECONDS = env.float("GATEPOST_SLICE_SECONDS", default=30.0)
GATEPOST_AGENTS = env.list("GATEPOST_AGENTS", default=[])

# --- parts ---------------------------------------------------------------------------------------
ROOT_URLCONF = "dashboard.urls"
ASGI_APPLICATION = "dashboard.asgi.application"
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_filters",
    "django_htmx",
    "channels",
    "axes",
    "lucide",
    "checkpoints",
    "approvals",
    "workers",
    "dashboard",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "dashboard.middleware.NoStore",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "servestatic.middleware.ServeStaticMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
]
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
                "dashboard.shell.shell",
            ],
        },
    }
]

# --- PostgreSQL ----------------------------------------------------------------------------------
PLACES = folders(DATA)
TIMEOUTS = {
    "lock_timeout": "3s",
    "idle_in_transaction_session_timeout": "5s",
    "statement_timeout": "30s",
}
if ROLE == "migrate":
    # A migration may wait for locks and take its time.
    TIMEOUTS = {
        "lock_timeout": "10s",
        "idle_in_transaction_session_timeout": "0",
        "statement_timeout": "0",
    }
elif ROLE == "test":
    # A transactional test holds its transaction open from beginning to end.
    TIMEOUTS |= {"idle_in_transaction_session_timeout": "120s"}

database: dict[str, Any]
if env("DATABASE_URL", default=""):
    database = env.db_url("DATABASE_URL")
    database["ENGINE"] = "django.db.backends.postgresql"
else:
    # By hand, since no URL spells the folder of a unix socket in a way that all readers agree on.
    database = {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": str(PLACES.run),
        "NAME": env("GATEPOST_DATABASE", default="gatepost"),
        "USER": "gatepost",
    }
if ROLE == "worker":
    # Its statements are short and go by keys, so one plan is as good as another; otherwise each
    # slot plans each of them anew five times, and some always.
    TIMEOUTS |= {"plan_cache_mode": "force_generic_plan"}
session_options = " ".join(f"-c {name}={value}" for name, value in TIMEOUTS.items())
database["OPTIONS"] = database.get("OPTIONS", {}) | {
    "application_name": f"gatepost-{ROLE or 'command'}",
    "options": f"{session_options} -c TimeZone=UTC",
    # Statements are few and always the same: the server parses and plans each one once.
    "prepare_threshold": 3,
    "server_side_binding": True,
}
database["CONN_HEALTH_CHECKS"] = True
if ROLE == "web":
    # Each request works in a thread of its own: without a pool each would open a connection.
    database["CONN_MAX_AGE"] = 0
    database["OPTIONS"]["pool"] = {
        "min_size": 2,
        "max_size": env.int("GATEPOST_POOL", default=16),
        "timeout": 5,
    }
else:
    # Celery closes pools at each task's end; workers/celery.py keeps plain connections warm.
    database["CONN_MAX_AGE"] = 600
DATABASES = {"default": database}

# --- Valkey: doorbells and hints, never the truth ------------------------------------------------
REDIS_URL = env("REDIS_URL", default="") or f"unix://{PLACES.valkey_socket}"
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [REDIS_URL], "prefix": "gatepost"},
    }
}
# Celery and the client library spell the address of a socket differently.
CELERY_BROKER_URL = REDIS_URL.replace("unix://", "redis+socket://", 1)
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_IGNORE_RESULT = True
CELERY_RESULT_BACKEND = None
CELERY_TASK_ACKS_LATE = False
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_DEFAULT_QUEUE = "gatepost"
CELERY_TIMEZONE = "UTC"
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_REDIRECT_STDOUTS = False
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 1.5
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# A request that rings the doorbell must not wait for a Valkey that is away; the sweep rings later.
CELERY_BROKER_TRANSPORT_OPTIONS = {"socket_connect_timeout": 1, "socket_timeout": 10}
CELERY_TASK_PUBLISH_RETRY = False

# --- people --------------------------------------------------------------------------------------
AUTHENTICATION_BACKENDS = [
    "dashboard.lockout.PasswordLockout",
    "django.contrib.auth.backends.ModelBackend",
    "sesame.backends.ModelBackend",
]
LOGIN_URL = "/login/"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/login/"
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 10},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
SESAME_ONE_TIME = True
SESAME_MAX_AGE = 600
AXES_FAILURE_LIMIT = 8
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_VERBOSE = False
AXES_LOCKOUT_CALLABLE = "dashboard.views.login.locked"

# --- the browser ---------------------------------------------------------------------------------
HTTPS = env.bool("GATEPOST_HTTPS", default=False)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SESSION_COOKIE_HTTPONLY = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SECURE_CSP = {
    "default-src": [CSP.SELF],
    "script-src": [CSP.SELF],
    "style-src": [CSP.SELF],
    "img-src": [CSP.SELF, "data:"],
    "connect-src": [CSP.SELF],
    "frame-ancestors": [CSP.NONE],
    "object-src": [CSP.NONE],
    "base-uri": [CSP.NONE],
    "form-action": [CSP.SELF],
}
STATIC_URL = "/static/"
STATIC_ROOT = DATA / "static"
SERVESTATIC_USE_FINDERS = True
SERVESTATIC_AUTOREFRESH = False
MEDIA_ROOT = DATA / "artifacts"

# --- the API -------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["dashboard.api.authentication.SessionAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["dashboard.api.parsers.StrictJSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "dashboard.api.problems.handler",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Gatepost API",
    "DESCRIPTION": "The control room for AI agents: threads, checkpoints, approvals.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.IsAuthenticated"],
    "SCHEMA_PATH_PREFIX": "/api/v1",
    # No online validator: the schema stays here.
    "SWAGGER_UI_SETTINGS": {"deepLinking": True, "validatorUrl": None},
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
}

# --- time, words, log ----------------------------------------------------------------------------
USE_TZ = True
TIME_ZONE = "UTC"
USE_I18N = False
LANGUAGE_CODE = "en"
LOGGING_CONFIG = "dashboard.logs.configure"
LOGGING = logging_config(
    level=env("GATEPOST_LOG_LEVEL", default="INFO"),
    form=env("GATEPOST_LOG_FORMAT", default="console"),
)
