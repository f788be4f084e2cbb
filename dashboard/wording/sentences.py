"""Events, standstills and statuses in plain words.

Sentences are plain text: templates pass them through `visible`, since they quote agents.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from checkpoints.limits import STEPS_MAX
from checkpoints.log.remains import is_blank
from checkpoints.state import marked
from checkpoints.states import Status
from checkpoints.verdicts import MEANING

from . import sentences_of_decisions as of_decisions
from .model_settings import answer_kept, conversation_lost, parameter_refused
from .text import cut as _cut
from .text import number, span
from .usages import usage_text

if TYPE_CHECKING:
    from approvals.queries import ApprovalRow
    from checkpoints.views import EventRow, ThreadRow

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

_MEANING = {str(verdict): message for verdict, message in MEANING.items()}


def _access(d: Mapping[str, Any]) -> str:
    gives = ", ".join(str(one) for one in d.get("gives") or ())
    return _cut(f"{gives or 'access'} for {d.get('name', '?')}")


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


def event_sentence(event: EventRow, people: Mapping[str, str] | None = None) -> str:
    """Describe an event in one sentence without a full stop."""
    data, who = event.data, person(event.actor, people, imported=event.imported)
    say = _SAY.get(event.kind)
    if say is None or is_blank(data):
        words = of_decisions.kind_words(event.kind, data)
        return f"{words}{_tail({'text': data.get('name')} | dict(data))}"
    return str(say(data, who))


def _tail(data: Mapping[str, Any]) -> str:
    message = data.get("reason") or data.get("error") or data.get("text") or data.get("message")
    return f": {_cut(message)}" if message else ""


def _paused(data: Mapping[str, Any], who: str) -> str:
    """Tell a pause: what its worker says of it, else the person with their reason."""
    by_worker = "pause_at" in data and _tail(data)
    return f"Paused{_tail(data)}" if by_worker else f"Paused by {who}{_tail(data)}"


def _transition(node: Any, to: Any, because: Any) -> str:
    """Describe a transition and the reason noted for it; a capsule may note anything."""
    names = to if isinstance(to, list) else [to]
    then = " and ".join("the end" if name in ("__end__", None) else str(name) for name in names)
    message = f": {because}" if isinstance(because, str) and because else ""
    return _cut(f"{node or 'here'} → {then or 'the end'}{message}")


def _at(data: Mapping[str, Any]) -> str:
    return f" in {data['node']}" if data.get("node") else ""


def _name(data: Mapping[str, Any]) -> str:
    name = str(data.get("tool") or str(data.get("key", "")).partition(":")[0] or "a call")
    return f"{_cut(data['sentence'])} ({name})" if data.get("sentence") else name


def _checkpoint(data: Mapping[str, Any], who: str) -> str:
    nodes = " + ".join(data.get("nodes") or ()) or {
        "input": "new input" if data.get("number") else "the input",
        "edit": "an edit",
        "fork": "a fork",
        "rollback": "a rollback",
    }.get(str(data.get("source")), str(data.get("source", "")))
    following = ", ".join(data.get("next") or ())
    return (
        f"Checkpoint {data.get('number', '?')}"
        + (f" after {nodes}" if nodes else "")  # that of a rollback names neither
        + (f", next {following}" if following else ", nothing left to do")
    )


def _quoted(message: Any) -> str:
    """A message as people wrote it: its text where it is one, else JSON."""
    if isinstance(message, dict) and isinstance(message.get("text"), str):
        message = message["text"]
    if isinstance(message, str):
        return f"“{_cut(message)}”"
    return _cut(as_json(message))


def as_json(value: Any) -> str:
    """A value as one line of JSON; a part in a marked form as people read it."""
    return json.dumps(marked.shown(value), ensure_ascii=False)


def as_text(value: Any) -> str:
    """A value as people read it: text as it is, all else as a line of JSON."""
    value = marked.shown(value)
    return value if isinstance(value, str) else as_json(value)


def _unknown(data: Mapping[str, Any]) -> str:
    """Effects that had started when the thread was taken away."""
    effects = data.get("unknown") or data.get("effects") or ()
    names = dict.fromkeys(_name(effect) for effect in effects)
    return f"; {' and '.join(names)} had started, with an unknown outcome" if names else ""


def _taken(numbers: Sequence[int]) -> str:
    which = ", ".join(f"{n}" for n in numbers[:5]) + (" …" if len(numbers) > 5 else "")
    return f"Took message{'s' if len(numbers) > 1 else ''} {which} into the state"


def _again(data: Mapping[str, Any]) -> str:
    wait = data.get("retry_in")
    return "" if wait is None else f", attempt {data.get('attempt', 1) + 1} in {span(wait)}"


def _rollback(d: Mapping[str, Any], who: str) -> str:
    """Describe a rollback: to a checkpoint, or to an end with the effects undone."""
    if d.get("then") == "failed":
        message = "Failed; its effects are undone, most recent first"
    elif d.get("then") == "cancelled":
        message = f"{who} cancels the thread; its effects are undone first, most recent first"
    elif d.get("stay"):
        message = f"{who} had an effect undone"
    else:
        message = f"{who} rolls back to checkpoint {d.get('number', '?')}"
    return message + _tail(d) + _unknown(d)


def _suspended(counts: Any) -> str:
    """Name what a thread waits for; events of former versions do not say it."""
    if not isinstance(counts, Mapping) or not counts:
        return "Waiting"
    n, children = counts.get("requests", 0), counts.get("children", 0)
    needed = counts.get("needed", children)
    parts = []
    if n:
        parts.append("people to decide" if n == 1 else f"people to decide {n} requests")
    if children:
        some = f"{number(needed)} of " if needed != children else ""
        parts.append(f"{some}{number(children)} {'child' if children == 1 else 'children'} to end")
    return f"Waiting for {' and for '.join(parts)}"


def _exchanged(call: Any) -> str:
    tool = call.get("tool", "a call") if isinstance(call, Mapping) else ""
    return f", with a different output of {tool}" if tool else ""


def _limits(words: str, budget: Any) -> str:
    """The budget of a fork behind some words; empty without one."""
    if not isinstance(budget, Mapping):
        return ""
    units = (("cost", "${}"), ("tokens", "{} tokens"), ("steps", "{} steps"))
    limits = [form.format(budget[name]) for name, form in units if name in budget]
    return f"{words} {' and '.join(limits)}" if limits else ""


_SAY: dict[str, Any] = {
    "thread.started": lambda d, who: f"{who} started {d.get('agent', 'the agent')}",
    "thread.forked": lambda d, who: (
        f"{who} forked from checkpoint {d.get('base_number', '?')}"
        + (f", changed {', '.join(d['changed'])}" if d.get("changed") else "")
        + _exchanged(d.get("exchanged"))
        + _limits(", with a budget of", d.get("budget"))
    ),
    "lease.acquired": lambda d, who: f"{who} took the lease",
    "lease.taken_over": lambda d, who: f"{who} took over after the lease expired",
    "thread.handed_back": lambda d, who: f"{who} returned the thread" + _tail(d),
    "thread.suspended": lambda d, who: _suspended(d.get("waits_for")) + _tail(d),
    "thread.slept": lambda d, who: (
        (f"Sleeping for {span(d['seconds'])}" if d.get("seconds") else "Sleeping") + _tail(d)
    ),
    "thread.woken": lambda d, who: "Resumed" + (f" ({d['by']})" if d.get("by") else ""),
    "thread.paused": lambda d, who: _paused(d, who),
    "thread.resumed": lambda d, who: (
        f"{who} resumed the thread" + _limits(" and raised its budget to", d.get("budget"))
    ),
    "thread.retried": lambda d, who: f"{who} retried the step",
    "thread.succeeded": lambda d, who: "Finished",
    "thread.failed": lambda d, who: "Failed" + _tail(d),
    "thread.cancelled": lambda d, who: f"{who} cancelled the thread" + _tail(d) + _unknown(d),
    "thread.parked": lambda d, who: "Needs attention" + _tail(d),
    "thread.imported": lambda d, who: (
        f"{who} imported the thread; it was {d.get('status', 'elsewhere')} where it came from"
    ),
    "thread.renamed": lambda d, who: f"{who} renamed the thread: {d.get('title', '')}",
    "title.suggested": lambda d, who: f"{who} suggested the title: {d.get('title', '')}",
    "state.edited": lambda d, who: (
        f"{who} edited {', '.join(d.get('changed') or ()) or 'the state'}" + _tail(d)
    ),
    "rollback.started": _rollback,
    "rollback.retried": lambda d, who: f"{who} resumed the rollback",
    "rollback.finished": lambda d, who: "Rolled back, paused at the target",
    "rollback.run_on": lambda d, who: "Rolled back, continues from the target",
    "checkpoint.committed": _checkpoint,
    "step.failed": lambda d, who: (
        (f"Step lost{_at(d)}" if d.get("lost") else f"Step failed{_at(d)}") + _tail(d)
    ),
    "step.fenced": lambda d, who: f"A late commit by {who} was refused" + _unknown(d),
    "node.skipped": lambda d, who: f"{who} skipped {d.get('node', 'a node')}{_tail(d)}",
    "node.finished": lambda d, who: f"{d.get('node', 'A node')} finished; its step continues",
    "input.received": lambda d, who: f"{who} sent: {_quoted(d.get('message'))}",
    "input.taken": lambda d, who: _taken(d.get("inputs") or ()),
    "update.rejected": lambda d, who: (
        f"Message {d['input']} refused by the agent: {_cut(d.get('why', ''))}"
        if d.get("input")
        else f"Update refused{_at(d)}" + (_tail(d) or f": {_cut(d.get('why', ''))}")
    ),
    "way.taken": lambda d, who: _transition(d.get("from"), d.get("to"), d.get("because")),
    "thought.recorded": lambda d, who: _cut(d.get("text") or d.get("thought") or "A thought"),
    "value.recorded": lambda d, who: f"Recorded {_name(d)}{_at(d)}",
    "cursor.kept": lambda d, who: f"Saved the position of {_name(d)}{_at(d)}",
    "activity.finished": lambda d, who: f"{_name(d)} done{_at(d)}{usage_text(d)}",
    "activity.failed": lambda d, who: f"{_name(d)} failed{_at(d)}" + _tail(d) + _again(d),
    "model.answered": lambda d, who: f"{_name(d)} done{_at(d)}{usage_text(d)}",
    "model.failed": lambda d, who: f"{_name(d)} failed{_at(d)}" + _tail(d) + _again(d),
    "model.reasoned": lambda d, who: _cut(d.get("text") or "A model's reasoning"),
    "model.tool_called": lambda d, who: (
        f"The model asks for {_cut(d.get('tool') or 'a tool')}{_at(d)}" + _tail(d)
    ),
    "answer.kept": lambda d, who: answer_kept(d),
    "parameter.refused": lambda d, who: parameter_refused(d),
    "conversation.lost": lambda d, who: conversation_lost(d),
    "effect.started": lambda d, who: f"{_name(d)} begins, attempt {d.get('attempt', 1)}",
    "effect.finished": lambda d, who: f"{_name(d)} completed{usage_text(d)}",
    "effect.failed": lambda d, who: (
        f"{_name(d)} had started; its outcome is unknown"
        if d.get("state") == "unknown"
        else f"{_name(d)} failed" + _tail(d) + _again(d)
    ),
    "effect.settled": lambda d, who: (
        f"{who} settled {_name(d)}: {_MEANING.get(str(d.get('verdict')), '?')}" + _tail(d)
    ),
    "compensation.started": lambda d, who: (
        f"Undoing {_name(d)}" if d.get("tool") else "Undoing an effect"
    ),
    "compensation.finished": lambda d, who: f"{_name(d)} undone" if d.get("tool") else "Undone",
    "compensation.failed": lambda d, who: (
        (f"Undoing {_name(d)} failed" if d.get("tool") else "Undoing an effect failed")
        + (f", next attempt in {d['again_in']:g} s" if d.get("again_in") else "")
        + _tail(d)
    ),
    "artifact.stored": lambda d, who: f"Stored {_cut(d.get('name') or 'a file')}",
    **of_decisions.SAY,
    "pause.requested": lambda d, who: (
        f"{who} asked to pause" + (f" before {d['before']}" if d.get("before") else "") + _tail(d)
    ),
    "checkpoint.skipped": lambda d, who: (
        f"Checkpoint {d.get('from')} does not match its hash and was skipped; "
        f"continuing from {d.get('to')}"
    ),
    "code.changed": lambda d, who: (
        f"{who} accepted the changed code"
        if d.get("by") == "choice"
        else "The agent's code is the same; only the method of its fingerprint changed"
        if d.get("by") == "same"
        else "The agent's code changed while the thread was waiting"
    ),
    "code.pinned": lambda d, who: f"{who} pinned it to the code it stopped with",
    "code.unpinned": lambda d, who: f"{who} unpinned it: any matching code may continue it",
    # The log of a workspace.
    "workspace.created": lambda d, who: f"{who} made the workspace {_cut(d.get('name', ''))}",
    "workspace.renamed": lambda d, who: (
        f"{who} renamed the workspace from {_cut(d.get('from', ''))} to {_cut(d.get('to', ''))}"
    ),
    "member.added": lambda d, who: f"{who} added {_cut(d.get('name', '?'))} to the workspace",
    "member.removed": lambda d, who: f"{_cut(d.get('name', '?'))} was removed from the workspace",
    "role.granted": lambda d, who: (
        f"{who} gave {_cut(d.get('name', '?'))} the role {d.get('role', '?')}"
    ),
    "role.withdrawn": lambda d, who: (
        f"{who} took the role {d.get('role', '?')} from {_cut(d.get('name', '?'))}"
    ),
    "role.refused": lambda d, who: (
        f"{who} tried to give themselves the role {d.get('role', '?')}, which was refused"
    ),
    "access.asked": lambda d, who: f"{who} asked another admin to confirm: {_access(d)}",
    "access.confirmed": lambda d, who: f"{who} confirmed: {_access(d)}",
    "access.refused": lambda d, who: f"{who} refused: {_access(d)}",
    "access.expired": lambda d, who: f"Nobody confirmed in time: {_access(d)}",
    "access.changed": lambda d, who: f"{who} changed on the machine itself: {_access(d)}",
    "hook.confirmed": lambda d, who: (
        f"{who} confirmed that “{_cut(d.get('identity', '?'))}” in the hook "
        f"{_cut(d.get('name', '?'))} stands for them"
    ),
    "user.created": lambda d, who: f"{who} made the user {_cut(d.get('name', '?'))}",
    "user.changed": lambda d, who: (
        f"{who} changed {', '.join(d.get('changed') or ()) or 'nothing'} "
        f"of {_cut(d.get('name', '?'))}"
    ),
    "user.disabled": lambda d, who: f"{who} disabled the login of {_cut(d.get('name', '?'))}",
    "login.begun": lambda d, who: (
        f"{_cut(d.get('name', '?'))} signed in by {d.get('method', '?')} "
        f"with {d.get('device', '?')}"
    ),
    "login.failed": lambda d, who: f"A sign-in as {_cut(d.get('name', '?'))} failed",
    "factor.added": lambda d, who: f"{_cut(d.get('name', '?'))} added a second factor",
    "factor.removed": lambda d, who: (
        f"{who} removed the second factor of {_cut(d.get('name', '?'))}"
    ),
    "factor.recovered": lambda d, who: f"{who} used a recovery code; {d.get('left', '?')} are left",
    "factor.required": lambda d, who: (
        f"{who} requires a second factor of: {', '.join(d.get('to') or ()) or 'nobody'}"
    ),
    "passkey.added": lambda d, who: f"{_cut(d.get('name', '?'))} added a passkey",
    "passkey.removed": lambda d, who: f"{who} removed a passkey of {_cut(d.get('name', '?'))}",
    "passkey.refused": lambda d, who: (
        f"A passkey of {_cut(d.get('name', '?'))} was refused: it counted {d.get('count', '?')} "
        f"after {d.get('known', '?')}, so there is a copy of it"
    ),
    "login.ended": lambda d, who: (
        f"{who} signed out"
        if d.get("why") in ("out", "again")
        else f"{who} ended a sign-in of {_cut(d.get('name', '?'))}"
    ),
}


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
