"""The first content at which two ways part; pure, over steps that are read as far as needed.

Steps are aligned by their number: what both ways did in step 7 is compared, in whatever order the
log has it. Equal contents are skipped. A way that ends earlier parts where the other goes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final
from uuid import UUID

from checkpoints.queries.compared.steps import LoggedStep

from .contents import Content, Place, contents_of

STEPS_MAX: Final = 5_000


@dataclass(frozen=True, slots=True)
class Difference:
    """An event that differs: of which thread, its number there, and its content.

    `about` says what it is about, `node` where in the graph it happened (empty for a checkpoint).
    """

    thread: UUID
    seq: int
    kind: str
    about: str
    node: str
    value: dict[str, Any] = field(hash=False)


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where two ways part: the step, and what either did there; None where it did nothing alike.

    `step` is None where nothing differs. `equal` counts the steps before it that were compared and
    are the same, `whole` is False where so many were that the comparison stopped.
    """

    step: int | None
    left: Difference | None
    right: Difference | None
    equal: int
    whole: bool = True


@dataclass(frozen=True, slots=True)
class _Step:
    number: int
    contents: tuple[tuple[UUID, Content], ...]


def first_divergence(
    left: Iterable[LoggedStep], right: Iterable[LoggedStep], *, at_most: int = STEPS_MAX
) -> Divergence:
    """Compare two ways, oldest step first; both begin after what they have in common."""
    ours, theirs = _steps(left), _steps(right)
    one, other = next(ours, None), next(theirs, None)
    equal = 0
    while one is not None or other is not None:
        if equal >= at_most:
            return Divergence(None, None, None, equal, whole=False)
        if one is None or other is None or one.number != other.number:
            # One way did nothing in this step: what it did next stands beside it.
            step = min(s.number for s in (one, other) if s is not None)
            return Divergence(step, _first(one), _first(other), equal)
        if parted := _parted(one, other):
            return Divergence(one.number, *parted, equal)
        equal += 1
        one, other = next(ours, None), next(theirs, None)
    return Divergence(None, None, None, equal)


def _steps(way: Iterable[LoggedStep]) -> Iterator[_Step]:
    """Steps that have any content; the checkpoints of one step (an edit after it) together."""
    for number, group in groupby(way, key=lambda logged: logged.step):
        merged = tuple(
            (logged.thread, content) for logged in group for content in contents_of(logged)
        )
        if merged:
            yield _Step(number, merged)


def _first(step: _Step | None) -> Difference | None:
    return None if step is None else _difference(*step.contents[0])


def _difference(thread: UUID, content: Content) -> Difference:
    place = content.place
    return Difference(thread, content.seq, content.kind, place.about, place.node, content.value)


def _parted(one: _Step, other: _Step) -> tuple[Difference | None, Difference | None] | None:
    """The first contents at which a step of both differs: earliest in the order of the logs."""
    ours, theirs = _places(one), _places(other)
    differing = [
        (float(rank), place)
        for rank, place in enumerate(ours)
        if place not in theirs or ours[place][1].value != theirs[place][1].value
    ]
    # What only the other way did stands right behind what both did before it.
    ranks = {place: rank for rank, place in enumerate(ours)}
    before = -1.0
    for place in theirs:
        if place in ranks:
            before = max(before, ranks[place])
        else:
            differing.append((before + 0.5, place))
            break
    if not differing:
        return None
    _, place = min(differing, key=lambda pair: pair[0])
    return _at(ours, place), _at(theirs, place)


type _Places = dict[tuple[Place, int], tuple[UUID, Content]]


def _places(step: _Step) -> _Places:
    """Contents by where they stand; what stands at one place twice is told apart by its order."""
    results: _Places = {}
    for thread, content in step.contents:
        nth = 0
        while (content.place, nth) in results:
            nth += 1
        results[content.place, nth] = thread, content
    return results


def _at(places: _Places, place: tuple[Place, int]) -> Difference | None:
    return _difference(*places[place]) if place in places else None
