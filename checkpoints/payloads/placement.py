"""Which agent's contents lie where, and how a delta is parted from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection

from ..durabilities import HOT
from ..errors import ContentAway
from ..payload_kinds import BY_SIZE, DATABASE, FILE, KINDS, LARGE_BYTES, LIMITS
from ..state import references
from ..state.values import canonical
from .base import Payloads
from .by_size import PayloadsBySize
from .database import DatabasePayloads
from .files import FilePayloads, thread_folder

# Below this no store moves anything out: the common step looks at one number.
LEAST = min(LIMITS.values())


def of_kind(kind: str) -> Payloads:
    """The store of that name, with the limits of the settings."""
    if kind == BY_SIZE:
        return _by_size()
    return FilePayloads(_limit(FILE)) if kind == FILE else DatabasePayloads(_limit(DATABASE))


def _by_size() -> PayloadsBySize:
    large = int(getattr(settings, "GATEPOST_CONTENT_LARGE_BYTES", LARGE_BYTES))
    return PayloadsBySize(_limit(DATABASE), large)


def _limit(kind: str) -> int:
    return int(getattr(settings, f"GATEPOST_CONTENT_{kind.upper()}_BYTES", LIMITS[kind]))


_kinds: dict[UUID, str] = {}


def kind_of(agent_version: UUID) -> str:
    """The agent's choice of storage; by size, where a hot one has made none.

    Its row never changes, so one query per process is enough.
    """
    if agent_version in _kinds:
        return _kinds[agent_version]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(graph ->> 'payloads', CASE WHEN graph ->> 'durability' = "
            f"'{HOT}' THEN '{BY_SIZE}' END) FROM gp_agent_version WHERE id = %s::uuid",
            (agent_version,),
        )
        row = cursor.fetchone()
    kind = row[0] if row and row[0] in (*KINDS, BY_SIZE) else DATABASE
    if row is not None:
        _kinds[agent_version] = kind
    return kind


def moved_out(
    raw: bytes, delta: Mapping[str, Any], *, thread: UUID, agent_version: UUID
) -> tuple[bytes, Mapping[str, bytes]]:
    """(the delta as it is stored, contents to write with it), given its canonical bytes `raw`."""
    if len(raw) < LEAST or "set" not in delta:
        return raw, {}
    store = of_kind(kind_of(agent_version))
    if len(raw) < store.limit:
        return raw, {}
    stored, contents = references.moved_out(delta, store.limit)
    if not contents:
        return raw, {}
    return canonical(stored), store.put(thread, contents)


def fetched(
    threads: Sequence[UUID], sizes: Mapping[str, int], *, agent_version: UUID | None = None
) -> dict[str, bytes]:
    """Contents of any of these threads, wherever they lie; `sizes` are those of the references.

    The database first: an agent may have chosen otherwise before, and what was imported lies there.
    Raises ContentAway where an agent wrote files, and the storage has no folder of the thread:
    a drive that is not mounted must not look like damage, which would take threads back. Others
    may have been started meanwhile on what lies below the mount.
    """
    result = DatabasePayloads().get(threads, sizes)
    missing = [sha for sha in sizes if sha not in result]
    if not missing:
        return result
    files = FilePayloads()
    result |= files.get(threads, missing)
    lost = [sizes[sha] for sha in missing if sha not in result]
    if lost and agent_version and _in_file(agent_version, lost) and not files.there(threads):
        folder = thread_folder(threads[0])
        raise ContentAway(f"The storage has no folder {folder!r}; is its drive mounted?")
    return result


def _in_file(agent_version: UUID, sizes: Sequence[int]) -> bool:
    """Answer True if the agent has put a value of one of these sizes into a file."""
    kind = kind_of(agent_version)
    if kind == BY_SIZE:
        return any(map(_by_size().in_file, sizes))
    return kind == FILE
