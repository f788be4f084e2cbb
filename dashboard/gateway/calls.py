"""Tool calls as effects: begun under gates, policies and caps, dispatched, and settled.

A call that needs nobody is an effect on the thread of its conversation. One that people have to
decide gets a thread of its own, whose name is made of what is called: the same call sent again
finds it, and so does its task (ADR 0050).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import IO, Any, Literal
from uuid import UUID, uuid4

from django.conf import settings
from django.db import transaction

from approvals import gates
from approvals import queries as requests
from approvals.policies import matches
from approvals.policies.matches import PolicyAnswer
from approvals.states import ALLOWING
from checkpoints import errors as ground
from checkpoints import leases, payloads, queries, store
from checkpoints.errors import NotFound
from checkpoints.records import NewActivity, Position, Work
from checkpoints.state import deltas, marked
from checkpoints.states import FINISHED, Status
from checkpoints.views import ActivityRow, ThreadRow
from workers.authoring.errors import GateReached, Halted, HandBack, StepFailed
from workers.authoring.graph import Gate, Tool
from workers.external import reported
from workers.external.open_step import Fenced, ReportedLedger
from workers.external.reported import Reported, tool_of
from workers.node.effects import Begun
from workers.node.node_gates import check_node
from workers.step.results import bounded_form, value_of
from workers.step.secret_values import path_of_secret, what_is_secret
from workers.step.step import OpenStep

from .conversations import (
    NODE,
    Client,
    Conversations,
    Stopped,
    Stretch,
    finish,
    lease,
    newest,
    park,
    start,
)
from .registry import queries as known
from .registry.definitions import is_repeatable
from .registry.queries import ToolRow
from .upstream import methods

KEY_NAME_MAX = 120

type Outside = Literal["done", "failed", "unknown"]


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call of a client, and the tool as an admin accepted it; or one read.

    A read goes by the name of its method, and has no row.
    """

    client: Client
    name: str
    args: Mapping[str, Any]
    row: ToolRow | None
    method: str = methods.CALL

    @property
    def tool(self) -> Tool:
        """The tool as the engine takes it."""
        if self.row is None:
            return tool_of(self.name, {"idempotent": True})
        accepted = self.row.accepted or {}
        return tool_of(self.name, {"schema": self.schema, "idempotent": is_repeatable(accepted)})

    @property
    def schema(self) -> Any:
        """The schema of the arguments, as accepted; None for a read."""
        return None if self.row is None else (self.row.accepted or {}).get("inputSchema")

    @property
    def gate(self) -> Gate | None:
        """The gate that the tool or the server itself has, whatever the policies say."""
        if self.row is None:
            group = methods.READS[self.method].group
            if self.client.server.modes[group] != "ask":
                return None
            return Gate(
                f"Let {self.client.agent} send {self.name}?",
                f"An admin has set the {group} of this server to ask each time.",
            )
        if self.row.mode != "ask":
            return None
        return Gate(
            f"Let {self.client.agent} call {self.name}?",
            "An admin has set this tool to ask each time.",
        )

    @property
    def target(self) -> str:
        """The hash of what an approval holds for besides the call: the server, the definition."""
        server = self.client.server
        definition = self.method if self.row is None else self.row.accepted_hash
        what = [str(server.id), server.url, list(server.command), definition]
        return hashlib.sha256(b"gatepost-mcp-target-1|" + deltas.canonical(what)).hexdigest()

    @property
    def prefix(self) -> str:
        """The beginning of the names of its own threads: the same for the same call of one tool."""
        what = [self.name, dict(self.args), self.target]
        digest = hashlib.sha256(b"gatepost-mcp-call-1|" + deltas.canonical(what)).hexdigest()
        return f"{self.client.prefix}/{digest[:40]}/"


