"""Memories in a capsule: those that its threads refer to, as far as who exports may see them.

A thread's rows hold references, so the chain proves which memories it knew, and not their texts:
MANIFEST alone speaks for these. An import checks their form and keeps none.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Any, Final
from uuid import UUID

from pydantic import Field

from checkpoints import queries
from checkpoints.capsules.layout import MEMORIES, BadCapsule, Reader
from checkpoints.errors import InvalidValue
from checkpoints.memories import MemoryRow, NewMemory, check_memory
from checkpoints.store import MEMORY_EXPIRED
from dashboard.documents.state_shape import Shape
from dashboard.identity.memory_viewers import seen_by
from dashboard.identity.permissions import Actor

LOST: Final = "It was not in the installation that exported it."
_HEAD: Final = {"id", "revision", "state"}
# The members of a line by its state.
_MEMBERS: Final = {
    "kept": _HEAD
    | {"scope", "owner", "kind", "text", "metadata", "outside", "source", "author", "thread", "at"},
    "gone": _HEAD | {"reason"},
    "withheld": _HEAD,
}


class MemoriesAlong(Shape):
    """Memories that the threads of a capsule refer to, one for each revision that they name."""

    texts: Annotated[int, Field(description="Come along with their texts.")] = 0
    gone: Annotated[int, Field(description="Are deleted: their reasons come along.")] = 0
    withheld: Annotated[int, Field(description="Are not yours to see: only named.")] = 0


def memory_lines(
    actor: Actor, refs: Collection[tuple[UUID, int]]
) -> tuple[list[dict[str, Any]], MemoriesAlong]:
    """The lines of the memories at these revisions, and how many are of which state."""
    ids = sorted({ident for ident, _ in refs})
    rows = queries.memories_named(ids, workspace=actor.workspace)
    expired = queries.expired_memories(ids, workspace=actor.workspace)
    seen = {row.id for row in seen_by(actor, rows.values())}
    former = queries.texts_at([ref for ref in refs if ref[0] in seen])
    lines = []
    for ident, revision in sorted(refs):
        line = {"id": str(ident), "revision": revision}
        row = rows.get(ident)
        if row is None:
            line |= {"state": "gone", "reason": LOST}
        elif ident not in seen:
            line |= {"state": "withheld"}
        elif row.gone_at is not None or ident in expired:
            line |= {"state": "gone", "reason": row.gone_reason or MEMORY_EXPIRED}
        elif revision != row.revision and (ident, revision) not in former:
            line |= {"state": "gone", "reason": LOST}
        else:
            at_revision = former.get((ident, revision), (row.text, row.metadata))
            line |= {"state": "kept", **_with_text(row, *at_revision)}
        lines.append(line)
    states = [line["state"] for line in lines]
    return lines, MemoriesAlong(
        texts=states.count("kept"), gone=states.count("gone"), withheld=states.count("withheld")
    )


def _with_text(row: MemoryRow, text: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "scope": row.scope,
        "owner": row.owner,
        "kind": row.kind,
        "text": text,
        "metadata": dict(metadata),
        "outside": row.outside,
        "source": row.source,
        "author": row.author,
        "thread": row.thread and str(row.thread),
        "at": row.created_at.isoformat(),
    }


def check_memories(reader: Reader, named: Collection[tuple[UUID, int]]) -> int:
    """Check the memories of a capsule whose rows name `named`; how many have texts.

    Raises BadCapsule, InvalidValue.
    """
    if not reader.has(MEMORIES):
        return 0
    known: set[tuple[UUID, int]] = set()
    n = 0
    for number, line in enumerate(reader.lines(MEMORIES), 1):
        where = f"{MEMORIES} line {number}"
        if not isinstance(line, dict) or line.keys() != _MEMBERS.get(line.get("state", "")):
            raise BadCapsule(f"{where} in the capsule is not a memory.")
        ref = (UUID(line["id"]), line["revision"])
        if ref not in named:
            raise BadCapsule(f"{where}: no thread in the capsule refers to this memory.")
        if ref in known:
            raise BadCapsule(f"{where}: this memory is in the capsule twice.")
        known.add(ref)
        if line["state"] == "kept":
            n += 1
            names = ("scope", "owner", "kind", "text", "metadata", "source")
            try:
                check_memory(NewMemory(**{name: line[name] for name in names}))
            except InvalidValue as error:
                raise InvalidValue(f"{where}: {error.path}", error.reason) from error
    if lacking := {*named} - known:
        raise BadCapsule(f"{MEMORIES} in the capsule lacks the memory {min(lacking)[0]}.")
    return n
