"""Integrity of records as they are read: by the last verification, of one thread by a new one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal, NamedTuple
from uuid import UUID

from approvals.verification import proof
from approvals.verification.reports import keep_report
from checkpoints import chain, queries
from checkpoints.errors import ContentAway, NotFound
from checkpoints.queries.records import chains
from checkpoints.views import VerificationRow

# One thread of at most this number of events is verified when it is read.
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
    """{thread: its integrity}: one alone is verified now, several have their last verification.

    To verify each of many would take statements for each.
    """
    wanted = list(dict.fromkeys(threads))
    if len(wanted) == 1:
        [thread] = wanted
        n_events = sum(log.last_seq for log in chains.logs_of(wanted, workspace=workspace))
        if 0 < n_events <= EVENTS_MAX:
            return {thread: _verified(thread, queries.verifications(wanted).get(thread), by=by)}
    return last_verified(wanted)


def last_verified(threads: Iterable[UUID]) -> dict[UUID, ThreadIntegrity]:
    """{thread: its integrity as of its last verification}."""
    wanted = list(dict.fromkeys(threads))
    known = queries.verifications(wanted)
    return {one: ThreadIntegrity(one, known.get(one), is_now=False) for one in wanted}


def _verified(thread: UUID, last: VerificationRow | None, *, by: str) -> ThreadIntegrity:
    """Verify a thread now; damage is noted as by any verification.

    `last` is the last verification: damage stays where this one, which reads no files, finds none.
    """
    try:
        report = chain.returned(proof.verify_in_slices(thread))
    except (ContentAway, NotFound):
        return ThreadIntegrity(thread, last, is_now=False)
    if not report.intact:
        return ThreadIntegrity(thread, keep_report(report, actor=by).row, is_now=True)
    if last is not None and not last.intact:
        return ThreadIntegrity(thread, last, is_now=True)
    now = VerificationRow(report.n_events, True, None, report.erased, by, datetime.now(UTC))
    return ThreadIntegrity(thread, now, is_now=True)