class CallLedger(ReportedLedger):
    """The ledger of a call at a new position: what policies ask of its thread is known."""

    def __init__(self, labels: Mapping[str, str]) -> None:
        super().__init__()
        self._labels = dict(labels)

    def rule(self, work: Work, tool: str, args: Any, risk: str, *, undo: str = "") -> PolicyAnswer:
        """Ask the policies. Nothing that the gateway records has a cost."""
        return matches.ask(
            matches.Facts(
                workspace=work.workspace,
                thread=work.thread,
                agent=work.agent,
                tool=tool,
                args=args,
                risk=risk,
                undo=undo,
                labels=dict(self._labels),
                started_by=work.started_by,
                elsewhere=True,
            )
        )

    def held_off(self, work: Work, name: str) -> tuple[float, str] | None:
        """None: only workers note that a service wants everybody to wait."""
        return None


@dataclass(frozen=True, slots=True, eq=False)
class Dispatch:
    """A call that has started: exactly these arguments go to the server, then it is settled."""

    call: Call
    args: Mapping[str, Any]
    work: Work
    activity: NewActivity
    stretch: Stretch | None


@dataclass(frozen=True, slots=True)
class Held:
    """A call that people have to decide, or that is at work for another request."""

    thread: UUID
    links: tuple[str, ...] = ()
    at_work: bool = False


@dataclass(frozen=True, slots=True)
class Ended:
    """A call with a recorded outcome; `result` is None where it did not happen."""

    thread: UUID | None
    result: Any = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Decided:
    """A held call that people approved: its server lists the tool once more before it goes out."""

    call: Call


type Begin = Dispatch | Held | Ended | Decided


def url(path: str) -> str:
    """An address of ours, for people."""
    return f"{settings.GATEPOST_BASE_URL.rstrip('/')}{path}"


def thread_url(thread: UUID) -> str:
    """The address of a thread's page."""
    return url(f"/threads/{thread}/")


def checked(client: Client, name: str, args: Mapping[str, Any]) -> Call | Ended:
    """The call, where an admin lets the tool be called as the server lists it now."""
    row = client.tool if client.tool and client.tool.name == name else None
    row = row or known.tool(client.server.id, name)
    page = url(f"/admin/mcp-servers/{client.server.id}/")
    if row is None:
        why = f"An admin has not accepted the tool {name!r} yet; it was never listed here"
        return Ended(None, reason=f"{why}. {page}")
    if row.state == "new":
        return Ended(None, reason=f"An admin has not accepted the tool {name!r} yet. {page}")
    if row.state == "changed":
        parts = ", ".join(row.changed)
        why = f"The tool {name!r} changed since an admin accepted it ({parts})"
        return Ended(None, reason=f"{why}. Its calls are held until an admin accepts it. {page}")
    if row.mode == "refuse":
        return Ended(None, reason=f"An admin lets nobody call the tool {name!r}.")
    return Call(client, name, dict(args), row)


def checked_read(client: Client, method: str, params: Mapping[str, Any]) -> Call | Ended:
    """The read, where an admin lets this server be read in this way."""
    group = methods.READS[method].group
    if client.server.modes[group] == "refuse":
        return Ended(None, reason=f"An admin lets nobody use the {group} of this server.")
    return Call(client, method, dict(params), None, method)


def begin(conversations: Conversations, call: Call, *, plain: bool, listed: bool = False) -> Begin:
    """Begin a call on its conversation's thread; held where people have to decide.

    `plain`: name and arguments are all that decides what it does. `listed`: the server has just
    listed its tools. Raises Stopped, StepFailed.
    """
    if not call.tool.idempotent:
        conversations.refuse_repeat(call.client, call.name, call.args)
    with conversations.entered(call.client) as (stretch, work):
        step = OpenStep(
            work,
            work.step + 1,
            CallLedger(call.client.labels),
            Fenced(),
            stopping=lambda: work.is_stopped,
        )
        key = f"{call.name[:KEY_NAME_MAX]}#{uuid4().hex}"
        position = Position(work.branch, step.number, NODE, 0, key)
        # Nothing is looked up at the position: nobody else has its key.
        try:
            check_node(step, NODE)
            begun = Reported(step, position).start_effect(call.tool, call.args, call.gate)
        except GateReached:
            wish = work.wish
        except Halted as halted:
            raise Stopped(stretch.thread, halted.reason) from halted
        except HandBack as stop:
            raise Stopped(stretch.thread, "A breaker stops its calls.") from stop
        else:
            if not isinstance(begun, Begun):
                raise AssertionError("an outcome at a new position")
            return Dispatch(call, begun.activity.args, work, begun.activity, stretch)
    conversations.leave(stretch, wish)
    if not plain:
        raise StepFailed("A call that people have to decide takes a name and arguments only.")
    return hold(call, listed=listed)


