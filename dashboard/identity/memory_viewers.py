"""Readers of memories: what belongs to a person is theirs, and auditors and admins read all."""

from __future__ import annotations

from collections.abc import Iterable

from checkpoints.memories import MemoryRow
from checkpoints.queries import Viewer

from .administrator import AUDIT
from .permissions import Actor


def viewer_of(actor: Actor) -> Viewer:
    """The actor as a reader of memories."""
    return Viewer(actor.person, all=not AUDIT.isdisjoint(actor.roles))


def seen_by(actor: Actor, rows: Iterable[MemoryRow]) -> list[MemoryRow]:
    """Those of these memories that the actor may see."""
    viewer = viewer_of(actor)
    return [
        row for row in rows if row.scope != "person" or viewer.all or row.owner == viewer.person
    ]
