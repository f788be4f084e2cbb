"""The last steps of each migration: rights for the role that works, a workspace to work in."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import connection

from checkpoints import queries, store
from checkpoints.errors import NotFound
from checkpoints.postgres import roles
from dashboard.configuration.sources import Misconfigured

ACTOR = "command:migrate"


def after_migration(**_kwargs: Any) -> None:
    """Receiver of post_migrate; tests and tools that migrate without the role do nothing here."""
    if settings.ROLE != "migrate":
        return
    _first_workspace()
    if "gp_workspace_event" in connection.introspection.table_names():
        store.begin_record(actor=ACTOR)
    wanted = settings.GATEPOST_RUNTIME_ROLE
    if wanted is not None:
        _grant(wanted["name"], wanted["password"])


def _first_workspace() -> None:
    """Without one nobody could come in, not even to make it."""
    if "gp_workspace_event" not in connection.introspection.table_names():
        return  # a migration that was asked to stop half-way
    try:
        queries.default_workspace()
    except NotFound:
        store.ensure_workspace("default", actor=ACTOR)


def _grant(name: str, password: str) -> None:
    try:
        roles.grant(name, password=password)
    except roles.RoleMissing:
        raise Misconfigured(
            "DATABASE_URL",
            f"names the role {name!r}, which does not exist and which the role of "
            "GATEPOST_MIGRATE_DATABASE_URL may not create: let an administrator say "
            f"CREATE ROLE {name} LOGIN PASSWORD '...' and migrate again.",
        ) from None
    result = roles.excess(name)
    if result:
        raise Misconfigured("DATABASE_URL", f"names a role that could change logs. {result[0]}")
