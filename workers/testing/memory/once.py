"""What happens once, in memory: activities, effects and their undo, files; and any leased write."""

from __future__ import annotations

import hashlib
import io
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import IO, Any, Unpack
from uuid import UUID

from checkpoints.errors import LeaseLost, NotAllowedNow
from checkpoints.records import NewActivity, Work
from checkpoints.states import EventKind
from checkpoints.store import NewEvent
from checkpoints.store.activities import (
    EffectOutcome,
    Outcome,
    ended,
    recorded,
    started,
    written_as,
)
from checkpoints.store.cursors import cursor_event
from checkpoints.store.statement.moves import Insert
from checkpoints.views import ActivityRow

from . import reads as reading
from .tables import MemoryTables, Row, read, written

WRITABLE = ("planned", "started", "failed")


def released(by: EventKind) -> dict[str, Any]:
    """The lease given back, and the wish that was obeyed."""
    free: dict[str, Any] = {"lease_owner": "", "lease_token": None, "lease_until": None}
    if by is EventKind.THREAD_PAUSED:
        free |= {"wish": "", "pause_at": ""}
    return free


def see(work: Work, row: Row) -> None:
    """Take over what a worker has to know after each write."""
    work.last_seq, work.status, work.version = row.last_seq, row.status, row.version
    work.wake_seq, work.wish, work.wish_by = row.wake_seq, row.wish, row.wish_by
    work.pause_at = row.pause_at


def entering(
    tables: MemoryTables, thread: UUID, activity: NewActivity, row: Insert
) -> Callable[[datetime], None]:
    """Build the call that writes the row as the store does; a row that is done stays unchanged."""
    key = (thread, activity.position, activity.revision)
    columns = row.params._asdict() | {"approval": row.params.approval_id}
    values = {f.name: columns[f.name] for f in fields(ActivityRow) if f.name in columns}
    state, request = values["state"], (values["args"], values["salt"])

    def enter(at: datetime) -> None:
        former = tables.activities.get(key)
        if former is not None and former.state not in WRITABLE:
            return
        values.update(started_at=at, progress=None, cursor=None)
        if former is not None:
            goes_on = state != "done" and (former.args, former.salt) == request
            values.update(
                id=former.id,
                started_at=at if state == "started" else former.started_at,
                progress=former.progress,
                cursor=former.cursor if goes_on else None,
            )
        tables.activities[key] = ActivityRow(
            **values,
            thread=thread,
            undo_result=None,
            finished_at=None if state == "started" else at,
        )

    return enter


