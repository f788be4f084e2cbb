"""What happens once, in a book: activities, effects and their undo, files; and any leased write."""

from __future__ import annotations

import hashlib
import io
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import IO, Any
from uuid import UUID

from checkpoints.errors import LeaseLost, NotAllowedNow
from checkpoints.records import NewActivity, Work
from checkpoints.states import EventKind
from checkpoints.store import NewEvent
from checkpoints.store.activities import NAMING_V, described, failing, told_by, written_as
from checkpoints.store.cursors import kept
from checkpoints.views import ActivityRow

from . import reads as reading
from .book import Book, Row, read, written

WRITABLE = ("planned", "started", "failed")


def told(activity: NewActivity, state: str, result: Any, error: str, usage: Any) -> dict[str, Any]:
    """What the event of a write says of its activity."""
    return dict(written_as(activity, state, result, error, usage)[1])


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


class Once:
    """One worker's writes; `wrote` is called after each of them."""

    def __init__(self, book: Book, wrote: Callable[[], None] = lambda: None) -> None:
        self._book = book
        self._wrote = wrote
        self._folder: Path | None = None

    def _write(self, work: Work, **change: Any) -> None:
        row = self._book.move(work.thread, guard=lambda r: r.lease_token == work.token, **change)
        self._seen(work, row)

    def _seen(self, work: Work, row: Row | None) -> None:
        if row is None:
            raise LeaseLost(thread=work.thread)
        see(work, row)
        self._wrote()

    def _settle(self, thread: UUID, taken: Sequence[int]) -> None:
        waiting = self._book.inputs.get(thread, [])
        self._book.inputs[thread] = [seq for seq in waiting if seq not in taken]

    def _entering(
        self,
        work: Work,
        activity: NewActivity,
        state: str,
        result: Any,
        error: str,
        usage: Any,
    ) -> Callable[[datetime], None]:
        """What enters the row; of one that stands there only what is not done is written over."""
        p, done = activity.position, state == "done"
        place = (work.thread, p, activity.revision)
        texts = {
            "args": written(activity.args),
            "result": written(result) if done else None,
            "usage": None if usage is None else written(usage),
        }

        def enter(at: datetime) -> None:
            former = self._book.activities.get(place)
            if former is not None and former.state not in WRITABLE:
                return
            asked = (texts["args"], activity.salt)
            goes_on = former is not None and not done and (former.args, former.salt) == asked
            self._book.activities[place] = ActivityRow(
                id=former.id if former else activity.id,
                thread=work.thread,
                branch=p.branch,
                step=p.step,
                node=p.node,
                index=p.index,
                key=p.key,
                kind=activity.kind,
                tool=activity.tool,
                state=state,
                error=error,
                attempts=activity.attempts,
                idempotency_key=activity.idempotency_key,
                progress=former.progress if former else None,
                undo=activity.undo,
                undo_result=None,
                revision=activity.revision,
                approval=activity.approval,
                started_at=former.started_at if former and state != "started" else at,
                finished_at=None if state == "started" else at,
                cursor=former.cursor if former and goes_on else None,
                salt=activity.salt,
                **texts,
            )

        return enter

    # ---- what happens once -------------------------------------------------------------------

    def record(
        self,
        work: Work,
        activity: NewActivity,
        *,
        result: Any = None,
        error: str = "",
        retry_in: float | None = None,
        usage: Any = None,
        events: Sequence[NewEvent] = (),
    ) -> None:
        state = "failed" if error else "done"
        data = told(activity, state, result, error, usage) | failing(error, retry_in)
        if usage:
            data["usage"] = usage
        enter = self._entering(work, activity, state, result, error, usage)
        sets: dict[str, Any] = {} if error else {"crash_count": 0}
        if usage and "cost" in usage:
            row = self._book.row(work.thread)
            sets["tokens"] = row.tokens + usage["tokens"]
            sets["cost"] = f"{(Decimal(row.cost) + Decimal(usage['cost'])).normalize():f}"
        event = NewEvent(told_by(activity, error), data, work.owner, NAMING_V)
        self._write(work, events=[*events, event], sets=sets, also=enter)

    def _start_effect(self, work: Work, activity: NewActivity, events: Sequence[NewEvent]) -> None:
        if activity.approval is not None and any(
            a.approval == activity.approval and a.id != activity.id
            for a in self._book.activities.values()
        ):
            raise NotAllowedNow("This approval has been used already.")
        data = told(activity, "started", None, "", activity.usage)
        data["idempotency_key"] = activity.idempotency_key
        data["approval"] = None if activity.approval is None else str(activity.approval)
        enter = self._entering(work, activity, "started", None, "", activity.usage)
        event = NewEvent(EventKind.EFFECT_STARTED, data, work.owner, NAMING_V)
        self._write(work, events=[*events, event], also=enter)

    def end_effect(
        self,
        work: Work,
        activity: NewActivity,
        *,
        state: str,
        result: Any = None,
        error: str = "",
        retry_in: float | None = None,
        usage: Any = None,
        events: Sequence[NewEvent] = (),
    ) -> None:
        data = told(activity, state, result, error, usage) | {"state": state}
        data |= described(usage) | failing(error, retry_in)
        kind = EventKind.EFFECT_FINISHED if state == "done" else EventKind.EFFECT_FAILED
        event = NewEvent(kind, data, work.owner, NAMING_V)
        enter = self._entering(work, activity, state, result, error, usage)
        sets = {"crash_count": 0} if state == "done" else {}
        self._write(work, events=[event, *events], sets=sets, also=enter)

    def progress(
        self, work: Work, activity: NewActivity, progress: dict[str, Any], *, keep: bool
    ) -> None:
        self._book.progress.append(read(written(progress)))

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
        enter = self._entering(work, activity, "started", None, "", None)
        place = (work.thread, activity.position, activity.revision)

        def also(at: datetime) -> None:
            enter(at)
            row = self._book.activities[place]
            shown = row.progress if progress is None else read(written(progress))
            now = replace(row, cursor=cursor.decode(), progress=shown)
            self._book.activities[place] = now

        sets = {"crash_count": 0} if moved_on else {}
        event = kept(work, activity, told(activity, "started", None, "", None), cursor)
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
        row = reading.activity(self._book, activity)
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
            sets = released(kind) | {"wake_at": self._book.later(again_in)}

        def enter(_: datetime) -> None:
            if done:
                place = reading.place(row)
                kept = self._book.activities[place]
                undone = replace(kept, state="compensated", undo_result=written(result))
                self._book.activities[place] = undone

        self._write(work, events=[NewEvent(kind, data, work.owner)], sets=sets, also=enter)
        return True

    # ---- files -------------------------------------------------------------------------------

    def keyframe(self, work: Work, state: dict[str, Any]) -> None:
        """A cache, of which a book has no need."""

    def artifact(
        self, work: Work, name: str, media_type: str, chunks: Iterable[bytes]
    ) -> dict[str, Any]:
        data = b"".join(chunks)
        sha = hashlib.sha256(data).hexdigest()
        self._book.files.setdefault(sha, (name[:255], media_type, data))
        return {
            "$artifact": sha,
            "name": name[:255],
            "media_type": media_type,
            "size": len(data),
        }

    def open_artifact(self, work: Work, sha256: str) -> IO[bytes]:
        return io.BytesIO(reading.file(self._book, sha256))

    def artifact_path(self, work: Work, sha256: str) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="gatepost-"))
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        path = self._folder / sha256
        path.write_bytes(reading.file(self._book, sha256))
        return path
