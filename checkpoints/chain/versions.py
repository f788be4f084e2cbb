"""Agent versions beside their ids, which were made of what they say."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from django.db import connection

from .. import deltas
from ..agent_versions import VERSION_CONTENT, version_id
from ..errors import GatepostError

# Ids of former versions of Gatepost followed from nothing: such a row cannot be proved.
MADE_AT_RANDOM = 7
_JSON = ("schema", "channels", "graph", "tools")


def altered_versions(only: UUID | None = None) -> Iterator[tuple[UUID, str]]:
    """(id, what is wrong) of agent versions, or of the one, that do not fit their ids."""
    selected = ", ".join(f"{n}::text" if n in _JSON else n for n in VERSION_CONTENT)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT id, {selected} FROM gp_agent_version WHERE %s::uuid IS NULL OR id = %s::uuid "
            "ORDER BY id",
            (only, only),
        )
        found = cursor.fetchall()
    for ident, *values in found:
        if ident.version == MADE_AT_RANDOM:
            continue
        content = dict(zip(VERSION_CONTENT, values, strict=True))
        try:
            made = version_id(content | {name: deltas.decode(content[name]) for name in _JSON})
        except GatepostError:
            made = None
        if made != ident:
            what = (
                f"the version {content['version']} of the agent {content['agent']!r} is not what "
                "its id was made of: its code's fingerprint, graph, tools, schema or reducers "
                "were altered"
            )
            yield ident, what
