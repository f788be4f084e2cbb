"""Settings of one Gatepost installation; what differs between machines is in the environment.

GATEPOST_DATA            data folder (default ./.gatepost)
GATEPOST_FILES           folder of artifacts and large values (default: artifacts in GATEPOST_DATA)
GATEPOST_STORAGE         the same in a bucket: s3://bucket/prefix?endpoint=https://host:9000,
                         with the extra `s3` (docs/howto/object-storage.md)
GATEPOST_STORAGE_KEY, GATEPOST_STORAGE_SECRET
                         credentials of the bucket (else as clients of Amazon find them)
DATABASE_URL, REDIS_URL  servers of your own; without them the embedded ones of the data folder
GATEPOST_HOT_URL         a Valkey of its own for the state of hot agents, apart from REDIS_URL;
                         without it the embedded one of the data folder
DATABASE_PASSWORD, REDIS_PASSWORD, GATEPOST_HOT_PASSWORD
                         where the address carries none
GATEPOST_MIGRATE_DATABASE_URL, GATEPOST_MIGRATE_DATABASE_PASSWORD
                         the owner of the tables, for migrations only; DATABASE_URL is then a role
                         without the right to change logs
GATEPOST_SECRET_KEY      else generated once into the data folder
GATEPOST_ENCRYPTION_KEYS keys of stored secrets, newest first, by commas (else one of SECRET_KEY)
GATEPOST_ANCHORS, _SECRET, _LATE_MINUTES  where anchors go out to: docs/howto/anchors.md
GATEPOST_ANCHOR_KEY      signs the anchors of commands (else generated once into the data folder)
GATEPOST_METRICS_TOKEN   who reads /metrics from another machine sends it as a bearer token
GATEPOST_OIDC_CLIENT_SECRET  of single sign-on (docs/howto/sign-in.md)
                         (each of these also as NAME_FILE: a file that holds it)
GATEPOST_OIDC_ISSUER, _CLIENT_ID, _NAME, _SCOPES, _GROUPS_CLAIM, _USERNAME_CLAIM, _HOURS
                         the provider of single sign-on; without an issuer there is none
GATEPOST_GROUPS          which groups of the directory open which roles, as JSON (or ..._FILE)
GATEPOST_PASSWORDS       off: people sign in by the provider, or by a one-time link (default on)
GATEPOST_ROLE            web | worker | migrate | test | "" (a command): how connections are kept
GATEPOST_AGENTS          modules with agents, separated by commas
GATEPOST_SHIPPED_AGENTS  whether workers take the agents that ship as well (default true)
GATEPOST_MODEL           what answers ctx.model by default: openai:NAME, anthropic:NAME (both @URL),
                         google:NAME and others with the extra `models`, or package.module:function
GATEPOST_AGENT_MODELS    the same for some agents, separated by commas: agent=openai:NAME
GATEPOST_WORKSPACE_MODELS  the same for all agents of some workspaces: NAME=openai:MODEL
GATEPOST_MODELS          other models that threads and forks may name, separated by commas
GATEPOST_ANSWER_MODEL    what writes answers to questions to the record: openai:NAME or
                         anthropic:NAME, both @URL (none: answers are sentences of the record)
GATEPOST_SPEECH          what turns recordings of conversations into text: openai:NAME or
                         openai:NAME@URL (none: people type what they said)
GATEPOST_EMBEDDINGS      what turns memories into vectors: openai:NAME or openai:NAME@URL (none:
                         memories are found by their words)
GATEPOST_VECTORS         where vectors are searched: qdrant:URL (none: in each process), with its
                         key in GATEPOST_VECTORS_KEY (or ..._FILE)
GATEPOST_MODEL_ANSWER_BYTES  the largest text of a model's answer (8388608)
GATEPOST_CREDENTIALS     refuse (default): what looks like a credential is written nowhere; off
GATEPOST_SECRET_NAMES    variables whose values are refused as well wherever they turn up, separated
                         by commas; Gatepost's own secrets always are
GATEPOST_WORKSPACE_SECRETS  which secrets admins may choose for MCP servers, and where each may go,
                         as JSON (or ..._FILE): docs/howto/mcp-gateway.md
GATEPOST_GUARD           false lets nodes do what belongs into activities (default true)
GATEPOST_MCP_NETWORKS    networks of your own whose MCP servers are called, by commas (none)
GATEPOST_WEB_NETWORKS    networks of your own whose pages agents may read, also without TLS (none)
GATEPOST_PUBLISHED       where published reports go (default <data>/published)
GATEPOST_OUTBOX          where mails are put for delivery (default <data>/outbox)
GATEPOST_BANK_URL        the bank of `payments`, http://host:port or unix:/path (that of `up`)
GATEPOST_POLL_SECONDS    how often a page asks by itself (default 5)
GATEPOST_STUCK_SECONDS   a thread at a new node is stuck after so long without an event (900)
GATEPOST_STUCK_WAIT_SECONDS  the same of one that waits for people (86400)
GATEPOST_HOT_LAG_SECONDS an alarm once a step of a hot agent waits so long in the hot store (30)
GATEPOST_STREAM_SECONDS  how long a stream of events lasts before its client reconnects (3600)
GATEPOST_RECHECK_SECONDS how often logins and roles of open sockets are checked (default 8)
GATEPOST_CALL_RESERVE    what a model call without a known bound reserves under a cap (0.05)
GATEPOST_LEASE_SECONDS   how long a worker may be silent before its thread goes elsewhere (15)
GATEPOST_SWEEP_SECONDS   how often each worker looks for what was lost (2)
GATEPOST_SLICE_SECONDS   how long a thread may keep a slot while others wait (30)
GATEPOST_STEP_SECONDS    how long a node may work in one go where its agent does not say (900)
GATEPOST_NODES_AT_ONCE   how many nodes of one step of a thread work at the same time where its
                         agent does not say (8; 1: they take turns)
GATEPOST_SLOT_MEMORY_MB  address space of a prefork slot (default 0: no bound)
GATEPOST_UNDO_WINDOWS    seconds in which a decision on something of low, medium or high risk can
                         be taken back (0,0,10)
GATEPOST_STEP_UP_MINUTES high risk is decided so long after password or sign-in at most (0: off)
GATEPOST_UNDO_PAUSES     seconds before each further try of an undo that failed (5,30)
GATEPOST_BASE_URL        where people open Gatepost, for links in messages (default: that of `up`)
EMAIL_URL                the mail server: smtp://user:password@host:587, smtps:// (STARTTLS) or
                         smtp+ssl://; without it no mail is sent (also as EMAIL_URL_FILE)
GATEPOST_MAIL_FROM       whom mails come from (gatepost@localhost)
GATEPOST_DIGEST_AFTER    messages that a person gets one by one within an endpoint's digest
                         window; later ones wait and are sent as one message (5)
GATEPOST_NOTIFY_SECONDS  how often each worker looks for news to send (1)
GATEPOST_VERIFY_EVERY_SECONDS, GATEPOST_VERIFY_EVENTS_PER_SECOND
                         how often workers verify everything in the background (600; 0: never),
                         and how fast at most (500)
GATEPOST_NEWS_DAYS       how long news and deliveries are kept that are over (90)
GATEPOST_SEND_SECONDS    how long a mail server or webhook may take (10)
GATEPOST_DELIVERY_PAUSES seconds before each further try of a message that did not arrive
                         (5,30,120,600,1800,3600,7200,14400,28800,28800: about a day)
GATEPOST_WEBHOOK_PORTS   ports that webhooks may be sent to; 0 for all (443,8443)
GATEPOST_WEBHOOK_NETWORKS networks that they may be sent to though not public: 10.1.0.0/16 (none)
GATEPOST_WEBHOOK_HTTP    true allows webhooks without encryption (default false)
GATEPOST_WEBHOOK_CA      file of certificates that webhooks are checked against (the system's)
GATEPOST_APPRISE_SCHEMES chats that endpoints may name (slack,discord,msteams,tgram,gchat,pagerduty)
GATEPOST_UPLOAD_MAX_BYTES the largest file that may be uploaded (default 2 GiB)
GATEPOST_BODY_SECONDS    a request's body may begin so late; then 16 KiB a second have to come (20)
GATEPOST_API_PER_ACCOUNT, GATEPOST_API_PER_PERSON, GATEPOST_API_PER_ADDRESS
                         calls of the API in a minute by one token or login, by all of one person,
                         by one address (6000, 12000, 12000); 0 for no limit, as with all of these
GATEPOST_REPORTS_PER_ACCOUNT, GATEPOST_REPORTS_PER_ADDRESS
                         the same for agents that work elsewhere and report (30000, 30000)
GATEPOST_UNKNOWN_PER_ADDRESS
                         calls in a minute by one address without a valid token or login (120)
GATEPOST_VIOLATIONS_PER_ADDRESS reports of blocked page content by one address a minute (60)
GATEPOST_HOOK_PER_MINUTE deliveries in a minute to one hook, and by one address (600)
GATEPOST_LOGINS_PER_ACCOUNT, GATEPOST_LOGINS_PER_ADDRESS
                         wrong passwords in a quarter of an hour (20, 60)
GATEPOST_SOCKETS_PER_LOGIN
                         live connections of one login to one web process (50)
GATEPOST_VOICE_SOCKETS   conversations that a person may have open at one web process (10)
GATEPOST_UTTERANCE_BYTES, GATEPOST_RECORDING_BYTES
                         the longest text and the largest recording of an utterance (16384, 10 MiB)
GATEPOST_UTTERANCES_PER_MINUTE
                         utterances that a conversation takes in a minute (120); 0 for no limit
GATEPOST_MCP_COMMANDS    programs that admins may enter as MCP servers: npx,uvx (none)
GATEPOST_MCP_CALL_SECONDS, _HOLD_SECONDS, _IDLE_SECONDS  docs/howto/mcp-gateway.md (300, 50, 300)
GATEPOST_TRUSTED_PROXIES networks of proxies whose X-Forwarded-For is believed: 10.0.0.0/8 (none)
GATEPOST_HSTS_SECONDS    how long browsers come by https only, where GATEPOST_HTTPS is on (a year)
GATEPOST_CONTENT_DATABASE_BYTES, GATEPOST_CONTENT_FILE_BYTES
                         from which size a value is kept by reference (16384, 1024)
GATEPOST_CONTENT_LARGE_BYTES from which size a value of a hot agent lies in a file (262144; 0: none)
GATEPOST_HOT_STEP_BYTES  a larger step of a hot agent is committed to PostgreSQL (32768)
GATEPOST_TOKEN_EXPIRES   how long a new API token is good for: 12h, 90d, never (default 90d)
GATEPOST_IDEMPOTENCY_HOURS how long the answer to an Idempotency-Key is kept (default 24)
GATEPOST_ANSWER_SECONDS  how long PostgreSQL may leave a statement unanswered before the connection
                         is given up; longer than its statement_timeout (32)
GATEPOST_POOL            connections of a web process (16)
GATEPOST_CACHE_MEGABYTES no result is cached across threads while Valkey uses more (256)
GATEPOST_PASSWORD_SLOTS  passwords that a web process hashes together; others wait, many are turned
                         away for some seconds (half of the processors)
GATEPOST_STORAGE_PRICE   dollars for a GB of the database a month, for the overview (0.115: gp3 of
                         Amazon RDS for PostgreSQL in us-east-1, June 2026)
GATEPOST_PREPARE         false behind a PgBouncer that keeps no prepared statements (default true)
GATEPOST_STATIC          folder of collected static files (default: not collected)
GATEPOST_PULSE           file that a worker touches with each sign of life (default none)
GATEPOST_ALLOWED_HOSTS, GATEPOST_TRUSTED_ORIGINS, GATEPOST_HTTPS, GATEPOST_DEBUG
GATEPOST_LOG_LEVEL, GATEPOST_LOG_FORMAT (console | json)
"""

