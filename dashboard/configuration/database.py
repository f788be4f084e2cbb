"""PostgreSQL: one code path from the embedded server to several hosts behind TLS.

The address is read by libpq itself (through psycopg), so every form and every option that it knows
is accepted here: lists of hosts, `target_session_attrs`, `sslmode`, `sslrootcert`, sockets.
"""

from __future__ import annotations

import re
from typing import Any

from .alive import check
from .sources import Misconfigured, value

EXAMPLE = "postgresql://user:password@host:5432/database"
PASSWORDS = {
    "DATABASE_URL": "DATABASE_PASSWORD",
    "GATEPOST_MIGRATE_DATABASE_URL": "GATEPOST_MIGRATE_DATABASE_PASSWORD",
}
ESCAPES = "special characters in user and password are written as %XX"
# A host that went away without a word is noticed by these, not after hours; seconds, and one
# in milliseconds. An address may say otherwise.
NETWORK = {
    "connect_timeout": "5",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",
}
TIMEOUTS = {
    "lock_timeout": "3s",
    "idle_in_transaction_session_timeout": "5s",
    "statement_timeout": "30s",
}
BY_ROLE: dict[str, dict[str, str]] = {
    # A migration may wait for locks and take its time.
    "migrate": {
        "lock_timeout": "10s",
        "idle_in_transaction_session_timeout": "0",
        "statement_timeout": "0",
    },
    # A transactional test holds its transaction open from beginning to end.
    "test": {"idle_in_transaction_session_timeout": "120s"},
    # Its statements are short and go by keys, so one plan is as good as another; otherwise each
    # slot plans each of them anew five times, and some always.
    "worker": {"plan_cache_mode": "force_generic_plan"},
}

# Statements of these may take longer than any answer to a request, a step or a command.
UNBOUNDED = ("migrate", "test")
BOUNDED = "dashboard.configuration.postgresql"


def address(name: str) -> dict[str, str]:
    """The parts of the address in the variable `name`, in libpq's words; {} when there is none.

    The password may come by itself, in a variable of its own.
    Raises Misconfigured, which never repeats the address.
    """
    url = value(name).strip()
    if not url:
        return {}
    if not url.startswith(("postgresql://", "postgres://")):
        raise Misconfigured(name, f"is not an address of PostgreSQL: write {EXAMPLE}.")
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    try:
        parts = {key: str(part) for key, part in conninfo_to_dict(url).items()}
    except ProgrammingError as error:
        unknown = re.match(r'invalid URI query parameter: "(\w+)"', str(error))
        if unknown:
            raise Misconfigured(name, f"has the unknown option {unknown[1]!r}.") from None
        raise Misconfigured(name, f"cannot be read: write {EXAMPLE}; {ESCAPES}.") from None
    ports = parts.get("port", "")
    if ports and not all(p.isdigit() and 0 < int(p) < 65536 for p in ports.split(",") if p):
        raise Misconfigured(name, f"has a port that isn't a number: write {EXAMPLE}; {ESCAPES}.")
    hosts = parts.get("host", "").count(",") + 1
    if ports.count(",") and ports.count(",") + 1 != hosts:
        raise Misconfigured(name, "has another number of ports than of hosts.")
    if "@" in parts.get("dbname", ""):
        raise Misconfigured(name, f"cannot be read: write {EXAMPLE}; {ESCAPES}.")
    if not parts.get("dbname"):
        raise Misconfigured(name, f"names no database: write {EXAMPLE}.")
    own = value(PASSWORDS[name])
    if own and "password" in parts:
        raise Misconfigured(name, "has a password although one is given by itself: keep one.")
    return parts | ({"password": own} if own else {})


def settings_of(parts: dict[str, str]) -> dict[str, Any]:
    """An address as Django's settings spell it."""
    rest = {k: v for k, v in parts.items() if k not in {"host", "port", "dbname", "user"}}
    return {
        "HOST": parts.get("host", ""),
        "PORT": parts.get("port", ""),
        "NAME": parts["dbname"],
        "USER": parts.get("user", ""),
        "PASSWORD": rest.pop("password", ""),
        "OPTIONS": NETWORK | rest,
    }


def database(
    role: str, *, embedded: dict[str, Any], pool: int, prepare: bool = True
) -> dict[str, Any]:
    """Django's DATABASES["default"] of a process with this role.

    Migrations use GATEPOST_MIGRATE_DATABASE_URL where it is set: the owner of the tables.
    `pool` is how many connections a web process may open; `prepare` is False where somebody between
    us and the server gives each transaction another connection.
    """
    runtime, owner = address("DATABASE_URL"), address("GATEPOST_MIGRATE_DATABASE_URL")
    if owner and not runtime:
        raise Misconfigured("DATABASE_URL", "is needed beside GATEPOST_MIGRATE_DATABASE_URL.")
    chosen = owner if owner and role == "migrate" else runtime
    result = settings_of(chosen) if chosen else dict(embedded)
    timeouts = TIMEOUTS | BY_ROLE.get(role, {})
    text = " ".join(f"-c {name}={setting}" for name, setting in timeouts.items())
    options = result.get("OPTIONS", {})
    own = options.get("options", "")
    result["ENGINE"] = "django.db.backends.postgresql" if role in UNBOUNDED else BOUNDED
    result["OPTIONS"] = options | {
        "application_name": f"gatepost-{role or 'command'}",
        # What the address says comes last and so counts.
        "options": f"{text} -c TimeZone=UTC {own}".rstrip(),
        # Statements are few and always the same: the server parses and plans each one once.
        "prepare_threshold": 3 if prepare else None,
        "server_side_binding": True,
    }
    result["CONN_HEALTH_CHECKS"] = True
    # Ours end with their transaction; Django's would outlive it.
    result["DISABLE_SERVER_SIDE_CURSORS"] = True
    if role == "web":
        from .bounded import BoundedConnection

        # Each request works in a thread of its own: without a pool each would open a connection.
        result["CONN_MAX_AGE"] = 0
        # A request waits 5 s for a connection, then it is answered 503. The pool's own tries come
        # ever more rarely during an outage: it gives up soon, and the next request tries again.
        result["OPTIONS"]["pool"] = {
            "min_size": 2,
            "max_size": pool,
            "timeout": 5,
            "reconnect_timeout": 4,
            "check": check,
            "connection_class": BoundedConnection,
        }
    else:
        # Celery closes pools at each task's end; workers/celery.py keeps plain connections warm.
        result["CONN_MAX_AGE"] = 600
    return result


def runtime_role(role: str) -> dict[str, str] | None:
    """{"name", "password"} of the role that web and workers use, for the one who migrates.

    None unless this process migrates as another role, the owner.
    """
    runtime, owner = address("DATABASE_URL"), address("GATEPOST_MIGRATE_DATABASE_URL")
    name = runtime.get("user", "")
    if role != "migrate" or not owner or not name or name == owner.get("user"):
        return None
    return {"name": name, "password": runtime.get("password", "")}
