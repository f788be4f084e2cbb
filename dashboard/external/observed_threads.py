"""Threads of agents that report nothing themselves: what somebody saw of them is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal
from uuid import UUID

from checkpoints import queries
from checkpoints.limits import NAME_MAX, TITLE_MAX
from checkpoints.state import deltas
from checkpoints.states import FINISHED
from checkpoints.views import ThreadRow
from dashboard.errors import translated
from dashboard.identity.permissions import Actor, require
from dashboard.threads.start import start_or_continue
from workers.external.announcement import Announcement
from workers.external.committed import Report

from .leases import release, take
from .reports import commit

SECONDS: Final = 60
REPORTER: Final = "watch"
# How many threads the same name may begin, one after the other has ended.
ENDINGS_MAX: Final = 1_000


@dataclass(frozen=True, slots=True)
class SeenState:
    """The thread that holds a state that was seen; `is_news`: it was not on record."""

    thread: UUID
    number: int
    is_news: bool


@translated()
def keep_state(
    actor: Actor,
    *,
    agent: str,
    name: str,
    state: Mapping[str, Any],
    framework: str,
    title: str = "",
    status: Literal["paused", "succeeded", "failed"] = "paused",
    reason: str = "",
) -> SeenState:
    """Keep the whole state that a watched agent was seen in, as a checkpoint of its thread.

    The same state twice is kept once. A thread that had succeeded stays as it ended; what its
    agent does afterwards is a thread of the name with a number. Raises Invalid with the place in
    `state`.
    """
    require(actor, "work")
    deltas.check(dict(state), "$")
    known, free = _thread_named(actor, agent, name, state)
    announced = Announcement(framework=framework, watched=True)
    if known is not None and _is_kept(known, state, status):
        return SeenState(known.id, known.number, False)
    thread, is_new = start_or_continue(
        actor,
        agent=agent,
        name=free,
        title=title[:TITLE_MAX],
        input=dict(state) if known is None else {},
        external=announced,
    )
    held = take(actor, thread, REPORTER, SECONDS, watches=True)
    token = held.work.token
    if not is_new and not _is_at_head(thread, held.work.head, state):
        report = Report(None, None, nodes=(), next_nodes=(), delta={})
        commit(actor, thread, token, report, state=state)
    row = release(actor, thread, token, status, reason, None)
    return SeenState(thread, row.number, True)


def _thread_named(
    actor: Actor, agent: str, name: str, state: Mapping[str, Any]
) -> tuple[ThreadRow | None, str]:
    """(the thread that continues, if there is one; its name): the first that has not ended.

    One that ended in this very state is what was seen.
    """
    for number in range(1, ENDINGS_MAX):
        suffix = f" ({number})" if number > 1 else ""
        free = name[: NAME_MAX - len(suffix)] + suffix
        row = queries.thread_named(free, agent=agent, workspace=actor.workspace)
        if row is None or row.status not in FINISHED or row.status == "failed":
            return row, free
        if _is_at_head(row.id, row.head, state):
            return row, free
    raise AssertionError("a name with too many endings")


def _is_kept(row: ThreadRow, state: Mapping[str, Any], status: str) -> bool:
    ended = row.status in FINISHED and row.status != "failed"
    return (ended or row.status == status) and _is_at_head(row.id, row.head, state)


def _is_at_head(thread: UUID, head: UUID, state: Mapping[str, Any]) -> bool:
    """Compare a state with the recorded one; 1 is not true."""
    recorded = deltas.canonical(queries.state_at(thread, head))
    return bool(recorded == deltas.canonical(dict(state)))
