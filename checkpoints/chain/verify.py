"""Verifying a thread: everything is computed again from the stored rows."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Protocol
from uuid import UUID

import structlog

from ..durabilities import EPHEMERAL
from ..errors import NotFound
from ..log.pins import pinned_after
from ..postgres.named_rows import fetch_named
from ..state import deltas
from ..states import EventKind
from .activities import Activities
from .children import Children
from .erased import erasure_of, verify_erased
from .events import EVENTS_AT_ONCE, Event, Log
from .links import Broken
from .past import NAMING, Past
from .thread_row import N_ROW, LoggedRow, Row, read_row
from .versions import altered_versions

# A thread that is worked on grows meanwhile: after this many passes the rest is left to the next.
LOOKS = 5
# What a verification may cover: the rows, the bytes of files as well, an anchor kept elsewhere.
CHECKS: Final = ("records", "files", "anchor")

logger = structlog.get_logger("gatepost.verification")


@dataclass(frozen=True, slots=True)
class ChainReport:
    """The result of a verification; `what` describes the damage at event `first_broken_seq`.

    `ident` is the thread or the workspace whose log it is. `since` is when the record of what
    steers began, where that was later than its start: before, nothing of it is proved. `checks`
    says which of CHECKS it covers. `erased` says by whom and why its content was erased: then
    the chain is verified, and what is left.
    """

    ident: UUID
    intact: bool
    n_events: int
    first_broken_seq: int | None
    what: str
    since: datetime | None = None
    checks: tuple[str, ...] = CHECKS[:1]
    erased: str = ""


def report(
    log: Log, broken: Broken | None = None, *, since: datetime | None = None, erased: str = ""
) -> ChainReport:
    """Build the report of one verified log."""
    if broken is None:
        return ChainReport(log.ident, True, log.n_verified, None, "", since, erased=erased)
    what = f"Event {broken.seq}: {broken}."
    return ChainReport(log.ident, False, log.n_verified, broken.seq, what, erased=erased)


class EventCheck(Protocol):
    """Something beside the log that its events name; both methods raise Broken."""

    def see(self, events: Sequence[Event]) -> None: ...
    def end(self, last_seq: int) -> None: ...


# Makes a check for (thread, its workspace).
type EventCheckFor = Callable[[UUID, UUID], EventCheck]


def verify_thread(
    thread_id: UUID,
    *,
    event_checks: Sequence[EventCheckFor] = (),
    seen: Callable[[int], None] | None = None,
) -> ChainReport:
    """Verify all events, checkpoints and activities of a thread as it stands; raises NotFound.

    `event_checks` read what floors above or the file storage hold; `seen` gets how many events
    are done. Reads in batches by keyset: memory holds one state, however long the thread is.
    Raises ContentAway where a storage does not answer: then nothing was found out.
    """
    return returned(verify_in_slices(thread_id, event_checks=event_checks), seen=seen)


def returned[R](slices: Generator[int, None, R], *, seen: Callable[[int], None] | None = None) -> R:
    """The result of a verification in slices, driven to its end in one go."""
    while True:
        try:
            n_verified = next(slices)
        except StopIteration as end:
            result: R = end.value
            return result
        if seen is not None:
            seen(n_verified)


def verify_in_slices(
    thread_id: UUID, *, event_checks: Sequence[EventCheckFor] = ()
) -> Generator[int, None, ChainReport]:
    """Do the same a batch of events at a time, yielding how many are verified; returns the report.

    Between two slices nothing is locked, so the caller may take any time: what is appended to
    the thread meanwhile is verified as well.
    """
    while True:
        verified = yield from _verify_once(thread_id, event_checks)
        if verified is not None:
            return verified


def _verify_once(
    thread_id: UUID, event_checks: Sequence[EventCheckFor]
) -> Generator[int, None, ChainReport | None]:
    """The report; None where the thread was erased while it was read."""
    facts = _facts(thread_id)
    if facts is None:
        raise NotFound("There is no such thread.")
    log = Log("thread", thread_id, facts.workspace, facts.chain, *facts.end)
    erasure = erasure_of(thread_id)
    erased = "" if erasure is None else erasure.sentence
    try:
        if erasure is None:
            yield from _Verification(log, facts, event_checks).slices()
        else:
            yield from verify_erased(log, erasure)
    except Broken as broken:
        # What an erasure deletes while it is read looks altered: verify it as an erased thread.
        if erasure is None and erasure_of(thread_id) is not None:
            return None
        return report(log, broken, erased=erased)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        # Chained anew by somebody who knows how, around what no code of ours wrote.
        logger.warning("verification.no_form", thread=str(thread_id), error=repr(error))
        message = f"it, or one of the {EVENTS_AT_ONCE} before it, has no form that was ever written"
        return report(log, Broken(max(log.n_verified, 1), message))
    return report(log, erased=erased)


@dataclass(frozen=True, slots=True)
class _Facts:
    """The thread row and the ends of its logs as of one moment.

    `end` is (last_seq, last_hash, highest seq), `head` (id, number, step, branch, bytes, first of
    the branch, next nodes as text), `brought` the last event and checkpoint that came with a
    capsule, `origin` (who started it, base, checkpoint of the base), `pinned` whether only the very
    code that it stopped with may take it, `searchable` (its column of this name, the channels of
    its version), `closed` whether it is marked as under an erasure that
    nobody approved, `columns` what else of the row the log records.
    """

    chain: UUID
    workspace: UUID
    end: tuple[int, bytes, int]
    head: tuple[Any, ...]
    highest_number: int
    brought: tuple[int, int]
    origin: tuple[str, str | None, str | None]
    pinned: bool
    searchable: tuple[str | None, str | None]
    closed: bool
    columns: Row


def _facts(thread: UUID) -> _Facts | None:
    result = fetch_named(
        f"SELECT {read_row.select}, th.chain_id, th.workspace_id, th.last_seq, th.last_hash, "
        "(SELECT coalesce(max(seq), 0) FROM gp_event WHERE thread_id = th.id) AS highest_seq, "
        "(SELECT coalesce(max(number), -1) FROM gp_checkpoint WHERE thread_id = th.id) "
        "AS highest_number, th.imported_seq, th.imported_number, th.started_by, th.base::text, "
        "th.forked_from::text, th.pinned, th.head, th.number, th.step, th.branch, th.state_bytes, "
        "th.branch_start, th.next_nodes::text, th.searchable::text, av.channels::text, "
        "th.erasure IS NOT NULL AND NOT EXISTS (SELECT 1 "
        "FROM gp_erasure r WHERE r.id = th.erasure AND r.state IN ('approved', 'done')) AS closed "
        "FROM gp_thread th LEFT JOIN gp_agent_version av ON av.id = th.agent_version_id "
        "WHERE th.id = %s::uuid",
        (thread,),
    )
    if not result:
        return None
    (r,) = result
    return _Facts(
        chain=r.chain_id,
        workspace=r.workspace_id,
        end=(r.last_seq, bytes(r.last_hash), r.highest_seq),
        head=(r.head, r.number, r.step, r.branch, r.state_bytes, r.branch_start, r.next_nodes),
        highest_number=r.highest_number,
        brought=(r.imported_seq, r.imported_number),
        origin=(r.started_by, r.base, r.forked_from),
        pinned=r.pinned,
        searchable=(r.searchable, r.channels),
        closed=r.closed,
        columns=read_row(r[:N_ROW]),
    )


def is_ephemeral(event: Event) -> bool:
    """Answer True if the event begins a thread that has no checkpoints."""
    return bool(deltas.decode(event.data).get("durability") == EPHEMERAL)


class _Verification:
    """One way through a thread's log, with all that its events name."""

    def __init__(
        self,
        log: Log,
        facts: _Facts,
        event_checks: Sequence[EventCheckFor],
    ) -> None:
        self._log = log
        self._facts = facts
        self._at_head: Any = None
        self._brought = (0, -1)
        self._origin: tuple[str, str | None, str | None] = ("", None, None)
        self._pinned = False
        self._logged_row = LoggedRow()
        self._past = Past(log.ident, facts.workspace, upto=facts.highest_number)
        makers: tuple[EventCheckFor, ...] = (Activities, Children, *event_checks)
        self._event_checks = [make(log.ident, facts.workspace) for make in makers]

    def slices(self) -> Generator[int]:
        """Check everything, yielding after each batch of events; raises Broken."""
        for _ in range(LOOKS):
            for batch in self._log.batches():
                self._check(batch)
                yield self._log.n_verified
            self._log.check_end()
            self._past.check_end(self._log.last_seq)
            if self._at_head != self._facts.head:
                raise Broken(
                    self._log.last_seq, "the thread's head is not the checkpoint named last"
                )
            if self._origin != self._facts.origin:
                raise Broken(
                    self._log.last_seq, "who started it, or its base, is not what the log records"
                )
            if self._brought != self._facts.brought:
                raise Broken(self._log.last_seq, "what was imported is not what the log records")
            if self._pinned != self._facts.pinned:
                raise Broken(self._log.last_seq, "the pin is not what the log records")
            if self._facts.closed:
                raise Broken(self._log.last_seq, "it is marked as closed, by no approved erasure")
            if wrong := self._logged_row.differs(self._facts.columns, n_steps=self._past.n_steps):
                raise Broken(self._log.last_seq, f"{wrong} is not what the log records")
            if not self._past.is_searched_by(*self._facts.searchable):
                raise Broken(self._log.last_seq, "what it is searched by is not in its state")
            for _, wrong in altered_versions(self._facts.columns.agent_version):
                raise Broken(self._log.last_seq, wrong)
            result = self._end_checks()
            now = _facts(self._log.ident)
            if now is None:
                raise Broken(self._log.last_seq, "the thread is gone")
            if now.end == self._facts.end:
                if result is not None:
                    raise result
                return
            # It moved between the two: what is there belongs to events not yet read.
            self._facts = now
            self._log.last_seq, self._log.last_hash, self._log.highest_seq = now.end
            self._past.upto = now.highest_number

    def _end_checks(self) -> Broken | None:
        try:
            self._past.check_contents(self._log.last_seq)
            for check in self._event_checks:
                check.end(self._log.last_seq)
        except Broken as broken:
            return broken
        return None

    def _check(self, batch: Sequence[Event]) -> None:
        good = 0
        try:
            for event in batch:
                self._log.check(event)
                good += 1
                self._pinned = pinned_after(self._pinned, event.kind, event.data)
                self._follow(event)
        finally:
            # Also before a break: what a check finds may stand earlier.
            for check in self._event_checks:
                check.see(batch[:good])

    def _follow(self, event: Event) -> None:
        """Take over what an event says of the thread's row."""
        if event.seq == 1:
            self._origin = (event.actor, None, None)
        if event.kind == EventKind.THREAD_STARTED and is_ephemeral(event):
            self._at_head = (self._log.ident, 0, 0, 0, 0, 0, "[]")
        elif event.kind in NAMING:
            self._at_head = self._past.check_next(event)
            if event.kind == EventKind.THREAD_FORKED:
                payload = deltas.decode(event.data)
                self._origin = (event.actor, payload["base"], payload["base_checkpoint"])
        elif event.kind == EventKind.THREAD_IMPORTED:
            payload = deltas.decode(event.data)
            if "checkpoint" not in payload:
                self._brought = (payload["seq"], self._at_head[1])
                # Anyone who brought it counts as its initiator.
                self._origin = (event.actor, *self._origin[1:])
        self._logged_row.follow(event, self._past.agent_version)
