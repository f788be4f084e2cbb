"""Agent versions beside their ids, which were made of what they say.

Ids of former versions of Gatepost followed from nothing: what such rows said when the record began
is part of it, and none has come since.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from django.db import connection

from ..agent_versions import version_id
from ..errors import GatepostError
from ..state import deltas
from ..tables.columns import AGENT_VERSION

FORMER_IDS = 7  # uuid7

_RECORDED = """
SELECT data -> 'versions' IS NOT NULL, coalesce(data -> 'versions', '{}')::text
FROM gp_workspace_event WHERE kind = 'record.begun'
"""


def altered_versions(only: UUID | None = None) -> Iterator[tuple[UUID, str]]:
    """(id, what is wrong) of agent versions, or of the one, that do not fit their ids.

    Of one with an id of before only its record could say, which is read for all of them together.
    """
    former: list[tuple[UUID, dict[str, Any]]] = []
    for ident, content in versions(only):
        if ident.version == FORMER_IDS:
            former.append((ident, content))
        elif content_id(content) != ident:
            yield ident, _altered(content, "its id was made of")
    if not former or only is not None:
        return
    recorded = _recorded()
    if recorded is None:
        return
    for ident, content in former:
        if ident not in recorded:
            called = f"the version {content['version']} of the agent {content['agent']!r}"
            yield ident, f"{called} is there, and no event records it"
        elif recorded[ident] != content_id(content):
            yield ident, _altered(content, "stood there when the record began")


def versions(only: UUID | None = None) -> Iterator[tuple[UUID, dict[str, Any]]]:
    """(id, content) of agent versions, or of the one."""
    content = AGENT_VERSION.sealed
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT id, {content.select()} FROM gp_agent_version "
            "WHERE %s::uuid IS NULL OR id = %s::uuid ORDER BY id",
            (only, only),
        )
        rows = cursor.fetchall()
    for ident, *values in rows:
        yield ident, content.row(values)


def content_id(content: dict[str, Any]) -> UUID | None:
    """The id that follows from a version's content as it is stored; None of what has none."""
    stored = AGENT_VERSION.sealed.json
    try:
        return version_id(content | {name: deltas.decode(content[name]) for name in stored})
    except GatepostError:
        return None


def former_versions() -> dict[str, str | None]:
    """{id: what its id would be now} of versions with ids of before, for the record."""
    results = {ident: content for ident, content in versions() if ident.version == FORMER_IDS}
    ids = {ident: content_id(content) for ident, content in results.items()}
    return {str(ident): None if made is None else str(made) for ident, made in ids.items()}


def _recorded() -> dict[UUID, UUID | None] | None:
    """Read the recorded versions with older ids; None where a former version began the record."""
    with connection.cursor() as cursor:
        cursor.execute(_RECORDED)
        begun = cursor.fetchall()
    payloads = [deltas.decode(text) for has_versions, text in begun if has_versions]
    if begun and not payloads:
        return None
    return {UUID(i): made and UUID(made) for one in payloads for i, made in one.items()}


def _altered(content: Mapping[str, Any], what: str) -> str:
    return (
        f"the version {content['version']} of the agent {content['agent']!r} is not what {what}: "
        "its code's fingerprint, graph, tools, schema or reducers were altered"
    )
