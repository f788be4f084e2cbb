"""Events, standstills and statuses in plain words.

Sentences are plain text: templates pass them through `visible`, since they quote agents.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from checkpoints.limits import STEPS_MAX
from checkpoints.state import marked
from checkpoints.states import Status

from .text import cut as _cut

if TYPE_CHECKING:
    from approvals.queries import ApprovalRow
    from checkpoints.views import ThreadRow

_USER = re.compile(r"user:([^/]+)(?:/(token|hook):(.+))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Look:
    """The look of a status: tone class, icon of the sprite, word, and why its lane exists."""

    tone: str
    icon: str
    word: str
    why: str


LOOKS: dict[str, Look] = {
    Status.ATTENTION: Look(
        "t-stuck", "stuck", "Needs attention", "Gatepost can’t continue on its own"
    ),
    Status.WAITING: Look(
        "t-wait", "wait", "Waiting", "For approval or for other threads; no worker in use"
    ),
    Status.FAILED: Look("t-fail", "fail", "Failed", "A step failed. Edit the state or retry"),
    Status.ROLLING_BACK: Look("t-idle", "undo", "Rolling back", "A worker is undoing effects"),
    Status.RUNNING: Look("t-run", "run", "Running", "A worker is running its next step"),
    Status.SLEEPING: Look("t-run", "retry", "Sleeping", "Resumes by itself at the set time"),
    Status.PAUSED: Look("t-idle", "pause", "Paused", "A person stopped it"),
    Status.QUEUED: Look("t-idle", "queued", "Queued", "Waiting for a free worker"),
    Status.SUCCEEDED: Look("t-done", "done", "Succeeded", "Completed"),
    Status.CANCELLED: Look("t-idle", "cancel", "Cancelled", "Ended by a person"),
}
# What waits for its turn among its siblings waits for nobody.
HELD = Look("t-idle", "queued", "Held", "Children that start when others end")
UNKNOWN = Look("t-idle", "queued", "Unknown", "")


def look(status: object) -> Look:
    """The look of a status, or of "held"; a stranger gets a neutral one instead of an error."""
    return HELD if status == "held" else LOOKS.get(str(status), UNKNOWN)


def person(actor: str, people: Mapping[str, str] | None = None, *, imported: bool = False) -> str:
    """A name for an actor id: `user:7` by the given names, workers and agents by their id.

    `imported`: another installation wrote it, whose users have the ids of others here.
    """
    if imported and (match := _USER.fullmatch(actor)):
        through = f" ({match[2]} {match[3]})" if match[2] else ""
        return f"user {match[1]}{through} of another installation"
    if people and actor in people:
        return people[actor]
    kind, _, rest = actor.partition(":")
    if not rest:
        return actor or "the system"
    if kind != "user" and (kind == "worker" or rest.count(":")):
        return f"worker {rest.partition(':')[0]}"
    return f"{kind} {rest}"


def decider(row: ApprovalRow) -> str:
    """Name who decided a request, as noted then; a capsule may note any name."""
    name, actor = row.decided_by_name, row.decided_by
    if not row.imported:
        return name or actor
    message = f", {name} says the capsule" if name else ""
    return person(actor, imported=True) + message if actor else ""


def reporter_of(actor: str) -> str:
    """The name of the agent that works elsewhere and reports; empty of anybody else."""
    return actor.partition("/agent:")[2] if actor.startswith("user:") else ""


def worker(owner: str) -> str:
    """A lease owner for people: host and process, without the boot id; an agent by its name."""
    if reporter := reporter_of(owner):
        return reporter
    parts = owner.removeprefix("worker:").split(":")
    return " ".join(parts[:2])


def as_json(value: Any) -> str:
    """A value as one line of JSON; a part in a marked form as people read it."""
    return json.dumps(marked.shown(value), ensure_ascii=False)


def as_text(value: Any) -> str:
    """A value as people read it: text as it is, all else as a line of JSON."""
    value = marked.shown(value)
    return value if isinstance(value, str) else as_json(value)


def steps_limit(graph: Mapping[str, Any]) -> str:
    """Describe the number of steps that an agent takes before it stops for a person."""
    limit = graph.get("max_steps", STEPS_MAX)
    if limit is None:
        return "No limit: an endless loop is not stopped."
    return (
        f"{limit:,} after the last message, decision, timer or click; then the thread stops "
        f"and needs attention."
    )


def is_silent(row: ThreadRow) -> bool:
    """Answer True if the agent of a thread that works elsewhere let its lease run out."""
    return (
        row.external is not None
        and row.status in (Status.RUNNING, Status.ROLLING_BACK)
        and row.lease_until is not None
        and row.lease_until < row.read_at
    )


def thread_line(row: ThreadRow) -> str:
    """Describe what a thread is doing, for its row on the board; from the row alone."""
    where = ", ".join(row.next_nodes)
    status = str(row.status)
    if row.stopped is not None and status in ("queued", "running", "rolling_back"):
        return _cut(row.stopped.sentence)
    if row.status_reason:
        return _cut(row.status_reason)
    if row.stuck is not None and status != "waiting":
        return _cut(row.stuck.reason)
    if status == "waiting" and isinstance(row.waiting_on, dict):
        titles = row.waiting_on.get("titles") or ()
        if message := row.waiting_on.get("sentence") or next(iter(titles), ""):
            return _cut(message) + (f" and {len(titles) - 1} more" if len(titles) > 1 else "")
    if is_silent(row) and row.lease_until is not None:
        return f"No report from its agent since the lease expired at {row.lease_until:%H:%M} UTC"
    return {
        "queued": f"Next: {where}" if where else "Waiting for a worker",
        "running": f"Working on {where}" if where else "Working",
        "waiting": f"Waiting for approval before {where}" if where else "Waiting for approval",
        "sleeping": f"Sleeps before {where}" if where else "Sleeps",
        "paused": f"Next: {where}" if where else "Paused",
        "rolling_back": "Undoing its effects",
        "succeeded": "Completed",
        "cancelled": "Cancelled",
    }.get(status, look(status).word)
