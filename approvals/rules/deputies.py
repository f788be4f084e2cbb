"""Whose turn it is where people act for others: one person's part in a request; pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple
from uuid import UUID

from .terms import ANYONE
from .votes import Part, Progress

NAME_MAX: Final = 200  # of both names together


@dataclass(frozen=True, slots=True)
class Mandate:
    """The right to act in a person's place now: in one request, or in all of them (None).

    `names` are those by which seats mean that person.
    """

    person: str
    name: str
    names: tuple[str, ...]
    request: UUID | None = None


# The rights of somebody to act for others, read when they matter.
type Mandates = Callable[[], Sequence[Mandate]]


class Turn(NamedTuple):
    """The part of a person in a request, and whose place they take where it is not their own."""

    part: Part
    mandate: Mandate | None = None


def turn_of(
    progress: Progress, who: str, names: Sequence[str], mandates: Mandates, *, request: UUID
) -> Turn:
    """The part of a person (`user:7`) whom seats mean by `names`, else that of whom they represent.

    Their own right comes first, and four eyes and "one person, one vote" look at the person who
    acts. Nobody represents somebody who has no right left in the request, and nobody gives away an
    approval that a later stage needs from them by name or team.
    """
    own = progress.part(who, names)
    if own is Part.VOTED and (owner := progress.acted_for(who)):
        return Turn(own, next((one for one in mandates() if one.person == owner), None))
    if own in (Part.BARRED, Part.VOTED, Part.DUE):
        return Turn(own)
    named = [name for name in names if name != ANYONE]
    if any(seat.admits(named) for seat in progress.seats[progress.stage :]):
        return Turn(own)
    parts = [
        Turn(progress.part(one.person, one.names), one)
        for one in mandates()
        if one.request in (None, request) and one.person != who
    ]
    # Not their turn, they may still refuse or ask in the place of somebody who may.
    wanted = (Part.DUE,) if own is not Part.NONE else (Part.DUE, Part.LATER, Part.EARLIER)
    for part in wanted:
        for turn in parts:
            if turn.part is part:
                return turn
    return Turn(own)


def both_names(name: str, mandate: Mandate | None) -> str:
    """The name of who acts, and in whose place: "grace for ada"."""
    return name if mandate is None else f"{name} for {mandate.name}"[:NAME_MAX]