import os
from decimal import Decimal
from pathlib import Path

import environ

from dashboard.configuration import (
    anchors,
    api,
    browser,
    encryption,
    import_path,
    mail,
    secrets,
    sign_in,
    storage,
    valkey,
    vectors,
)
from dashboard.configuration.database import database, runtime_role
from dashboard.configuration.logs import logging_config, register
from dashboard.configuration.secret_key import secret_key
from dashboard.configuration.sources import value
from dashboard.operate.embedded import web_address
from dashboard.operate.embedded.process.folders import folders

BASE_DIR = import_path.ROOT
env = environ.Env()

DATA = Path(os.path.abspath(Path(env("GATEPOST_DATA", default=".gatepost")).expanduser()))
ROLE = env("GATEPOST_ROLE", default="")
DEBUG = env.bool("GATEPOST_DEBUG", default=False)
SECRET_KEY = value("GATEPOST_SECRET_KEY") or secret_key(DATA)
ALLOWED_HOSTS = env.list("GATEPOST_ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
CSRF_FAILURE_VIEW = "dashboard.kit.pages.failures.session_changed"
CSRF_TRUSTED_ORIGINS = env.list("GATEPOST_TRUSTED_ORIGINS", default=[])

GATEPOST_DATA = DATA
GATEPOST_PUBLISHED = Path(env("GATEPOST_PUBLISHED", default=str(DATA / "published")))
GATEPOST_STEP_UP_MINUTES = env.float("GATEPOST_STEP_UP_MINUTES", default=0.0)
GATEPOST_OUTBOX = Path(env("GATEPOST_OUTBOX", default=str(DATA / "outbox")))
GATEPOST_POLL_SECONDS = env.float("GATEPOST_POLL_SECONDS", default=5.0)
GATEPOST_STUCK_SECONDS = env.float("GATEPOST_STUCK_SECONDS", default=900.0)
GATEPOST_STUCK_WAIT_SECONDS = env.float("GATEPOST_STUCK_WAIT_SECONDS", default=86_400.0)
GATEPOST_HOT_LAG_SECONDS = env.float("GATEPOST_HOT_LAG_SECONDS", default=30.0)
GATEPOST_STREAM_SECONDS = env.float("GATEPOST_STREAM_SECONDS", default=3600.0)
GATEPOST_RECHECK_SECONDS = env.float("GATEPOST_RECHECK_SECONDS", default=8.0)
GATEPOST_LEASE_SECONDS = env.float("GATEPOST_LEASE_SECONDS", default=15.0)
GATEPOST_CALL_RESERVE = env.str("GATEPOST_CALL_RESERVE", default="0.05")
GATEPOST_STORAGE_PRICE = Decimal(env("GATEPOST_STORAGE_PRICE", default="0.115"))
GATEPOST_SWEEP_SECONDS = env.float("GATEPOST_SWEEP_SECONDS", default=2.0)
GATEPOST_SLICE_SECONDS = env.float("GATEPOST_SLICE_SECONDS", default=30.0)
GATEPOST_ANSWER_SECONDS = env.float("GATEPOST_ANSWER_SECONDS", default=32.0)
GATEPOST_MODEL_ANSWER_BYTES = env.int("GATEPOST_MODEL_ANSWER_BYTES", default=8 << 20)
GATEPOST_STEP_SECONDS = env.float("GATEPOST_STEP_SECONDS", default=900.0)
GATEPOST_NODES_AT_ONCE = env.int("GATEPOST_NODES_AT_ONCE", default=8)
GATEPOST_SLOT_MEMORY_MB = env.int("GATEPOST_SLOT_MEMORY_MB", default=0)
GATEPOST_UNDO_WINDOWS = env.list("GATEPOST_UNDO_WINDOWS", cast=float, default=[0.0, 0.0, 10.0])
GATEPOST_UNDO_PAUSES = env.list("GATEPOST_UNDO_PAUSES", cast=float, default=[5.0, 30.0])
GATEPOST_BASE_URL = (
    env("GATEPOST_BASE_URL", default="") or web_address.noted(DATA) or "http://localhost:8000"
)
GATEPOST_DIGEST_AFTER = env.int("GATEPOST_DIGEST_AFTER", default=5)
GATEPOST_NOTIFY_SECONDS = env.float("GATEPOST_NOTIFY_SECONDS", default=1.0)
GATEPOST_VERIFY_EVERY_SECONDS = env.float("GATEPOST_VERIFY_EVERY_SECONDS", default=600.0)
GATEPOST_VERIFY_EVENTS_PER_SECOND = env.float("GATEPOST_VERIFY_EVENTS_PER_SECOND", default=500.0)
GATEPOST_NEWS_DAYS = env.float("GATEPOST_NEWS_DAYS", default=90.0)
GATEPOST_SEND_SECONDS = env.float("GATEPOST_SEND_SECONDS", default=10.0)
GATEPOST_DELIVERY_PAUSES = env.list("GATEPOST_DELIVERY_PAUSES", cast=float, default=mail.PAUSES)
GATEPOST_WEBHOOK_PORTS = env.list("GATEPOST_WEBHOOK_PORTS", cast=int, default=[443, 8443])
GATEPOST_WEBHOOK_NETWORKS = mail.networks(env.list("GATEPOST_WEBHOOK_NETWORKS", default=[]))
GATEPOST_WEBHOOK_HTTP = env.bool("GATEPOST_WEBHOOK_HTTP", default=False)
GATEPOST_WEBHOOK_CA = env("GATEPOST_WEBHOOK_CA", default="")
GATEPOST_APPRISE_SCHEMES = env.list("GATEPOST_APPRISE_SCHEMES", default=mail.CHATS)
MAILERS = mail.mailers(value("EMAIL_URL"), seconds=GATEPOST_SEND_SECONDS)
DEFAULT_FROM_EMAIL = SERVER_EMAIL = env("GATEPOST_MAIL_FROM", default="") or "gatepost@localhost"
GATEPOST_CONTENT_DATABASE_BYTES = env.int("GATEPOST_CONTENT_DATABASE_BYTES", default=16 * 1024)
GATEPOST_CONTENT_LARGE_BYTES = env.int("GATEPOST_CONTENT_LARGE_BYTES", default=256 * 1024)
GATEPOST_HOT_STEP_BYTES = env.int("GATEPOST_HOT_STEP_BYTES", default=32 * 1024)
GATEPOST_CONTENT_FILE_BYTES = env.int("GATEPOST_CONTENT_FILE_BYTES", default=1024)
GATEPOST_UPLOAD_MAX_BYTES = env.int("GATEPOST_UPLOAD_MAX_BYTES", default=2 * 1024**3)
GATEPOST_BODY_SECONDS = env.float("GATEPOST_BODY_SECONDS", default=20.0)
GATEPOST_API_PER_ACCOUNT = env.int("GATEPOST_API_PER_ACCOUNT", default=6_000)
GATEPOST_API_PER_PERSON = env.int("GATEPOST_API_PER_PERSON", default=12_000)
GATEPOST_API_PER_ADDRESS = env.int("GATEPOST_API_PER_ADDRESS", default=12_000)
GATEPOST_REPORTS_PER_ACCOUNT = env.int("GATEPOST_REPORTS_PER_ACCOUNT", default=30_000)
GATEPOST_REPORTS_PER_ADDRESS = env.int("GATEPOST_REPORTS_PER_ADDRESS", default=30_000)
GATEPOST_UNKNOWN_PER_ADDRESS = env.int("GATEPOST_UNKNOWN_PER_ADDRESS", default=120)
GATEPOST_VIOLATIONS_PER_ADDRESS = env.int("GATEPOST_VIOLATIONS_PER_ADDRESS", default=60)
GATEPOST_HOOK_PER_MINUTE = env.int("GATEPOST_HOOK_PER_MINUTE", default=600)
GATEPOST_LOGINS_PER_ACCOUNT = env.int("GATEPOST_LOGINS_PER_ACCOUNT", default=20)
GATEPOST_LOGINS_PER_ADDRESS = env.int("GATEPOST_LOGINS_PER_ADDRESS", default=60)
# Beyond those, `identity.lockout` slows and does not lock; no knobs.
GATEPOST_LOGINS_PER_PAIR = 3  # of one name and address in a quarter of an hour
GATEPOST_LOGINS_SLOWED = 6  # of one name in a minute
GATEPOST_LOGINS_PER_BROWSER = 10  # of one that signed in before, in a quarter of an hour
GATEPOST_SOCKETS_PER_LOGIN = env.int("GATEPOST_SOCKETS_PER_LOGIN", default=50)
GATEPOST_VOICE_SOCKETS = env.int("GATEPOST_VOICE_SOCKETS", default=10)
GATEPOST_UTTERANCE_BYTES = env.int("GATEPOST_UTTERANCE_BYTES", default=16 * 1024)
GATEPOST_RECORDING_BYTES = env.int("GATEPOST_RECORDING_BYTES", default=10 * 1024**2)
GATEPOST_UTTERANCES_PER_MINUTE = env.int("GATEPOST_UTTERANCES_PER_MINUTE", default=120)
GATEPOST_TRUSTED_PROXIES = mail.networks(
    env.list("GATEPOST_TRUSTED_PROXIES", default=[]), name="GATEPOST_TRUSTED_PROXIES"
)
GATEPOST_MCP_COMMANDS = env.list("GATEPOST_MCP_COMMANDS", default=[])
GATEPOST_MCP_NETWORKS = mail.networks(
    env.list("GATEPOST_MCP_NETWORKS", default=[]), name="GATEPOST_MCP_NETWORKS"
)
GATEPOST_WEB_NETWORKS = mail.networks(
    env.list("GATEPOST_WEB_NETWORKS", default=[]), name="GATEPOST_WEB_NETWORKS"
)
GATEPOST_MCP_CALL_SECONDS = env.float("GATEPOST_MCP_CALL_SECONDS", default=300.0)
GATEPOST_MCP_HOLD_SECONDS = env.float("GATEPOST_MCP_HOLD_SECONDS", default=50.0)
GATEPOST_MCP_IDLE_SECONDS = env.float("GATEPOST_MCP_IDLE_SECONDS", default=300.0)
GATEPOST_METRICS_TOKEN = value("GATEPOST_METRICS_TOKEN")
GATEPOST_ENCRYPTION_KEYS = encryption.keys()
GATEPOST_ANCHORS, GATEPOST_ANCHORS_SECRET, GATEPOST_ANCHORS_LATE_MINUTES = anchors.configured()
GATEPOST_ANCHOR_KEY = value("GATEPOST_ANCHOR_KEY")
GATEPOST_PULSE = env("GATEPOST_PULSE", default="")
GATEPOST_AGENTS = env.list("GATEPOST_AGENTS", default=[])
GATEPOST_SHIPPED_AGENTS = env.bool("GATEPOST_SHIPPED_AGENTS", default=True)
GATEPOST_MODEL = env("GATEPOST_MODEL", default="")
GATEPOST_AGENT_MODELS = env.list("GATEPOST_AGENT_MODELS", default=[])
GATEPOST_WORKSPACE_MODELS = env.list("GATEPOST_WORKSPACE_MODELS", default=[])
GATEPOST_ANSWER_MODEL = env("GATEPOST_ANSWER_MODEL", default="")
GATEPOST_SPEECH = env("GATEPOST_SPEECH", default="")
GATEPOST_EMBEDDINGS = env("GATEPOST_EMBEDDINGS", default="")
GATEPOST_VECTORS, GATEPOST_VECTORS_KEY = vectors.configured(GATEPOST_EMBEDDINGS)
GATEPOST_MODELS = env.list("GATEPOST_MODELS", default=[])
GATEPOST_CREDENTIALS = secrets.mode(env("GATEPOST_CREDENTIALS", default="refuse"))
GATEPOST_WORKSPACE_SECRETS = secrets.of_workspaces()
GATEPOST_GUARD = env.bool("GATEPOST_GUARD", default=True)
GATEPOST_TOKEN_EXPIRES = env("GATEPOST_TOKEN_EXPIRES", default="90d")
GATEPOST_IDEMPOTENCY_HOURS = env.float("GATEPOST_IDEMPOTENCY_HOURS", default=24.0)
GATEPOST_OIDC = sign_in.oidc()
GATEPOST_PASSWORDS = sign_in.passwords(GATEPOST_OIDC)
GATEPOST_GROUPS = sign_in.groups()

# --- parts ---------------------------------------------------------------------------------------
ROOT_URLCONF = "dashboard.urls"
LIVE_TOPICS = "dashboard.regions.TOPICS"
ASGI_APPLICATION = "dashboard.asgi.application"
INSTALLED_APPS = [
    "dashboard.apps.RecordsConfig",  # django.contrib.admin with a site of our own
    "dashboard",
    # Rooms with commands, before auth: commands that make logins write events.
    "dashboard.administration",
    "dashboard.approvals",
    "dashboard.board",
    "dashboard.memories",
    "dashboard.people",
    "dashboard.threads",
    "dashboard.operate",
    "dashboard.operate.agents",
    "dashboard.records",
    "dashboard.html",  # template tags
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_htmx",
    "channels",
    "axes",
    "lucide",
    "checkpoints",
    "approvals",
    "workers",
    *sign_in.apps(GATEPOST_OIDC),
]
MIDDLEWARE = [
    "dashboard.http.access_log.Access",
    "django.middleware.security.SecurityMiddleware",
    "dashboard.http.compression.CompressedPages",
    "dashboard.http.middleware.NoStore",
    "dashboard.http.middleware.NoDevices",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "dashboard.operate.probes.Probes",
    "dashboard.http.middleware.Static",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "dashboard.identity.signed_in.Authentication",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
    "dashboard.http.middleware.Refusals",
    *sign_in.middleware(GATEPOST_OIDC),
]
TEMPLATES = [
    {
        "BACKEND": "dashboard.http.template_backend.FreedTemplates",
        "NAME": "django",
        "DIRS": [import_path.templates_folder()],
        "OPTIONS": {
            "builtins": ["dashboard.html.templatetags.forms", "dashboard.live.marks"],
            "loaders": [("django.template.loaders.cached.Loader", api.LOADERS)],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "dashboard.kit.pages.shell.shell",
            ],
        },
    }
]

