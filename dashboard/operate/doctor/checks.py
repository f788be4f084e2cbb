"""The one list of checks, and the round through it."""

from __future__ import annotations

from collections.abc import Iterator

import structlog
from django.db import DatabaseError, InterfaceError, connection

from checkpoints.errors import GatepostError
from dashboard.kit.terminal.console import first_line

from . import (
    anchors,
    bank,
    deployment,
    encryption,
    external_agents,
    hot_store,
    installed,
    lag,
    mcp_servers,
    memory,
    names,
    outside_identities,
    policies,
    primaries,
    reachable,
    storage,
    unsafe,
)
from . import notifications as news
from .findings import Check, Finding, Seen, note, wrong

log = structlog.get_logger("gatepost.doctor")
# What later checks need comes first; each part is reported together.
CHECKS = (
    Check("reachable", "database", reachable.database),
    Check("reachable", "Valkey", reachable.valkey),
    Check("reachable", "primaries", primaries.one_primary, "database"),
    Check("behind", "migrations", lag.migrations, "database"),
    Check("reachable", "hot store", hot_store.answers),
    Check("installed", "Python", installed.python),
    Check("installed", "packages", installed.packages),
    Check("installed", "PostgreSQL", installed.postgresql, "database"),
    Check("installed", "Valkey", installed.valkey, "valkey"),
    Check("reachable", "pages", reachable.pages),
    Check("reachable", "workers", reachable.workers, "tables"),
    Check("reachable", "lost workers", reachable.lost_workers, "tables"),
    Check("reachable", "queues", reachable.queues, "tables"),
    Check("reachable", "agents", reachable.agents, "tables"),
    Check("reachable", "agents elsewhere", external_agents.come, "tables"),
    Check("reachable", "bank", bank.answers),
    Check("reachable", "file storage", storage.answers),
    Check("unsafe", "DEBUG", unsafe.debug),
    Check("unsafe", "secret key", unsafe.secret_key),
    Check("behind", "anchors", anchors.arrive, "tables"),
    Check("unsafe", "stored secrets", encryption.stored, "tables"),
    Check("unsafe", "outside identities", outside_identities.confirmed, "tables"),
    Check("unsafe", "data folder", unsafe.data_folder),
    Check("unsafe", "allowed hosts", unsafe.hosts),
    Check("unsafe", "HTTPS", unsafe.https),
    Check("unsafe", "guard", unsafe.guard),
    Check("unsafe", "demo logins", unsafe.demo_logins, "tables"),
    Check("unsafe", "tokens", unsafe.api_tokens, "tables"),
    Check("unsafe", "MCP servers", mcp_servers.called, "tables"),
    Check("unsafe", "database role", unsafe.role, "tables"),
    Check("unsafe", "guards of the logs", unsafe.guards, "tables"),
    Check("unsafe", "durability", unsafe.durability, "database"),
    Check("unsafe", "connections", unsafe.wire, "database"),
    Check("unsafe", "file storage", storage.wire),
    Check("unsafe", "Valkey", unsafe.valkey_keeps, "valkey"),
    Check("unsafe", "hot store", hot_store.keeps),
    Check("behind", "files of the hot store", hot_store.damaged),
    Check("behind", "records", lag.records, "tables"),
    Check("behind", "policies", policies.conditions, "tables"),
    Check("behind", "names", names.plain, "tables"),
    Check("behind", "sweep", lag.sweep, "tables"),
    Check("behind", "queues", lag.queue_age, "tables"),
    Check("behind", "leases", lag.leases, "tables"),
    Check("behind", "timers", lag.timers, "tables"),
    Check("behind", "deadlines", lag.deadlines, "tables"),
    Check("behind", "folders", lag.folders, "tables"),
    Check("behind", "rows set aside", lag.rows_set_aside, "tables"),
    Check("behind", "vectors of memories", memory.vectors, "tables"),
    Check("behind", "outbox", news.outbox, "tables"),
    Check("behind", "endpoints", news.endpoints, "tables"),
    Check("behind", "mail", news.mail, "tables"),
    Check("behind", "attention", lag.attention, "tables"),
    Check("behind", "disk", lag.disk),
    Check("behind", "clock", lag.clock, "database"),
)
# What is needed to look at safety at all, and what `doctor --deploy` looks at beside `unsafe`.
FIRST = {"database", "Valkey", "migrations", "hot store", "packages"}
DEPLOY = (
    Check("unsafe", "public name", deployment.public_names),
    Check("unsafe", "HSTS", deployment.hsts),
    Check("unsafe", "cookies", deployment.cookies),
    Check("unsafe", "page policy", deployment.page_policy),
    Check("unsafe", "limits", deployment.limits),
    Check("unsafe", "passwords", deployment.passwords, "tables"),
    Check("unsafe", "second factors", deployment.second_factors, "tables"),
    Check("unsafe", "Valkey's password", deployment.valkey_login),
    Check("unsafe", "credentials", deployment.credentials),
    Check("unsafe", "encryption keys", encryption.keys),
    Check("unsafe", "reach", deployment.reach),
    Check("unsafe", "vulnerabilities", deployment.known_vulnerabilities),
)
PARTS = ("installed", "reachable", "unsafe", "behind")


def examine(seen: Seen) -> list[Finding]:
    """All findings, by part; with `seen.deploy` what makes it unsafe to let others reach it."""
    checks: tuple[Check, ...] = CHECKS
    if seen.deploy:
        checks = (*(c for c in CHECKS if c.part == "unsafe" or c.name in FIRST), *DEPLOY)
    results = [
        finding.model_copy(update={"part": check.part})
        for check in checks
        for finding in _look(check, seen)
    ]
    return sorted(results, key=lambda finding: PARTS.index(finding.part))


def _look(check: Check, seen: Seen) -> Iterator[Finding]:
    if check.needs and check.needs not in seen.has:
        yield note(check.name, f"not looked at: no {check.needs}")
        return
    try:
        yield from check.look(seen)
    except Exception as error:  # one check that fails must not hide the others
        if isinstance(error, DatabaseError | InterfaceError):
            connection.close()
        if isinstance(error, (GatepostError, DatabaseError, InterfaceError, OSError)):
            yield wrong(check.name, f"could not be looked at: {first_line(error)}", "Try again.")
            return
        log.exception("doctor.failed", check=check.name)
        yield wrong(check.name, "could not be looked at: the check itself failed", "See the log.")
