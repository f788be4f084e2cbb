"""Check for risks: settings, keys, database rights, guards of the logs, durability."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from approvals import queries as gates
from checkpoints import queries
from checkpoints.postgres import roles
from dashboard.configuration.valkey import parse
from dashboard.identity import tokens
from dashboard.operate.demo import demo
from dashboard.operate.embedded.checks import is_loopback
from gatepost_command import COMMAND

from .findings import Finding, Seen, note, ok, warning, wrong

KEY_LENGTH, KEY_VARIETY = 40, 12
GUARDS = {**queries.GUARDS, **gates.GUARDS}


def debug(seen: Seen) -> Iterator[Finding]:
    """DEBUG shows source and settings to anyone who provokes an error."""
    if not settings.DEBUG:
        yield ok("DEBUG", "off")
        return
    finding = wrong if seen.exposed else warning
    yield finding(
        "DEBUG", "on", "Unset GATEPOST_DEBUG: it shows code and settings with each error."
    )


def secret_key(seen: Seen) -> Iterator[Finding]:
    """Anyone who knows the key can sign in as anybody."""
    key = settings.SECRET_KEY
    if (
        len(key) < KEY_LENGTH
        or len(set(key)) < KEY_VARIETY
        or key.startswith(("django-insecure", "change"))
    ):
        yield wrong(
            "secret key",
            f"{len(key)} characters, can be guessed",
            "Set GATEPOST_SECRET_KEY to 50 random characters, or unset it: one is made.",
        )
    else:
        yield ok("secret key", f"{len(key)} characters")
    for name in ("secret-key", demo_file(seen).name):
        yield from _private(seen.data / name)


def demo_file(seen: Seen) -> Path:
    """The file to which `up` writes the passwords of demo users."""
    return seen.data / "demo-logins.txt"


def _private(path: Path) -> Iterator[Finding]:
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return
    if mode & 0o077:
        yield wrong(path.name, f"others may read it ({mode:o})", f"chmod 600 {path}")
    else:
        yield ok(path.name, f"for its owner only ({mode:o})")


def data_folder(seen: Seen) -> Iterator[Finding]:
    """Artifacts and published files are in it."""
    try:
        mode = stat.S_IMODE(seen.data.stat().st_mode)
    except OSError as error:
        yield wrong("data folder", f"{seen.data}: {error.strerror}", "Name one with --data-dir.")
        return
    # Going through it is allowed: root's servers work under an account of their own.
    if mode & 0o022:
        yield wrong("data folder", f"others may write ({mode:o})", f"chmod go-rw {seen.data}")
    elif mode & 0o044:
        yield warning("data folder", f"others may read it ({mode:o})", f"chmod go-rw {seen.data}")
    else:
        yield ok("data folder", f"{seen.data} ({mode:o})")


def hosts(seen: Seen) -> Iterator[Finding]:
    """A page that answers to any name can be made to send people elsewhere."""
    shown = ", ".join(settings.ALLOWED_HOSTS)
    if "*" in settings.ALLOWED_HOSTS:
        yield wrong("allowed hosts", shown, "Name the hosts in GATEPOST_ALLOWED_HOSTS.")
    else:
        yield ok("allowed hosts", shown)


def https(seen: Seen) -> Iterator[Finding]:
    """Cookies and tokens beyond this machine need TLS."""
    if settings.HTTPS:
        yield ok("HTTPS", "on")
    elif seen.exposed:
        yield wrong(
            "HTTPS",
            "off, and other machines may come",
            "Put a proxy with TLS in front and set GATEPOST_HTTPS=1.",
        )
    else:
        yield ok("HTTPS", "off, for this machine only")


def guard(_seen: Seen) -> Iterator[Finding]:
    """Node code that acts beside its activities acts again after each stop."""
    if settings.GATEPOST_GUARD:
        yield ok("guard", "on: nodes act through activities and effects only")
    else:
        yield warning(
            "guard",
            "off: what nodes do beside their activities happens again after each stop",
            "Unset GATEPOST_GUARD, here and where workers start.",
        )


def demo_logins(seen: Seen) -> Iterator[Finding]:
    """Their passwords stand in a file."""
    if not demo.logins_exist():
        if demo.anyone_exists():
            yield ok("demo logins", "none")
        else:
            yield note("logins", "nobody may sign in", f"Call `{COMMAND} createsuperuser`.")
    elif seen.exposed:
        yield wrong(
            "demo logins",
            "there are some, and other machines may come",
            "Deactivate operator, manager and auditor in the admin site.",
        )
    else:
        yield ok("demo logins", "for this machine only")


def api_tokens(_seen: Seen) -> Iterator[Finding]:
    """A token that never ends is a password that nobody changes."""
    good = [t for t in tokens.listed() if t.state == "active"]
    for_ever = [t.prefix for t in good if t.expires_at is None]
    if for_ever:
        yield warning(
            "tokens",
            f"without expiry: {', '.join(for_ever[:5])}",
            f"Make new ones with --expires, then `{COMMAND} token revoke PREFIX`.",
        )
    else:
        yield ok("tokens", f"{len(good)} in use, each with an expiry" if good else "none in use")


def role(seen: Seen) -> Iterator[Finding]:
    """The role of web and workers may add to logs and not change them."""
    result = roles.excess()
    name = "database role"
    if not result:
        yield ok(name, f"{seen.server.role} can only add to the logs")
        return
    for line in result:
        if not seen.own_database and not seen.deploy:
            yield note(name, line, "Fine on one machine; see docs/howto/deploy.md for two roles.")
        else:
            finding = wrong if seen.exposed else warning
            yield finding(
                name, line, "Set GATEPOST_MIGRATE_DATABASE_URL to the owner, and migrate again."
            )


def guards(seen: Seen) -> Iterator[Finding]:
    """The triggers that keep logs as they were written, and those that write what follows."""
    there = queries.triggers()
    missing = [
        f"{t}.{n}" for t, names in GUARDS.items() for n in names if n not in there.get(t, {})
    ]
    off = [
        f"{t}.{n}" for t, names in GUARDS.items() for n in names if there.get(t, {}).get(n) is False
    ]
    if missing:
        yield wrong(
            "guards of the logs",
            f"missing: {', '.join(missing)}",
            "Somebody dropped them: verify the logs, then restore them from the migrations.",
        )
    for guard in off:
        table, _, trigger = guard.partition(".")
        yield wrong(
            "guards of the logs",
            f"switched off: {guard}",
            f"Verify the logs, then say ALTER TABLE {table} ENABLE TRIGGER {trigger}.",
        )
    refuses = queries.refuses()
    if not refuses:
        yield wrong(
            "guards of the logs",
            "the function gp_refuse was replaced",
            "Verify the logs, then restore the function from the migrations.",
        )
    if seen.server.replica_role:
        yield wrong(
            "guards of the logs",
            "session_replication_role is replica",
            "Reset it for this role and database: triggers are silent.",
        )
    if refuses and not (missing or off or seen.server.replica_role):
        count = sum(map(len, GUARDS.values()))
        yield ok("guards of the logs", f"{count} triggers are on")


def durability(seen: Seen) -> Iterator[Finding]:
    """A commit that was answered survives the loss of power."""
    off = [name for name, setting in sorted(seen.server.settings.items()) if setting == "off"]
    for name in off:
        yield wrong(
            name, "off", f"ALTER SYSTEM SET {name} = on: what was answered can be lost without."
        )
    if not off:
        shown = ", ".join(f"{k} {v}" for k, v in sorted(seen.server.settings.items()))
        yield ok("durability", shown)


def wire(seen: Seen) -> Iterator[Finding]:
    """Check that connections to other machines are encrypted."""
    host = str(settings.DATABASES["default"].get("HOST", ""))
    near = seen.server.socket or all(is_loopback(h) for h in host.split(","))
    if not near and not seen.server.encrypted:
        yield warning(
            "database connection", f"to {host} without TLS", "Add ?sslmode=verify-full to its URL."
        )
    else:
        yield ok("database connection", "TLS" if seen.server.encrypted else "on this machine")
    yield from _valkey_wire("Valkey connection", settings.REDIS_URL, "REDIS_URL")
    yield from _valkey_wire("hot store connection", settings.HOT_URL, "GATEPOST_HOT_URL")


def _valkey_wire(name: str, url: str, setting: str) -> Iterator[Finding]:
    address = parse(url, name=setting)
    far = [h for h, _ in address.hosts if not is_loopback(h)]
    if far and address.scheme != "rediss":
        yield warning(name, f"to {', '.join(far)} without TLS", "Use rediss://.")
    if far and not address.password:
        yield warning(name, "without a password", f"Give it one in {setting}.")


def valkey_keeps(seen: Seen) -> Iterator[Finding]:
    """Valkey holds no truth, but doorbells that are lost cost seconds each."""
    if not seen.valkey.get("aof_enabled"):
        yield warning("Valkey's file", "appendonly is off", "Start it with --appendonly yes.")
    else:
        yield ok("Valkey's file", "appendonly is on")
    policy = str(seen.valkey.get("maxmemory_policy", "noeviction"))
    if policy != "noeviction" and seen.valkey.get("maxmemory"):
        yield warning(
            "Valkey's memory", f"{policy}: doorbells can vanish", "Use the policy noeviction."
        )