# --- PostgreSQL ----------------------------------------------------------------------------------
PLACES = folders(DATA)
GATEPOST_BANK_URL = env("GATEPOST_BANK_URL", default=f"unix:{PLACES.bank_socket}")
# By hand, since no URL spells the folder of a unix socket in a way that all readers agree on.
EMBEDDED = {
    "HOST": str(PLACES.run),
    "NAME": env("GATEPOST_DATABASE", default="gatepost"),
    "USER": "gatepost",
}
DATABASES = {
    "default": database(
        ROLE,
        embedded=EMBEDDED,
        pool=env.int("GATEPOST_POOL", default=16),
        prepare=env.bool("GATEPOST_PREPARE", default=True),
    )
}
# Whom a migration gives the rights that web and workers need; None where they are the owner.
GATEPOST_RUNTIME_ROLE = runtime_role(ROLE)

# --- Valkey: doorbells and hints, never the truth ------------------------------------------------
REDIS_URL = valkey.configured(str(PLACES.valkey_socket))
BROKER = valkey.parse(REDIS_URL)
# Who makes the client of it for the floors below: states of ephemeral threads lie there.
VALKEY_CLIENT = "dashboard.wire.hints.client"
# What hot agents buffer: on a server of its own, which neither evicts it nor stops doorbells.
HOT_URL = valkey.configured_hot_store(str(PLACES.hot_socket))
# Results across threads (`cached=`): bounded, and lost with a shrug.
GATEPOST_CACHE_MEGABYTES = env.int("GATEPOST_CACHE_MEGABYTES", default=256)
CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
    "results": {"BACKEND": "dashboard.operate.results.Results"},
}
CELERY_BROKER_URL = BROKER.celery()["BROKER_URL"]
CELERY_BROKER_USE_SSL = BROKER.celery().get("BROKER_USE_SSL")
CELERY_BROKER_TRANSPORT_OPTIONS = BROKER.celery()["BROKER_TRANSPORT_OPTIONS"]
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
# An error reply of Valkey (a full disk, a demoted server) is a lost connection, and no end.
CELERY_BROKER_CHANNEL_ERROR_RETRY = True
# Nobody stops, inspects or reconfigures workers by a message.
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # for as long as it takes
CELERY_TASK_PUBLISH_RETRY = False

