"""The step in progress of a thread whose agent works elsewhere, opened for one call."""

from __future__ import annotations

from checkpoints.records import Work

from ..step.ledger import DatabaseLedger
from ..step.step import OpenStep


class Fenced:
    """No heartbeat to look at: each statement is guarded by the lease."""

    def check(self) -> None:
        """Nothing to check between two statements."""


class ReportedLedger(DatabaseLedger):
    """The ledger for one call; the reporter has a part in what is proposed."""

    def hands_on(self, work: Work) -> tuple[str, ...]:
        """As for our agents, and the person as whom the agent signs in."""
        reporter = work.owner.partition("/")[0]
        return tuple(sorted({*super().hands_on(work), reporter}))


def open_step(work: Work) -> OpenStep:
    """The step after the head with what is recorded and requested there."""
    step = OpenStep(
        work,
        work.step + 1,
        ReportedLedger(),
        Fenced(),
        stopping=lambda: work.is_stopped,
        resumed=True,
        woken=work.wake_seq,
    )
    step.look()
    return step
