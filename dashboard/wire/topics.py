"""Topics that a socket may follow: each names what changes, never who looks; pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

LISTS = ("board", "approvals")
INCIDENTS = "incidents"
KINDS = {
    **dict.fromkeys((*LISTS, INCIDENTS), False),
    "thread": True,
    "family": True,
    "approval": True,
    "incident": True,
}
FAMILY = "family"  # moves with each thread of a tree: read once a second at most
# Topics of one thread, known by its id alone.
OF_THREAD = ("thread", FAMILY)
INCIDENT = "incident"
# Looked at with each hint: the number of an event says nothing about them.
AT_EVERY_HINT = (FAMILY, INCIDENT)


@dataclass(frozen=True, slots=True)
class Topic:
    """One thing that pages follow, inside one workspace; `name` is what the wire carries.

    `thread` is the thread that an approval belongs to: its hints move the approval's page too. Of
    an incident it is the workspace, which hints of no thread name.
    """

    kind: str
    workspace: UUID
    ref: UUID | None = None
    thread: UUID | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """A list (`board`), or a kind with an id: `thread:<uuid>`, `incident:<uuid>`."""
        return self.kind if self.ref is None else f"{self.kind}:{self.ref}"


def lists_of(thread: UUID, workspace: UUID) -> list[Topic]:
    """The lists that a hint may be about; one of no thread names the workspace in its place.

    Incidents move with such hints alone: they gather threads some time after their events.
    """
    kinds = LISTS if thread != workspace else (*LISTS, INCIDENTS)
    return [Topic(kind, workspace) for kind in kinds]


def parse(name: str, *, workspace: UUID) -> Topic:
    """The topic of this name in the reader's own workspace; ValueError for anything else."""
    kind, colon, rest = name.partition(":")
    if KINDS.get(kind) is not bool(colon):
        raise ValueError(f"There is no topic {name[:80]!r}.")
    ref = UUID(rest) if colon else None
    thread = ref if kind in OF_THREAD else workspace if kind == INCIDENT else None
    return Topic(kind, workspace, ref, thread)
