"""Everything is verified again and again in the background, so damage is found without a click.

The sweep calls; the work is done apart from it, in a thread of its own, a batch of events at a time
and with a rest after each, so that it takes a small and steady part of one processor. Between two
batches nothing is held: no transaction, no lock. A duty keeps the workers apart.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Generator
from contextlib import suppress
from functools import cache
from typing import Any, Final
from uuid import UUID

import structlog
from django.conf import settings
from django.dispatch import receiver

from approvals.verification import proof
from approvals.verification.reports import keep_report
from checkpoints import queries, store
from checkpoints.errors import ContentAway, NotFound
from checkpoints.postgres.guarded_rows import set_aside
from checkpoints.signals import verification_due
from workers.slot import forks
from workers.slot.side_threads import side_thread

log = structlog.get_logger("gatepost.verification")
DUTY: Final = "verification"
DUTY_SECONDS: Final = 60.0
THREADS_AT_ONCE: Final = 200
# Looking for what is due costs about as much as verifying this number of events.
PAGE_COST: Final = 20
_LAST: Final = UUID(int=2**128 - 1)


def verify_everything(*, owner: str, every_seconds: float) -> Generator[int]:
    """Verify workspaces, then threads, the newest first; yields the cost of each slice in events.

    Threads that were verified within `every_seconds` are passed over.
    """
    totals: dict[UUID, int] = defaultdict(int)
    damage = yield from _costs(proof.installation_damage_in_slices())
    for head in list(queries.heads("workspace")):
        report = yield from _costs(proof.workspace_report_in_slices(head.ident, damage))
        totals[head.ident] += report.n_events
        keep_report(report, actor=owner, of="workspace")
        yield 1
    last = _LAST
    while page := queries.threads_to_verify(
        last, every_seconds=every_seconds, limit=THREADS_AT_ONCE
    ):
        yield PAGE_COST
        for thread, workspace, known, due in page:
            n_events = (yield from _verify_thread(thread, owner)) if due else None
            totals[workspace] += known if n_events is None else n_events
        last = page[-1][0]
    for left in proof.left_behind_pages():
        for item in left:
            with suppress(NotFound):  # a whole workspace is gone: nobody is left to be notified
                if item.of == "thread":
                    keep_report(item.report, actor=owner, workspace=item.workspace)
        yield PAGE_COST
    for workspace, n_events in totals.items():
        store.note_complete(workspace, n_events)


def _costs[R](slices: Generator[int, None, R]) -> Generator[int, None, R]:
    """Yield what each slice has cost, in events, instead of how many are done by then."""
    done = 0
    while True:
        try:
            n_verified = next(slices)
        except StopIteration as end:
            result: R = end.value
            return result
        yield max(n_verified - done, 1)
        done = n_verified


def _verify_thread(thread: UUID, owner: str) -> Generator[int, None, int | None]:
    """Verify a thread and return its number of events; None if that cannot be done now.

    One at which verifying fails is named and keeps no other waiting.
    """
    try:
        report = yield from _costs(proof.verify_in_slices(thread))
    except (ContentAway, NotFound) as error:
        log.warning("verification.skipped", thread=str(thread), error=str(error))
        return None
    except Exception as error:
        set_aside("verified", thread, thread=thread, error=error)
        return None
    if not report.intact:
        log.critical("record.damaged", thread=str(thread), what=report.what)
    keep_report(report, actor=owner)
    yield 1
    return report.n_events


class Verifier:
    """One round through everything at a time, when it is called and the last one is long ago."""

    def __init__(self, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self._turns = forks.Turn()
        self._sleep = sleep
        self._thread: threading.Thread | None = None
        self._next_at = 0.0

    def call(self, owner: str) -> None:
        """Begin a round, unless it is at it or not due; called by one thread alone."""
        every = float(settings.GATEPOST_VERIFY_EVERY_SECONDS)
        if every <= 0 or time.monotonic() < self._next_at:
            return
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(
                target=self._round, args=(owner, every), name="verification", daemon=True
            )
            self._thread.start()

    def join(self) -> None:
        """Wait for the end of the round, if there is one."""
        if self._thread is not None:
            self._thread.join()

    def _round(self, owner: str, every: float) -> None:
        self._next_at = time.monotonic() + every
        pace = max(float(settings.GATEPOST_VERIFY_EVENTS_PER_SECOND), 1.0)
        slices = verify_everything(owner=owner, every_seconds=every)
        claimed_at = -DUTY_SECONDS
        with side_thread(log, "verification.failed"):
            while True:
                with self._turns.taken():
                    if time.monotonic() - claimed_at > DUTY_SECONDS / 3:
                        if not store.claim_duty(DUTY, owner=owner, seconds=DUTY_SECONDS):
                            return
                        claimed_at = time.monotonic()
                    cost = next(slices, None)
                    if cost is None:
                        store.forget_duty(DUTY, owner=owner)
                        return
                # No longer than the duty is kept, however much one slice has cost.
                self._sleep(min(cost / pace, DUTY_SECONDS / 4))


@receiver(verification_due, dispatch_uid="dashboard.records.background.verification")
def go_on(*, owner: str, **_kwargs: Any) -> None:
    """Verify in this process, apart from the sweep."""
    _verifier().call(owner)


@cache
def _verifier() -> Verifier:
    return Verifier()
