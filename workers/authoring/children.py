"""What an author holds of threads that a node started: handles, results, failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import UUID

from .checks import shown
from .errors import StepFailed

type Need = Literal["all", "any"] | int
KEY = "$thread"


class Child(dict[str, str]):
    """A thread that a node started; in the state it is the JSON `{"$thread": "<its id>"}`."""

    def __init__(self, thread: UUID | str) -> None:
        super().__init__({KEY: str(thread)})

    @property
    def thread(self) -> UUID:
        """The id of the thread."""
        return UUID(self[KEY])


@dataclass(frozen=True, slots=True)
class Failure:
    """A child without a result: how it ended (or "open": it had not in time), and why."""

    child: Child
    agent: str
    title: str
    status: str
    reason: str

    def __str__(self) -> str:
        return f"{self.title}: {self.status}{f' ({self.reason})' if self.reason else ''}"


@dataclass(frozen=True, slots=True)
class Joined:
    """The result of a join: the final states of the children that succeeded, and the failures.

    `children` are those that succeeded, in their order: the first has the first of the `results`.
    """

    results: list[dict[str, Any]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    children: list[Child] = field(default_factory=list)


class ChildrenFailed(StepFailed):
    """Fewer children succeeded than were needed; `joined` has the outcome of each."""

    def __init__(self, message: str, joined: Joined) -> None:
        super().__init__(message)
        self.joined = joined


def child_of(value: Any) -> Child:
    """A handle from what an author passes: a Child, or one that was kept in the state."""
    thread = value.get(KEY) if isinstance(value, Mapping) and len(value) == 1 else None
    try:
        return Child(UUID(str(thread)))
    except ValueError:
        raise StepFailed(
            f"ctx.join takes what ctx.spawn returned, or the same from the state, not "
            f"{shown(value)}."
        ) from None


def needed(need: Any, number: int) -> int:
    """The number of children that have to succeed, of `number`."""
    if need == "all":
        return number
    if need == "any":
        return min(1, number)
    if isinstance(need, int) and not isinstance(need, bool) and 0 < need <= number:
        return need
    raise StepFailed(
        f'need= is "all", "any" or a number from 1 to that of the children ({number}), not '
        f"{shown(need)}."
    )


def failed_message(joined: Joined, need: int) -> str:
    """Explain why a join fails, with its first failures."""
    number = len(joined.results) + len(joined.failures)
    listed = "; ".join(str(failure) for failure in joined.failures[:3])
    more = f"; and {len(joined.failures) - 3} more" if len(joined.failures) > 3 else ""
    done = len(joined.results)
    return f"{done} of {number} children succeeded, {need} are needed: {listed}{more}"


def check_need(need: Any, failures: Any, children: Sequence[Any]) -> int:
    """Check the arguments of a join; returns the number of children that have to succeed."""
    if failures not in ("raise", "list"):
        raise StepFailed(f'failures= is "raise" or "list", not {shown(failures)}.')
    return needed(need, len(children))