def hold(call: Call, *, listed: bool = False) -> Begin:
    """Continue the call's own thread, or begin one; a call that has ended is asked anew."""
    row, number = newest(call.client, call.prefix)
    if row is None or row.status in FINISHED:
        thread = start(
            call.client,
            call.prefix,
            number,
            title=f"{call.name} on {call.client.server.name}",
            input={
                "server": str(call.client.server.id),
                "method": call.method,
                "tool": call.name,
                "arguments": dict(call.args),
                "target": call.target,
            },
        )
        row = queries.thread(thread, workspace=call.client.actor.workspace)
    return advance(call, row, listed=listed)


def advance(call: Call, row: ThreadRow, *, listed: bool = False) -> Begin:
    """Begin a held call where it was decided; else how it stands. Raises Stopped.

    A tool that people approved begins only where its server has `listed` it after that: people take
    minutes, in which a server may make another tool of it.
    """
    client = call.client
    is_bound = listed or call.row is None
    if not is_bound and row.status is Status.QUEUED and is_approved(row):
        return Decided(call)
    work = lease(row.id, client.owner)
    if work is None:
        return status_of(client, queries.thread(row.id, workspace=client.actor.workspace))
    if not is_bound and is_approved(row):  # since it was read
        store.hand_back(work, reason="the server lists the tool once more")
        return Decided(call)
    answer = reported.begin(
        work,
        NODE,
        0,
        f"{call.name[:KEY_NAME_MAX]}#0",
        kind="effect",
        tool=call.tool,
        args=dict(call.args),
        gate=call.gate,
    )
    if answer.do == "call" and answer.activity is not None:
        written = store.effect_as_written(work.thread, answer.activity.id)
        if written is None:
            raise AssertionError("a record that is gone")
        return Dispatch(call, answer.args, work, written[0], None)
    if answer.do == "answer":
        finish(work, "done")
        return Ended(row.id, result=_value(row, answer.result))
    if answer.do == "refused":
        by = f" by {answer.by}" if answer.by else ""
        reason = f"Rejected{by}: {answer.reason}" if answer.by else answer.reason
        finish(work, "rejected", reason=reason)
        return Ended(row.id, reason=reason)
    return status_of(client, queries.thread(row.id, workspace=client.actor.workspace))


def is_approved(row: ThreadRow) -> bool:
    """True where people let the call of a thread happen."""
    return any(one.outcome in ALLOWING for one in requests.for_thread(row.id))


def status_of(client: Client, row: ThreadRow) -> Begin:
    """Say how a held call stands that cannot be begun now; raises Stopped."""
    match row.status:
        case Status.WAITING:
            open_ones = requests.for_thread(row.id, open_only=True)
            links = tuple(url(f"/approvals/{one.id}/") for one in open_ones)
            return Held(row.id, links)
        case Status.QUEUED | Status.RUNNING:
            return Held(row.id, at_work=True)
        case Status.SUCCEEDED | Status.FAILED | Status.CANCELLED:
            return outcome(row)
    raise Stopped(row.id, row.status_reason or f"The thread is {row.status}.")


def outcome(row: ThreadRow) -> Ended:
    """Read the outcome of a held call whose thread has ended."""
    for activity in reversed(effects(row)):
        if activity.state == "done":
            return Ended(row.id, result=_value(row, activity.result))
        if activity.state == "failed":
            return Ended(row.id, reason=activity.error)
    return Ended(row.id, reason=row.status_reason or f"The thread has {row.status}.")


