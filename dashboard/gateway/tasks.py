"""Held calls as tasks of MCP: a task is the thread of a call, and says how it stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from checkpoints import queries
from checkpoints.states import Status
from checkpoints.views import ThreadRow

from . import calls
from .calls import Begin, Call, Decided, Dispatch, Ended, Held
from .conversations import Client, Stopped
from .upstream import wire
from .upstream.wire import Message

POLL_MS: Final = 2_000
UNCALLED: Final = "The call did not happen."
METHODS: Final = ("tasks/get", "tasks/update", "tasks/cancel")


@dataclass(frozen=True, slots=True)
class Acted:
    """The result of a request about a task, and the call that has begun with it.

    `decided`: the call goes out once its server has listed the tool again.
    """

    result: Message
    dispatch: Dispatch | None = None
    decided: Decided | None = None


def checked(message: Message) -> str:
    """The id of the task that a request is about; raises Refused."""
    if message["method"] not in METHODS:
        raise wire.Refused(wire.METHOD_NOT_FOUND, f"There is no method {message['method']!r}.")
    if not wire.knows_tasks(message):
        needed: Message = {"requiredCapabilities": {"extensions": {wire.TASKS: {}}}}
        raise wire.Refused(
            wire.MISSING_CAPABILITY, "Missing required client capability", data=needed
        )
    task = message.get("params", {}).get("taskId")
    if not isinstance(task, str):
        raise wire.Refused(wire.INVALID_PARAMS, "$.params.taskId must be a text.")
    return task


def created(client: Client, held: Held) -> Message:
    """The task of a call that was held just now; its thread is in PostgreSQL."""
    row = queries.thread(held.thread, workspace=client.actor.workspace)
    return {"resultType": "task", **_task(row, "working", _waits(held))}


def act(client: Client, method: str, task: str, *, listed: bool = False) -> Acted:
    """Do what a request wants of a task of this client; raises NotFound for any other task."""
    row, call = calls.own(client, task)
    if method == "tasks/cancel":
        calls.cancel(client, row)
        return Acted({"resultType": "complete"})
    if method == "tasks/update":
        # People decide on our page; the agent's own user is asked nothing.
        return Acted({"resultType": "complete"})
    begun, shown = _status(client, row, call, listed=listed)
    result = {"resultType": "complete", **shown}
    if isinstance(begun, Decided):
        return Acted(result, decided=begun)
    return Acted(result, begun)


def proceed(client: Client, row: ThreadRow, call: Call | Ended, *, listed: bool = False) -> Begin:
    """Begin a held call where it was decided; one that may no longer be called is withdrawn.

    One that is at work already continues to its end. Raises Stopped.
    """
    if isinstance(call, Call):
        return calls.advance(call, row, listed=listed)
    calls.cancel(client, row, _uncalled(call.reason))
    row = queries.thread(row.id, workspace=client.actor.workspace)
    return call if row.status is Status.CANCELLED else calls.status_of(client, row)


def _status(
    client: Client, row: ThreadRow, call: Call | Ended, *, listed: bool
) -> tuple[Dispatch | Decided | None, Message]:
    """Say how a task stands; a call that was decided begins now."""
    try:
        begun = proceed(client, row, call, listed=listed) if row.live else None
    except Stopped as stopped:
        now = queries.thread(row.id, workspace=client.actor.workspace)
        message = f"{stopped.reason} {calls.thread_url(row.id)}"
        if now.status is Status.ATTENTION:
            error = {"code": wire.INTERNAL_ERROR, "message": message}
            return None, _task(now, "failed", message) | {"error": error}
        return None, _task(now, "working", message)
    row = queries.thread(row.id, workspace=client.actor.workspace)
    if isinstance(begun, Decided):
        return begun, _task(row, "working", "Approved.")
    if isinstance(begun, Dispatch):
        return begun, _task(row, "working", "Approved; the call is at work.")
    if row.status is Status.CANCELLED:
        if isinstance(call, Ended):
            return None, _ended_without(row, _uncalled(call.reason))
        return None, _task(row, "cancelled", row.status_reason)
    if isinstance(begun, Held):
        return None, _task(row, "working", _waits(begun))
    return None, _result(row, begun or calls.outcome(row))


def _result(row: ThreadRow, ended: Ended) -> Message:
    """A task whose call has ended: with its result, or with why it did not happen."""
    if ended.result is not None:
        return _task(row, "completed", "") | {"result": ended.result}
    failed = [a for a in calls.effects(row) if a.state == "failed"]
    if failed:
        error = {"code": wire.INTERNAL_ERROR, "message": ended.reason}
        return _task(row, "failed", ended.reason) | {"error": error}
    return _ended_without(row, _uncalled(ended.reason))


def _uncalled(reason: str) -> str:
    return f"{UNCALLED} {reason}".strip()


def _ended_without(row: ThreadRow, text: str) -> Message:
    """A task that ended without its call."""
    return _task(row, "completed", text) | {"result": wire.text_result(text, modern=True)}


def _waits(held: Held) -> str:
    if held.at_work:
        return "The call is at work."
    return "Waiting for approval: " + (" ".join(held.links) or calls.thread_url(held.thread))


def _task(row: ThreadRow, status: str, message: str) -> dict[str, Any]:
    return {
        "taskId": str(row.id),
        "status": status,
        **({"statusMessage": message} if message else {}),
        "createdAt": row.created_at.isoformat(),
        "lastUpdatedAt": row.last_at.isoformat(),
        "ttlMs": None,
        "pollIntervalMs": POLL_MS,
    }
