"""Gatepost's settings on the servers of the test run, which start here, before Django reads them.

A child process of a test inherits the marker and finds the same servers. With `pytest -n` each of
the processes that share the tests has servers of its own.
"""

import json
import os
import sys

MARKER, OWNER = "GATEPOST_TEST_SERVERS", "GATEPOST_TEST_WORKER"
worker = os.environ.get("PYTEST_XDIST_WORKER", "")


def secrets_of_workspaces() -> str:
    """What the casts of tests may choose for MCP servers: of this machine, and of examples."""
    here = ["http://127.0.0.1:*", f"command:{sys.executable}"]
    secrets = {
        "GATEPOST_SECRET_UPSTREAM": here,
        "GATEPOST_SECRET_BROKEN": here,
        "GATEPOST_SECRET_MAIL": [*here, "mail.example"],
        "GATEPOST_SECRET_A": ["a.example"],
        "GATEPOST_SECRET_GITHUB": ["example.org"],
    }
    casts = ["default", *(f"default-{number}" for number in range(200))]
    return json.dumps(dict.fromkeys(casts, secrets))


if MARKER not in os.environ or os.environ[OWNER] != worker:
    from tests.support.servers import start

    for name in (
        "DATABASE_URL",
        "DATABASE_URL_FILE",
        "DATABASE_PASSWORD",
        "GATEPOST_MIGRATE_DATABASE_URL",
        "REDIS_URL",
        "REDIS_URL_FILE",
        "GATEPOST_HOT_URL",
        "GATEPOST_HOT_URL_FILE",
        "GATEPOST_AGENTS",
        "GATEPOST_SHIPPED_AGENTS",
        "GATEPOST_MODEL",
        "GATEPOST_AGENT_MODELS",
        "GATEPOST_WORKSPACE_MODELS",
        "GATEPOST_MODELS",
        "GATEPOST_ANSWER_MODEL",
        "GATEPOST_EMBEDDINGS",
        "GATEPOST_VECTORS",
        "GATEPOST_GUARD",
        "GATEPOST_PUBLISHED",
        "GATEPOST_OUTBOX",
        "GATEPOST_BANK_URL",
        "GATEPOST_DEBUG",
        "GATEPOST_BASE_URL",
        "EMAIL_URL",
        "EMAIL_URL_FILE",
    ):
        os.environ.pop(name, None)
    # Many tests start processes of the product: only the first of them compiles it.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["GATEPOST_DATA"] = os.environ[MARKER] = str(start())
    os.environ[OWNER] = worker
    os.environ["GATEPOST_ROLE"] = "test"
    # MCP servers of the tests, and of what they start, answer on this machine.
    os.environ["GATEPOST_MCP_NETWORKS"] = "127.0.0.0/8"
    os.environ["GATEPOST_WORKSPACE_SECRETS"] = secrets_of_workspaces()
    from dashboard.settings import *  # noqa: F403

    del os.environ["GATEPOST_ROLE"]  # web and worker children choose their own
else:
    from dashboard.settings import *  # noqa: F403

# Hashing a password slowly is the point elsewhere; here it is only waiting.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
MIDDLEWARE = [
    name.replace("dashboard.http.middleware.Static", "tests.support.static.LooksOnce")
    for name in MIDDLEWARE  # noqa: F405
]
# Nothing is verified behind a test's back, except where a test is about that.
GATEPOST_VERIFY_EVERY_SECONDS = 0.0
# All tests ask from one address, as fast as they can; those about limits set them.
GATEPOST_API_PER_ACCOUNT = GATEPOST_API_PER_ADDRESS = GATEPOST_UNKNOWN_PER_ADDRESS = 0
GATEPOST_API_PER_PERSON = 0
GATEPOST_REPORTS_PER_ACCOUNT = GATEPOST_REPORTS_PER_ADDRESS = 0
# A decision counts at once, except where a test is about taking it back.
GATEPOST_UNDO_WINDOWS = [0.0, 0.0, 0.0]
