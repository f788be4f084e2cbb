"""The first content at which two ways part; pure, over steps that are read as far as needed.

Steps are aligned by their number: what both ways did in step 7 is compared, in whatever order the
log has it. Equal contents are skipped. A way that ends earlier parts where the other continues.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final
from uuid import UUID

from checkpoints.queries.compared.steps import LoggedStep

from .contents import Content, Slot, contents_of

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
    """The step at which two lineages part, and what either did there; None where it did nothing.

    `step` is None where nothing differs. `equal` counts the steps before it that were compared and
    are the same, `whole` is False where the comparison stopped at its limit of steps.
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


def _steps(log: Iterable[LoggedStep]) -> Iterator[_Step]:
    """Steps that have any content; the checkpoints of one step (an edit after it) together."""
    for number, group in groupby(log, key=lambda logged: logged.step):
        merged = tuple(
            (logged.thread, content) for logged in group for content in contents_of(logged)
        )
        if merged:
            yield _Step(number, merged)


def _first(step: _Step | None) -> Difference | None:
    return None if step is None else _difference(*step.contents[0])


def _difference(thread: UUID, content: Content) -> Difference:
    slot = content.slot
    return Difference(thread, content.seq, content.kind, slot.about, slot.node, content.value)


def _parted(one: _Step, other: _Step) -> tuple[Difference | None, Difference | None] | None:
    """The first contents at which a step of both differs: earliest in the order of the logs."""
    ours, theirs = _places(one), _places(other)
    differing = [
        (float(rank), slot)
        for rank, slot in enumerate(ours)
        if slot not in theirs or ours[slot][1].value != theirs[slot][1].value
    ]
    # What only the other way did stands right behind what both did before it.
    ranks = {slot: rank for rank, slot in enumerate(ours)}
    before = -1.0
    for slot in theirs:
        if slot in ranks:
            before = max(before, ranks[slot])
        else:
            differing.append((before + 0.5, slot))
            break
    if not differing:
        return None
    _, slot = min(differing, key=lambda pair: pair[0])
    return _at(ours, slot), _at(theirs, slot)


type _Slots = dict[tuple[Slot, int], tuple[UUID, Content]]


def _places(step: _Step) -> _Slots:
    """Contents by where they stand; what stands at one slot twice is distinguished by its order."""
    results: _Slots = {}
    for thread, content in step.contents:
        nth = 0
        while (content.slot, nth) in results:
            nth += 1
        results[content.slot, nth] = thread, content
    return results


def _at(slots: _Slots, slot: tuple[Slot, int]) -> Difference | None:
    return _difference(*slots[slot]) if slot in slots else None
