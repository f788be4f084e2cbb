"""Steps that the demo's people take with a thread.

Each step sees in the database whether it was taken, so that a fleet can be filled any number of
times; none is remembered anywhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from django.conf import settings

from approvals import queries as approvals
from approvals.gates.operations import KIND as OPERATION
from checkpoints import queries
from checkpoints.states import Status
from checkpoints.views import ThreadRow
from dashboard.approvals import decide
from dashboard.errors import NeedsSecondPerson
from dashboard.threads.fork import fork
from dashboard.threads.roll_back import roll_back

from .cast import Cast

ENDED = frozenset({Status.SUCCEEDED, Status.FAILED, Status.CANCELLED})


class Step(Protocol):
    """Something that a person does when a thread has come far enough."""

    def take(self, thread: ThreadRow, cast: Cast) -> bool:
        """Take it if it is due; True when it was taken, now or at some time before."""
        ...


@dataclass(frozen=True)
class Decide:
    """A verdict in the manager's name on the first request; one of somebody else does as well."""

    verdict: str
    comment: str

    def take(self, thread: ThreadRow, cast: Cast) -> bool:
        """Decide the open request, unless the thread has a decided one."""
        rows = approvals.for_thread(thread.id)
        if any(row.status != "pending" for row in rows) or thread.status in ENDED:
            return True
        if not rows:
            return False
        wanted = decide.Decide(
            verdict=self.verdict, proposal_hash=rows[0].standing_hash, comment=self.comment
        )
        decide.DECIDE.run(cast.script, wanted, rows[0].id)
        return True


@dataclass(frozen=True)
class Fork:
    """The operator's fork from a checkpoint, when the thread has succeeded; known by its title."""

    at: int
    title: str
    reason: str
    changes: Mapping[str, Any] = field(default_factory=dict)

    def take(self, thread: ThreadRow, cast: Cast) -> bool:
        """Fork it once."""
        if any(row.title == self.title for row in queries.forks_of(thread.id)):
            return True
        if thread.status is not Status.SUCCEEDED:
            return False
        target = queries.checkpoint_by_number(thread.id, self.at)
        fork(
            cast.operator,
            thread.id,
            target.id,
            changes=self.changes,
            title=self.title,
            reason=self.reason,
        )
        return True


@dataclass(frozen=True)
class RollBack:
    """The manager's rollback to a checkpoint, when the thread has succeeded.

    `refusals` are refunds that the test bank refuses meanwhile. Where a policy demands a second
    person, a request is what comes of it.
    """

    at: int
    reason: str
    refusals: int = 0

    def take(self, thread: ThreadRow, cast: Cast) -> bool:
        """Roll it back once, or ask for that."""
        requested = any(row.kind == OPERATION for row in approvals.for_thread(thread.id))
        # One that could not undo everything stands at its old branch, with what is left to do.
        if thread.branch > 0 or thread.rollback is not None or requested:
            return True
        if thread.status is not Status.SUCCEEDED:
            return False
        if self.refusals:
            from gatepost_agents.payments import bank  # need not be installed without a fleet

            fault = {"kind": "503", "times": self.refusals, "op": "refund", "retry_after": 0.1}
            bank.post(settings.GATEPOST_BANK_URL, "faults", fault, key="demo")
        target = queries.checkpoint_by_number(thread.id, self.at)
        try:
            roll_back(cast.operator, thread.id, target.id, self.reason)
        except NeedsSecondPerson:
            pass  # The request is what the demo wants to show.
        return True
