"""Integrity of records as they are read: threads are verified before their rows are given out."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal, NamedTuple
from uuid import UUID

from approvals.verification import keep_report
from checkpoints import chain, queries
from checkpoints.errors import ContentAway, NotFound
from checkpoints.queries.records import chains
from checkpoints.views import VerificationRow
from dashboard.operating import proof

# A page verifies threads with so many events in all; of others it shows the last verification.
EVENTS_MAX: Final = 5_000
Integrity = Literal["intact", "damaged", "unchecked"]


@dataclass(frozen=True, slots=True)
class ThreadIntegrity:
    """The verification of a thread's record; None if there was none.

    `is_now` is False where it is the last one, of `checked_at`: later events are unchecked.
    """

    thread: UUID
    verification: VerificationRow | None
    is_now: bool

    def damage_at(self, seq: int) -> str:
        """Say why an event is untrusted; empty of others."""
        return "" if self.verification is None else self.verification.damage_at(seq)

    def state_at(self, seq: int) -> Integrity:
        """The integrity of an event; `unchecked` behind the last event that was verified."""
        if self.damage_at(seq):
            return "damaged"
        checked = 0 if self.verification is None else self.verification.n_events
        return "intact" if seq <= checked else "unchecked"


class Checked(NamedTuple):
    """Numbers of threads: verified now, known by an earlier verification only, never verified."""

    now: int
    earlier: int
    never: int
    damaged: list[ThreadIntegrity]


def summary_of(many: Iterable[ThreadIntegrity]) -> Checked:
    """Count the threads by when they were verified, and list the damaged ones."""
    every = list(many)
    return Checked(
        now=sum(one.is_now for one in every),
        earlier=sum(not one.is_now and one.verification is not None for one in every),
        never=sum(not one.is_now and one.verification is None for one in every),
        damaged=[one for one in every if one.verification and not one.verification.intact],
    )


def integrity_of(
    threads: Iterable[UUID], *, workspace: UUID, by: str
) -> dict[UUID, ThreadIntegrity]:
    """{thread: its integrity}, verified now as far as EVENTS_MAX events reach, in order."""
    wanted, left = list(dict.fromkeys(threads)), EVENTS_MAX
    logs = {log.thread: log.last_seq for log in chains.logs_of(wanted, workspace=workspace)}
    known = queries.verifications(wanted)
    result = {}
    for thread in wanted:
        n_events = logs.get(thread, 0)
        if 0 < n_events <= left:
            left -= n_events
            result[thread] = verified(thread, known.get(thread), by=by)
        else:
            result[thread] = ThreadIntegrity(thread, known.get(thread), is_now=False)
    return result


def verified(thread: UUID, last: VerificationRow | None, *, by: str) -> ThreadIntegrity:
    """Verify a thread now; damage is noted as by any verification."""
    return chain.returned(verified_in_slices(thread, last, by=by))


def verified_in_slices(
    thread: UUID, last: VerificationRow | None, *, by: str
) -> Generator[int, None, ThreadIntegrity]:
    """Do the same a batch of events at a time, yielding how many are verified by then.

    `last` is the last verification: damage stays where this one, which reads no files, finds none.
    """
    try:
        report = yield from proof.verify_in_slices(thread)
    except (ContentAway, NotFound):
        return ThreadIntegrity(thread, last, is_now=False)
    if not report.intact:
        return ThreadIntegrity(thread, keep_report(report, actor=by).row, is_now=True)
    if last is not None and not last.intact:
        return ThreadIntegrity(thread, last, is_now=True)
    now = VerificationRow(report.n_events, True, None, report.erased, by, datetime.now(UTC))
    return ThreadIntegrity(thread, now, is_now=True)
