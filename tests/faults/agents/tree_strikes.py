"""Points in the life of a tree of agents at which processes are killed with SIGKILL; for workers.

A family is armed with a file of its first thread's name in HAZARD_ARMS, which says at which point
and who: `parent`, `child` or `both`. The process that passes the point takes the file away, kills
(the others first, itself last) and writes a line into kills.log, once for each family. A parent
that waits has no process: the one is killed that takes it up next.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
from django.db import connection, transaction

from checkpoints import store
from checkpoints.states import EventKind
from checkpoints.store.tree import ends, hand_offs, new_threads
from workers.engine.engine import Engine

ARMS = Path(os.environ.get("HAZARD_ARMS", "."))
MAIN = os.getpid()  # imported before the pool forks: nobody strikes the process that supervises
PATIENCE = 1.5  # seconds that a point is held until the others are at work
OTHERS = 3  # so many children at work are killed at once
PARENTS = (
    "spawn, before",
    "spawn, written",
    "spawn, committed",
    "wait, before",
    "wait, committed",
    "join, written",
    "join, committed",
)
CHILDREN = (
    "child, works",
    "end, written",
    "end, committed",
    "release, written",
    "wake, written",
    "hand-off, written",
    "hand-off, committed",
)
# As `bench.Case` reads it: "host:boot:pid"; threads that are being worked on, the parent first.
HOLDERS = """SELECT parent IS NULL, id, split_part(lease_owner, ':', 3)::integer FROM gp_thread
WHERE (id = %s OR root = %s) AND status = 'running' AND lease_token IS NOT NULL"""


def order_of(root: object) -> tuple[str, str]:
    """(point, who) that a family is armed with; ("", "") where it was struck or never is."""
    with suppress(OSError):
        point, _, who = (ARMS / str(root)).read_text().partition("|")
        return point, who
    return "", ""


def holders(root: object) -> tuple[list[int], list[int]]:
    """Other processes that work on the parent, and those that work on its children."""
    with psycopg.connect(**connection.get_connection_params(), autocommit=True) as beside:
        rows = beside.execute(HOLDERS, (str(root), str(root))).fetchall()
    own = os.getpid()
    return (
        [pid for first, _, pid in rows if first and pid != own],
        [pid for first, _, pid in rows if not first and pid != own],
    )


class Strike:
    """One passing of a point: `ready` where it is its turn, then `carry_out`."""

    def __init__(self, point: str, root: object) -> None:
        self.point, self.root = point, str(root)
        wanted, self.who = order_of(root)
        self.acting = "parent" if point in PARENTS else "child"
        self.ready = wanted == point and os.getpid() != MAIN and self._find()

    def _find(self) -> bool:
        """Wait a moment until those are at work who are to be killed."""
        deadline = time.monotonic() + PATIENCE
        while True:
            parents, children = holders(self.root)
            others = children if self.acting == "parent" else parents
            if others or time.monotonic() > deadline or not self._waits_for_others():
                break
            time.sleep(0.01)
        self.others = children[:OTHERS] if self.acting == "parent" else parents
        return bool(self.others) or self.acting == "child" or self.who == "parent"

    def _waits_for_others(self) -> bool:
        if self.acting == "parent":
            return self.who != "parent"
        return self.who == "parent" and self.point != "wake, written"  # there it waits

    def carry_out(self) -> None:
        """Kill; returns where this process is none of those, or somebody else has struck."""
        claimed = ARMS / f"{self.root}.claimed"
        try:
            (ARMS / self.root).rename(claimed)
        except OSError:
            return
        later = False
        if self.who != self.acting:
            hit = self._kill_others()
            if not hit and self.acting == "parent":
                claimed.rename(ARMS / self.root)  # they had just ended: at the next passing
                return
            later = not hit
        if later:
            (ARMS / f"{self.root}.next").write_text(f"{self.point}|{self.who}")
        else:
            note(self.point, self.who, self.root)
        if self.who in (self.acting, "both"):
            os.kill(os.getpid(), signal.SIGKILL)

    def _kill_others(self) -> list[int]:
        """Kill them; those that were in the middle of their work."""
        for pid in self.others:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return [pid for pids in holders(self.root) for pid in pids if pid in self.others]


def note(point: str, who: str, root: object) -> None:
    """One line per strike; short appends of several processes do not mix."""
    with (ARMS / "kills.log").open("a") as file:
        file.write(f"{point}|{who}|{root}\n")


def pass_by(point: str, root: object) -> None:
    """Strike here, if it is the turn of this family and this point."""
    strike = Strike(point, root)
    if strike.ready:
        strike.carry_out()


def uncommitted[T](point: str, root: object, write: Callable[[], T]) -> T:
    """Strike when something is written and not committed."""
    strike = Strike(point, root)
    if not strike.ready:
        return write()
    with transaction.atomic():
        result = write()
        if result is not False:  # there was something to write
            strike.carry_out()
        return result


# ---- the places ----------------------------------------------------------------------------------


def install() -> None:
    """Put the points around the writes of the store; once, when a worker imports its agents."""
    former: dict[str, Callable[..., Any]] = {
        "spawn": store.spawn, "start.perform": new_threads.perform,
        "start.announce": new_threads.announce_threads,
        "leave": store.leave, "deliver": store.deliver, "record": store.record_activity,
        "commit": store.commit_step, "release": ends._release_next, "ends.perform": ends.perform,
        "hand_off": store.commit_and_hand_off,
        "hand_off.announce": hand_offs.announce_threads,
        "advance": Engine.advance,
    }  # fmt: skip

    def spawn(work: Any, *args: Any, **more: Any) -> None:
        pass_by("spawn, before", work.root or work.thread)
        former["spawn"](work, *args, **more)

    def perform_spawn(move: Any) -> Any:
        return uncommitted("spawn, written", move.thread, lambda: former["start.perform"](move))

    def announce_children(workspace: UUID, rows: Any) -> None:
        pass_by("spawn, committed", rows[0]["root"])
        former["start.announce"](workspace, rows)

    def leave(work: Any, by: EventKind, **more: Any) -> Any:
        if (more.get("waiting_on") or {}).get("kind") == "children":
            pass_by("wait, before", work.root or work.thread)
        return former["leave"](work, by, **more)

    def deliver(parent: UUID, *, actor: str) -> Any:
        ended = actor.startswith("thread:")
        pass_by("end, committed" if ended else "wait, committed", parent)
        return former["deliver"](parent, actor=actor)

    def record(work: Any, activity: Any, **more: Any) -> Any:
        def write() -> Any:
            return former["record"](work, activity, **more)

        if activity.tool != "join":
            return write()
        result = uncommitted("join, written", work.root or work.thread, write)
        pass_by("join, committed", work.root or work.thread)
        return result

    def commit(work: Any, checkpoint: Any, **more: Any) -> None:
        def write() -> None:
            former["commit"](work, checkpoint, **more)

        if work.parent is None or more.get("leave_by") is not EventKind.THREAD_SUCCEEDED:
            write()
        else:
            uncommitted("end, written", work.root, write)

    def release(parent: UUID, actor: str) -> Any:
        return uncommitted("release, written", parent, lambda: former["release"](parent, actor))

    def perform_end(move: Any) -> Any:
        strike = Strike("wake, written", move.thread)
        result = former["ends.perform"](move)
        if strike.ready and result is not None:
            strike.carry_out()
        return result

    def hand_off(work: Any, *args: Any, **more: Any) -> None:
        uncommitted(
            "hand-off, written",
            work.root or work.thread,
            lambda: former["hand_off"](work, *args, **more),
        )

    def announce_successor(workspace: UUID, rows: Any) -> None:
        pass_by("hand-off, committed", rows[0]["root"])
        former["hand_off.announce"](workspace, rows)

    def advance(self: Any, work: Any) -> Any:
        due = ARMS / f"{work.thread}.next"
        with suppress(OSError):
            point, _, who = due.read_text().partition("|")
            due.unlink()
            note(point, who, work.thread)
            os.kill(os.getpid(), signal.SIGKILL)
        return former["advance"](self, work)

    store.spawn, new_threads.perform, new_threads.announce_threads = (
        spawn,
        perform_spawn,
        announce_children,
    )  # type: ignore[assignment]
    store.leave, store.deliver, store.record_activity = leave, deliver, record
    store.commit_step, store.commit_and_hand_off = commit, hand_off
    ends._release_next, ends.perform = release, perform_end
    hand_offs.announce_threads = announce_successor
    Engine.advance = advance  # type: ignore[method-assign]
