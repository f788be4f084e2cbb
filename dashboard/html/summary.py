"""A thread's standing in a sentence: which steps are finished, which is awaited, and what of it.

Pure, from the plan of the graph: "Finished 1 Profile, 2 Data cleaning. Waiting for 3 Analysis".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from checkpoints.states import Status
from checkpoints.views import ActivityRow

from .graphs import PlanStep

LISTED = 6  # finished steps that are named, those before them are counted
# What a thread does about the step that comes next.
VERBS: Final[Mapping[Status, str]] = {
    Status.PAUSED: "Paused before",
    Status.FAILED: "Failed at",
    Status.ATTENTION: "Needs attention at",
    Status.CANCELLED: "Cancelled before",
    Status.ROLLING_BACK: "Rolling back, then",
}
WAITING, PAST = "Waiting for", "Next was"
# What is awaited by the kind of `why_waiting`, where no call is at work.
RESPONSES: Final[Mapping[str, str]] = {
    "children": "the results of its children",
    "timer": "its timer",
    "queue": "a free worker",
    "no_worker": "a worker",
    "no_code": "a worker with its code",
    "agent": "the external agent",
}


@dataclass(frozen=True, slots=True)
class Step:
    """A node by its number in the plan (0 where the plan does not have it), name and label."""

    number: int
    name: str
    label: str


@dataclass(frozen=True, slots=True)
class Summary:
    """Finished steps (`before` more than are listed), what is awaited, and the response of it.

    `steps` counts all that were done, those of loops as well.
    """

    finished: tuple[Step, ...]
    before: int
    verb: str
    awaited: tuple[Step, ...]
    response: str
    steps: int = 0

    @property
    def total(self) -> int:
        """The number of finished steps, the listed ones included."""
        return self.before + len(self.finished)


def summarise(
    plan: Sequence[PlanStep],
    *,
    status: Status,
    current: Sequence[str] = (),
    past: bool = False,
    response: str = "",
    steps: int = 0,
) -> Summary:
    """Name the steps of a plan; `current` may hold nodes that the plan does not have.

    A step that is awaited once more (a loop) is not listed as finished.
    """
    numbered = list(enumerate(plan, 1))
    done = [Step(n, step.name, step.label) for n, step in numbered if step.state == "done"]
    awaited = [Step(n, step.name, step.label) for n, step in numbered if step.state == "now"]
    if not awaited:
        awaited = [Step(0, name, name) for name in current]
    return Summary(
        finished=tuple(done[-LISTED:]),
        before=max(len(done) - LISTED, 0),
        verb=PAST if past else VERBS.get(status, WAITING),
        awaited=tuple(awaited),
        response="" if past else response,
        steps=steps,
    )


def response_awaited(
    activities: Iterable[ActivityRow],
    *,
    branch: int,
    step: int,
    requests: int = 0,
    why: str = "",
) -> str:
    """Name the answer that the step in progress waits for: a call, a decision, or by kind of why.

    `step` is the number of the step in progress, `requests` how many of its requests are open.
    """
    if requests:
        return "a decision" if requests == 1 else f"{requests} decisions"
    at_work = [
        row
        for row in activities
        if (row.branch, row.step) == (branch, step)
        and row.state == "started"
        and row.kind != "node"
    ]
    if at_work:
        newest = at_work[0]
        of = "the model" if newest.kind == "model" else newest.tool or newest.key
        more = f" and of {len(at_work) - 1} more" if len(at_work) > 1 else ""
        return f"the answer of {of}{more}"
    return RESPONSES.get(why, "")
