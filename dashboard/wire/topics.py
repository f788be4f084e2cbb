"""What a socket may follow: a topic names what changes, never who looks; pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

KINDS = {"board": False, "approvals": False, "thread": True, "family": True, "approval": True}
FAMILY = "family"  # moves with each thread of a tree: looked at once a second at most
# Topics of one thread, known by its id alone.
OF_THREAD = ("thread", FAMILY)


@dataclass(frozen=True, slots=True)
class Topic:
    """One thing that pages follow, inside one workspace; `name` is what the wire carries.

    `thread` is the thread that an approval belongs to: its hints move the approval's page too.
    """

    kind: str
    workspace: UUID
    ref: UUID | None = None
    thread: UUID | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """`board`, `approvals`, `thread:<uuid>`, `family:<uuid>` or `approval:<uuid>`."""
        return self.kind if self.ref is None else f"{self.kind}:{self.ref}"


def parse(name: str, *, workspace: UUID) -> Topic:
    """The topic of this name in the reader's own workspace; ValueError for anything else."""
    kind, colon, rest = name.partition(":")
    if KINDS.get(kind) is not bool(colon):
        raise ValueError(f"There is no topic {name[:80]!r}.")
    ref = UUID(rest) if colon else None
    return Topic(kind, workspace, ref, ref if kind in OF_THREAD else None)
