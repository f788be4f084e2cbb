"""A person's rights on a request now, in words: for page, API and bulk decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from approvals import gates
from approvals.notify.recipients import Person, deciders
from approvals.rules.deputies import Mandates, turn_of
from approvals.rules.votes import Part, Progress

NOBODY = "Nobody can approve this now"


@dataclass(frozen=True, slots=True)
class Own:
    """The viewer's rights on a request.

    `why` says what keeps them from deciding, `waits` what keeps them from approving alone.
    `acts_for` is the name of the person they would decide for, empty if they decide for themselves.
    """

    why: str = ""
    waits: str = ""
    take_back: bool = False
    acts_for: str = ""


def own_part(
    progress: Progress, person: str, names: Sequence[str], mandates: Mandates, *, request: UUID
) -> Own:
    """Find what a reviewer (`user:7`, in seats as `names`) may do with an open request."""
    part, mandate = turn_of(progress, person, names, mandates, request=request)
    who, acts_for = progress.seat.in_words, mandate.name if mandate else ""
    if part is Part.DUE:
        return Own(acts_for=acts_for)
    if part is Part.BARRED:
        return Own(
            "Four eyes: you took part in this thread, so somebody else has to decide. Attempts "
            "are recorded."
        )
    if part is Part.VOTED:
        return Own(waits="You have approved. Somebody else is still needed.")
    if part is Part.REPRESENTED:
        return Own(waits=f"{gates.by_deputy(progress, person)} has approved this for you.")
    if part is Part.LATER:
        return Own(waits=f"{gates.begin(who)} must approve before you.", acts_for=acts_for)
    if part is Part.EARLIER:
        return Own(waits=f"It is now for {who} to approve.", acts_for=acts_for)
    return Own(f"This is for {who} to decide.")


def nobody_can(progress: Progress, workspace: UUID) -> str:
    """Explain why too few people can approve a request under current rights; else empty."""
    people = deciders(workspace)
    due = [one for one in people if progress.part(one.id, one.names) is Part.DUE]
    missing = progress.needed - progress.got
    if len(due) >= missing:
        return ""
    return _too_few(progress, people, due, missing)


def _too_few(
    progress: Progress, people: Sequence[Person], due: Sequence[Person], missing: int
) -> str:
    who = progress.seat.in_words
    if due:
        able = f"{len(due)} {'person' if len(due) == 1 else 'people'}"
        return f"{missing} more approvals are needed from {who}, and only {able} can give one."
    seated = [one for one in people if not set(progress.due_seats).isdisjoint(one.names)]
    if not seated:
        return (
            f"{NOBODY}: it needs {who}, and no active reviewer of this workspace qualifies. "
            f"An admin can give somebody the role or team."
        )
    return (
        f"{NOBODY}: it needs {who}, and everybody who qualifies has already approved or is "
        f"excluded by four eyes. An admin can give somebody else the role or team."
    )