# --- people --------------------------------------------------------------------------------------
AUTHENTICATION_BACKENDS = sign_in.backends(GATEPOST_OIDC)
SOCIALACCOUNT_PROVIDERS = sign_in.providers(GATEPOST_OIDC)
SOCIALACCOUNT_ADAPTER = "dashboard.people.sso.provider.Adapter"
MIGRATION_MODULES = {"account": None, "socialaccount": None}  # stores nothing of its own
LOGIN_URL = "/login/"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/login/"
PASSWORD_HASHERS = ["dashboard.identity.passwords.BoundedHasher"]
GATEPOST_PASSWORD_SLOTS = env.int("GATEPOST_PASSWORD_SLOTS", default=0)
AUTH_PASSWORD_VALIDATORS = sign_in.PASSWORD_VALIDATORS
SESAME_ONE_TIME = True
SESAME_MAX_AGE = 600
AXES_HANDLER = "dashboard.identity.lockout.FailedAttempts"
AXES_FAILURE_LIMIT = 8
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_CLIENT_IP_CALLABLE = "dashboard.identity.client_address.client_address"
AXES_VERBOSE = False
AXES_ENABLE_ADMIN = False  # its rows belong to no workspace
AXES_LOCKOUT_CALLABLE = "dashboard.people.login_page.locked"