def _value(row: ThreadRow, result: Any) -> Any:
    """The result of a held call as its server sent it; raises StepFailed where its file is gone."""

    def opened(sha256: str) -> IO[bytes]:
        return payloads.opened(queries.artifact(sha256, workspace=row.workspace))

    return value_of(result, row.title, opened)


def effects(row: ThreadRow) -> list[ActivityRow]:
    """The records of a held call; they stand in the thread's first step."""
    return queries.step_activities(row.id, branch=row.branch, step=1)


def own(client: Client, task: str) -> tuple[ThreadRow, Call | Ended]:
    """The thread of a task and its call; raises NotFound for all that is not this token's own."""
    message = "There is no such task."
    try:
        ident = UUID(task)
        row = queries.thread(ident, workspace=client.actor.workspace)
    except (ValueError, NotFound):
        raise NotFound(message) from None
    # Only what this very token asked of this very server; the id alone opens nothing.
    if row.agent != client.agent or row.started_by != client.actor.id or str(row.id) != task:
        raise NotFound(message)
    state = queries.state_at(row.id, queries.checkpoint_by_number(row.id, 0).id)
    if "tool" not in state or state["server"] != str(client.server.id):
        raise NotFound(message)
    # Threads from before reads were asked about name no method.
    if state.get("method", methods.CALL) == methods.CALL:
        call = checked(client, state["tool"], state["arguments"])
    else:
        call = checked_read(client, state["method"], state["arguments"])
    if isinstance(call, Call) and call.target != state["target"]:
        why = f"The tool {call.name!r} is another one by now than the call was asked for."
        return row, Ended(row.id, reason=why)
    return row, call


def cancel(client: Client, row: ThreadRow, reason: str = "The agent withdrew the call.") -> None:
    """Withdraw a call that has not begun; one at work continues to its end."""
    try:
        with transaction.atomic():
            gates.withdraw_open(row.id, reason=reason, actor=client.actor.id)
            now = queries.thread(row.id, workspace=client.actor.workspace)
            if now.status in (Status.WAITING, Status.QUEUED):
                store.cancel(
                    row.id,
                    actor=client.actor.id,
                    reason=reason,
                    expected_version=now.version,
                )
    except (ground.ConcurrentModificationError, ground.NotAllowedNow):
        return  # somebody decided just now, or it has begun


def settle(
    conversations: Conversations, at: Dispatch, state: Outside, *, result: Any, error: str
) -> bool:
    """Record the outcome of a call; False where a person took the thread away meanwhile.

    A call whose outcome nobody knows is left to a person, unless the tool may be called again.
    """
    open_ended = state == "unknown" and not at.call.tool.idempotent
    recorded: Outside = "failed" if state == "unknown" and not open_ended else state
    more: dict[str, Any] = {"result": result} if recorded == "done" else {"error": error}
    try:
        ReportedLedger().end_effect(
            at.work, at.activity, state=recorded, usage=at.activity.usage, **more
        )
        if open_ended:
            if at.stretch is None:
                park(at.work, at.activity.id, at.call.name, error)
            else:
                at.stretch.unknown = (at.activity.id, at.call.name, error)
        elif at.stretch is None:
            finish(at.work, recorded, reason="" if recorded == "done" else error[:300])
    except ground.LeaseLost:
        return False
    finally:
        if at.stretch is not None:
            conversations.leave(at.stretch, at.work.wish)
    return True


def secret_in(form: Any, secrets: set[str]) -> str:
    """Say why a result is kept from everybody; empty where it is not. `form`: as it is recorded."""
    value = marked.readable(form)
    if path := path_of_secret(value, secrets):
        return f"The result holds the server's credential at {path}."
    if why := what_is_secret(value):
        return f"The result holds {why}."
    return ""


def kept_form(at: Dispatch, form: Any) -> Any:
    """The form of a result as its record takes it; one that is too large is kept as a file."""
    return bounded_form(form, at.call.name, partial(ReportedLedger().artifact, at.work))


def renew(at: Dispatch) -> None:
    """Keep the lease of a held call while its server works."""
    if at.stretch is None:
        leases.renew(at.work.thread, token=at.work.token)