class Once:
    """One worker's writes; `wrote` is called after each of them."""

    def __init__(self, tables: MemoryTables, wrote: Callable[[], None] = lambda: None) -> None:
        self._tables = tables
        self._wrote = wrote
        self._folder: Path | None = None

    def _write(self, work: Work, **change: Any) -> None:
        row = self._tables.move(work.thread, guard=lambda r: r.lease_token == work.token, **change)
        self._seen(work, row)

    def _seen(self, work: Work, row: Row | None) -> None:
        if row is None:
            raise LeaseLost(thread=work.thread)
        see(work, row)
        self._wrote()

    def _settle(self, thread: UUID, taken: Sequence[int]) -> None:
        waiting = self._tables.inputs.get(thread, [])
        self._tables.inputs[thread] = [seq for seq in waiting if seq not in taken]

    def _entering(
        self, work: Work, activity: NewActivity, row: Insert
    ) -> Callable[[datetime], None]:
        return entering(self._tables, work.thread, activity, row)

    # ---- what happens once -------------------------------------------------------------------

    def record(
        self,
        work: Work,
        activity: NewActivity,
        *,
        events: Sequence[NewEvent] = (),
        **outcome: Unpack[Outcome],
    ) -> None:
        row, event = recorded(work.owner, activity, **outcome)
        usage = outcome.get("usage")
        sets: dict[str, Any] = {} if outcome.get("error") else {"crash_count": 0}
        thread = self._tables.row(work.thread)
        if usage and "tokens" in usage:
            sets["tokens"] = thread.tokens + usage["tokens"]
        if usage and "cost" in usage:
            sets["cost"] = f"{(Decimal(thread.cost) + Decimal(usage['cost'])).normalize():f}"
        enter = self._entering(work, activity, row)
        self._write(work, events=[*events, event], sets=sets, also=enter)

    def _start_effect(self, work: Work, activity: NewActivity, events: Sequence[NewEvent]) -> None:
        if activity.approval is not None and any(
            a.approval == activity.approval and a.id != activity.id
            for a in self._tables.activities.values()
        ):
            raise NotAllowedNow("This approval has been used already.")
        row, event = started(work.owner, activity)
        enter = self._entering(work, activity, row)
        self._write(work, events=[*events, event], also=enter)

    def end_effect(
        self,
        work: Work,
        activity: NewActivity,
        *,
        events: Sequence[NewEvent] = (),
        **outcome: Unpack[EffectOutcome],
    ) -> None:
        row, event = ended(work.owner, activity, **outcome)
        sets = {"crash_count": 0} if row.params.state == "done" else {}
        enter = self._entering(work, activity, row)
        self._write(work, events=[event, *events], sets=sets, also=enter)

    def progress(
        self, work: Work, activity: NewActivity | None, progress: dict[str, Any], *, keep: bool
    ) -> None:
        self._tables.progress.append(read(written(progress)))

    def keep_cursor(
        self,
        work: Work,
        activity: NewActivity,
        *,
        cursor: bytes,
        progress: Any = None,
        moved_on: bool = False,
        events: Sequence[NewEvent] = (),
    ) -> None:
        row, data = written_as(activity, "started")
        enter = self._entering(work, activity, row)
        key = (work.thread, activity.position, activity.revision)

        def also(at: datetime) -> None:
            enter(at)
            now = self._tables.activities[key]
            shown = now.progress if progress is None else written(progress)
            now = replace(now, cursor=cursor.decode(), progress=shown)
            self._tables.activities[key] = now

        sets = {"crash_count": 0} if moved_on else {}
        event = cursor_event(work, activity, data, cursor)
        self._write(work, events=[*events, event], sets=sets, also=also)

    def compensation(
        self,
        work: Work,
        activity: UUID,
        *,
        kind: EventKind,
        tool: str = "",
        result: Any = None,
        error: str = "",
        again_in: float | None = None,
    ) -> bool:
        row = reading.activity(self._tables, activity)
        done = kind is EventKind.COMPENSATION_FINISHED
        if done and row.state == "compensated":
            return False
        data: dict[str, Any] = {"activity": str(activity)} | ({"tool": tool} if tool else {})
        if done:
            data["result"] = result
        if error:
            data["error"] = error
        sets: dict[str, Any] = {"crash_count": 0} if done else {}
        if again_in is not None:
            data["again_in"] = again_in
            sets = released(kind) | {"wake_at": self._tables.later(again_in)}

        def enter(_: datetime) -> None:
            if done:
                key = reading.activity_key(row)
                saved = self._tables.activities[key]
                undone = replace(saved, state="compensated", undo_result=written(result))
                self._tables.activities[key] = undone

        self._write(work, events=[NewEvent(kind, data, work.owner)], sets=sets, also=enter)
        return True

    # ---- files -------------------------------------------------------------------------------

    def keyframe(self, work: Work, state: dict[str, Any]) -> None:
        """Nothing: memory needs no cache."""

    def artifact(
        self, work: Work, name: str, media_type: str, chunks: Iterable[bytes]
    ) -> dict[str, Any]:
        data = b"".join(chunks)
        sha = hashlib.sha256(data).hexdigest()
        self._tables.files.setdefault(sha, (name[:255], media_type, data))
        return {
            "$artifact": sha,
            "name": name[:255],
            "media_type": media_type,
            "size": len(data),
        }

    def open_artifact(self, work: Work, sha256: str) -> IO[bytes]:
        return io.BytesIO(reading.file(self._tables, sha256))

    def artifact_path(self, work: Work, sha256: str) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="gatepost-"))
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        path = self._folder / sha256
        path.write_bytes(reading.file(self._tables, sha256))
        return path