# --- the browser ---------------------------------------------------------------------------------
HTTPS = env.bool("GATEPOST_HTTPS", default=False)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SESSION_COOKIE_HTTPONLY = True
SESSION_ENGINE = "dashboard.identity.login_sessions"
SECURE_HSTS_SECONDS = env.int("GATEPOST_HSTS_SECONDS", default=31_536_000) if HTTPS else 0
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SECURE_CSP = browser.PAGE_POLICY
STATIC_URL = "/static/"
# Files collected beforehand (an image does) are served compressed; else each where its app has it.
COLLECTED = env("GATEPOST_STATIC", default="")
STATIC_ROOT = Path(COLLECTED) if COLLECTED else DATA / "static"
SERVESTATIC_USE_FINDERS = not COLLECTED
FILES = env("GATEPOST_FILES", default="")
GATEPOST_STORAGE_KEY = value("GATEPOST_STORAGE_KEY")
GATEPOST_STORAGE_SECRET = value("GATEPOST_STORAGE_SECRET")
STORAGES = {
    "default": storage.files(
        env("GATEPOST_STORAGE", default=""),
        key=GATEPOST_STORAGE_KEY,
        secret=GATEPOST_STORAGE_SECRET,
        folder=FILES,
    ),
    "staticfiles": {
        "BACKEND": "servestatic.storage.CompressedStaticFilesStorage"
        if COLLECTED
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}
SERVESTATIC_AUTOREFRESH = False
MEDIA_ROOT = Path(os.path.abspath(Path(FILES).expanduser())) if FILES else DATA / "artifacts"

# --- the API -------------------------------------------------------------------------------------
REST_FRAMEWORK, SPECTACULAR_SETTINGS = api.REST_FRAMEWORK, api.SPECTACULAR_SETTINGS

# --- time, words, log ----------------------------------------------------------------------------
USE_TZ, USE_I18N = True, False
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
LOGGING_CONFIG = "dashboard.configuration.logs.configure"
LOGGING = logging_config(
    level=env("GATEPOST_LOG_LEVEL", default="INFO"),
    form=env("GATEPOST_LOG_FORMAT", default="console"),
)

# --- what is written nowhere ---------------------------------------------------------------------
GATEPOST_SECRET_VALUES = secrets.registered(
    env.list("GATEPOST_SECRET_NAMES", default=[]),
    own=(
        *(SECRET_KEY, GATEPOST_METRICS_TOKEN, DATABASES["default"].get("PASSWORD") or ""),
        *(*GATEPOST_ENCRYPTION_KEYS, BROKER.password, mail.password(value("EMAIL_URL"))),
        *(valkey.parse(HOT_URL).password, GATEPOST_ANCHORS_SECRET, GATEPOST_ANCHOR_KEY),
        GATEPOST_STORAGE_SECRET,
        GATEPOST_OIDC.secret if GATEPOST_OIDC else "",
    ),
)
register(GATEPOST_SECRET_VALUES)
