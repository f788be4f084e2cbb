"""A thread's activities beside the events that name them: each row must fit its last event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import connection

from ..log.seals import activity_seal
from ..postgres.named_rows import fetch_named
from ..state import deltas
from ..states import EventKind, Proof, kinds_of
from ..tables.columns import ACTIVITY
from .cursors import Cursors
from .events import Event, events_of_attempt
from .links import Broken, fits

_NAMING = kinds_of(Proof.ACTIVITY)
_EFFECTS = frozenset(
    {
        EventKind.EFFECT_STARTED,
        EventKind.EFFECT_FINISHED,
        EventKind.EFFECT_FAILED,
        EventKind.EFFECT_SETTLED,
    }
)
_ENDS = (EventKind.EFFECT_FINISHED, EventKind.EFFECT_FAILED)
# A cursor is what `Cursors` compares.
_COLUMNS = ACTIVITY.proved.without("cursor")
# Rows per statement.
AT_ONCE = 200


class Activities:
    """Checks each activity against the events that name it, batch by batch.

    A row may be written again (started, lost, failed, done, compensated), each time with an event.
    The event that describes it as it stands seals it; earlier ones must describe an earlier form.
    """

    def __init__(self, thread: UUID, workspace: UUID) -> None:
        self._thread = thread
        self._workspace = workspace
        self._sealed = 0
        self._compensated = 0
        self._cursors = Cursors(thread)

    def see(self, events: Sequence[Event]) -> None:
        """Check the activities that these events name; raises Broken."""
        named = [(e, deltas.decode(e.data)) for e in events if e.kind in _NAMING]
        naming = [(e, data) for e, data in named if "activity" in data and _writes(e, data)]
        self._cursors.see(events, {event.seq: data for event, data in naming})
        rows = self._rows({UUID(data["activity"]) for _, data in naming})
        for event, data in naming:
            row = rows.get(UUID(data["activity"]))
            if row is None or row["thread_id"] != self._thread:
                row = self._row_of_twin(event, data)
            if event.kind == EventKind.COMPENSATION_FINISHED:
                self._check_undone(event, data, row)
                continue
            try:
                self._check(event, data, row)
            except Broken:
                if not self._was_written_over(event, data, row):
                    raise

    def end(self, last_seq: int) -> None:
        """Refuse activities that no event describes as they stand; raises Broken."""
        (n,) = fetch_named(
            # What has merely shown progress, or kept a cursor, is no record yet.
            "SELECT count(*) FILTER (WHERE state <> 'started' OR kind = 'effect') AS recorded, "
            "count(*) FILTER (WHERE state = 'compensated') AS undone, "
            "count(*) FILTER (WHERE state = 'started' AND kind <> 'effect') AS at_work, "
            "count(*) FILTER (WHERE cursor IS NOT NULL) AS with_cursor "
            "FROM gp_activity WHERE thread_id = %s::uuid",
            (self._thread,),
        )
        if n.recorded != self._sealed:
            raise Broken(last_seq, "the activities are not those that the events describe")
        if n.undone != self._compensated:
            raise Broken(last_seq, "the undone effects are not those that the events describe")
        if n.at_work:
            self._check_at_work(last_seq)
        self._cursors.end(last_seq, n.with_cursor)

    def _check_at_work(self, last_seq: int) -> None:
        """Refuse what no call that is at work has; raises Broken.

        No event describes such a row before its first cursor is kept: it fits itself at least.
        """
        after = UUID(int=0)
        while True:
            result = fetch_named(
                "SELECT id, tool, workspace_id, args::text, salt, input_hash, error <> '' OR "
                "num_nonnulls(result, result_hash, usage, undo_result, approval_id, "
                "finished_at) > 0 AS has_ended FROM gp_activity WHERE thread_id = %s::uuid "
                "AND state = 'started' AND kind <> 'effect' AND id > %s::uuid "
                "ORDER BY id LIMIT %s",
                (self._thread, after, AT_ONCE),
            )
            for row in result:
                self._cursors.begun_again(row.id)
                right = row.workspace_id == self._workspace and not row.has_ended
                if not (right and fits(last_seq, bytes(row.salt), row.args) == row.input_hash):
                    raise Broken(last_seq, f"the call of {row.tool!r} that is at work was altered")
            if len(result) < AT_ONCE:
                return
            after = result[-1].id

    def _rows(self, wanted: set[UUID]) -> dict[UUID, dict[str, Any]]:
        if not wanted:
            return {}
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT {_COLUMNS.select()} FROM gp_activity WHERE id = ANY(%s::uuid[])",
                (list(wanted),),
            )
            results = [_COLUMNS.row(values) for values in cursor.fetchall()]
        return {row["id"]: row for row in results}

    def _row_of_twin(self, event: Event, data: dict[str, Any]) -> dict[str, Any]:
        """The row of an effect that another request started too, as this start named it.

        Before a report kept the thread's row, requests that came together could all start one
        attempt: each with an id of its own, of which the row has the first.
        """
        others = {UUID(twin.activity) for twin in self._twins(event, data)}
        for row in self._rows(others).values():
            if row["thread_id"] == self._thread:
                return row | {"id": UUID(data["activity"])}
        raise Broken(event.seq, "the activity it names is missing")

    def _was_written_over(self, event: Event, data: dict[str, Any], row: dict[str, Any]) -> bool:
        """Say whether another request started or ended this same attempt, and the row is its.

        Nothing is excused by that: `end` counts the rows that fit one of their events.
        """
        twins = self._twins(event, data)
        started = [twin.at for twin in twins if twin.kind == EventKind.EFFECT_STARTED]
        if event.kind == EventKind.EFFECT_STARTED:
            return len(started) > 1 and row["started_at"] in started
        return event.kind in _ENDS and (len(started) > 1 or len(twins) - len(started) > 1)

    def _twins(self, event: Event, data: dict[str, Any]) -> list[Any]:
        """The starts and ends of the attempt that an event of an effect is about."""
        if event.kind != EventKind.EFFECT_STARTED and event.kind not in _ENDS:
            return []
        return events_of_attempt(self._thread, [EventKind.EFFECT_STARTED, *_ENDS], data)

    def _check(self, event: Event, data: dict[str, Any], row: dict[str, Any]) -> None:
        state = _state_after(event, data)
        # What goes without saying: today a first attempt; in the first days nobody counted them.
        unsaid = 1 if event.v > 1 else row["attempts"]
        was = _before_undo(row)
        payload = (data.get("attempt", unsaid), _phase(state))
        current = (row["attempts"], _phase(was))
        if payload > current:
            raise Broken(event.seq, "the activity it names was set back")
        # Only what failed or was lost is called again; no write leads away from a result.
        if payload < current and state == "done":
            raise Broken(event.seq, "the activity it names was done, and was begun again")
        if not _in_place(event, data, row):
            raise Broken(event.seq, "the activity it names became another")
        if event.kind == EventKind.EFFECT_STARTED and payload[0] == current[0]:
            _same(event, row["started_at"], event.at)
        if payload < current:
            return
        if row["workspace_id"] != self._workspace:
            raise Broken(event.seq, "the activity it names lies in another workspace")
        if state == "started":
            _same(event, row["finished_at"], None)
        else:
            _same(event, row["finished_at"], event.at)
            if row["kind"] != "effect":
                _same(event, row["started_at"], event.at)
        _check_content(event, row)
        if row["state"] != "compensated" and row["undo_result"] is not None:
            raise Broken(event.seq, "the activity it names was never undone")
        sealed = row | {
            "state": was,
            "usage": None if row["usage"] is None else deltas.decode(row["usage"]),
        }
        if "seal" in data and activity_seal(sealed) != data["seal"]:
            raise Broken(event.seq, "the activity it names was altered")
        if event.kind != EventKind.CURSOR_KEPT:
            self._sealed += 1

    def _check_undone(self, event: Event, data: dict[str, Any], row: dict[str, Any]) -> None:
        result = "null" if row["undo_result"] is None else row["undo_result"]
        if row["state"] != "compensated" or deltas.decode(result) != data["result"]:
            raise Broken(event.seq, "the undo it names was altered")
        self._compensated += 1


def _writes(event: Event, data: dict[str, Any]) -> bool:
    """Answer True if an event wrote to the row; some verdicts of people leave it as it is."""
    return event.kind != EventKind.EFFECT_SETTLED or "seal" in data


def _in_place(event: Event, data: dict[str, Any], row: dict[str, Any]) -> bool:
    """Check that a row has the position its event recorded, however often it was called since."""
    position = {name: data.get(name, row[name]) for name in ("branch", "step", "node", "key")}
    position["index"] = data.get("index", 0 if "key" in data and event.v > 1 else row["index"])
    # An effect that is none any more would be forgotten: what is at work needs no event.
    effect = row["kind"] == "effect" or event.kind not in _EFFECTS
    return effect and all(row[name] == value for name, value in position.items())


def _phase(state: str) -> int:
    """Of one attempt: begun, lost, or come to an end, which may follow after it was lost."""
    return {"started": 0, "unknown": 1}.get(state, 2)


def _before_undo(row: dict[str, Any]) -> str:
    """The state that an effect was taken back from; only what is done has a result's hash."""
    if row["state"] != "compensated":
        return str(row["state"])
    return "unknown" if row["result_hash"] is None else "done"


def _state_after(event: Event, data: dict[str, Any]) -> str:
    if event.kind in (EventKind.EFFECT_STARTED, EventKind.CURSOR_KEPT):
        return "started"
    return str(data.get("state") or ("failed" if "error" in data else "done"))


def _same(event: Event, stored: Any, expected: Any) -> None:
    if stored != expected:
        raise Broken(event.seq, "the times of the activity it names were altered")


def _check_content(event: Event, row: dict[str, Any]) -> None:
    if fits(event.seq, row["salt"], row["args"]) != row["input_hash"]:
        raise Broken(event.seq, "the input of the activity it names does not match its hash")
    if row["result_hash"] is None:
        if row["result"] is not None:
            raise Broken(event.seq, "the activity it names has a result without a hash")
    elif fits(event.seq, row["salt"], row["result"] or "null") != row["result_hash"]:
        raise Broken(event.seq, "the result of the activity it names does not match its hash")
