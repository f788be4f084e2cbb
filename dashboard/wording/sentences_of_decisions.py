"""Requests, votes, decisions and children in plain words; part of `sentences`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from approvals.notify.texts.incident_letters import HEADS
from approvals.rules.headlines import headline_of
from approvals.states import ROLL_BACK, STOP
from checkpoints.log.remains import is_blank
from checkpoints.unseen import plain

from .operations import budget_limit, budget_words, selection_words
from .text import cut

VERBS = {
    "approve": "approved",
    "reject": "rejected",
    "edit": "approved with edits",
    "respond": "answered",
}
VERDICTS = {
    "approve": "Approval",
    "reject": "Rejection",
    "edit": "Approval with edits",
    "respond": "Answer",
}
NEXT = {
    STOP: ", and the thread stops",
    ROLL_BACK: ", and the thread stops once its effects are undone",
}


def ended(*, status: str, outcome: str, by_name: str) -> str:
    """The outcome of a request, in a few words for a list; empty while it is open."""
    if outcome:
        return f"Decided by {plain(cut(by_name)) or 'somebody'}: {VERBS.get(outcome, 'decided')}"
    return {"expired": "Expired: nobody decided in time", "withdrawn": "Withdrawn"}.get(status, "")


def _what(data: Mapping[str, Any]) -> str:
    what = headline_of(data) or data.get("tool")
    return f" {cut(what)}" if what else ""


def _record(data: Mapping[str, Any]) -> str:
    return f"the record of {data.get('of') or 'thread'} {cut(data.get('id') or '?')[:8]}"


def kind_words(kind: str, data: Mapping[str, Any]) -> str:
    """An event's kind as words, `step.failed` as "Step failed", and whether its data are erased."""
    words = kind.replace("_", " ").replace(".", " ", 1).capitalize()
    return f"{words}; its content was erased" if is_blank(data) else words


def _quoted(text: object) -> str:
    return f": “{cut(text)}”" if text else ""


def _decided(data: Mapping[str, Any], who: str) -> str:
    if data.get("blocked"):
        return f"Blocked{_what(data)}: {cut(data.get('comment') or '?')}"
    verdict = str(data.get("verdict") or data.get("outcome") or "")
    verb = VERBS.get(verdict, "decided")
    if verdict == "approve" and data.get("outcome") == "edit":
        verb = "approved, as edited,"
    return (
        f"{who} {verb}{_what(data)}{NEXT.get(str(data.get('what_next')), '')}"
        + (", and can still undo it" if data.get("held") else "")
        + _quoted(data.get("comment"))
    )


def _incident(data: Mapping[str, Any]) -> str:
    head = HEADS.get(str(data.get("trouble")), "?")
    agent = data.get("agent")
    return f"the incident “{head}”" + (f" of {cut(agent)}" if agent else "")


def _counted(incidents: Any) -> str:
    n = len(incidents) if isinstance(incidents, list) else "?"
    return f"{n} incident{'' if n == 1 else 's'}"


def _subscription(data: Mapping[str, Any]) -> str:
    whose = data.get("team") or data.get("person") or "?"
    agent = data.get("agent")
    return f"the subscription of {cut(whose)}" + (f" to {cut(agent)}" if agent else "")


def _view(data: Mapping[str, Any]) -> str:
    name = data.get("name")
    return f"the shared view “{cut(name)}”" if name else "a private view"


def _deputy(data: Mapping[str, Any]) -> str:
    return f"{cut(data.get('deputy_name'))}{_quoted(data.get('reason'))}"


def _recorded(data: Mapping[str, Any], who: str) -> str:
    verdict, comment = data.get("verdict"), _quoted(data.get("comment"))
    if verdict == "respond":
        return f"{who} asked the agent about{_what(data) or ' its request'}{comment}"
    missing = data.get("missing") or 0
    others = f"; {missing} more {'has' if missing == 1 else 'have'} to agree" if missing else ""
    if verdict == "edit":
        void = data.get("void") or 0
        them = "1 approval so far no longer counts"
        them = f"{void} approvals so far no longer count" if void > 1 else them
        gone = f"; {them}" if void else ""
        return f"{who} edited{_what(data)}{gone}{others}{comment}"
    return f"{who} approved{_what(data)}{others}{comment}"


def _withdrawn(data: Mapping[str, Any], who: str) -> str:
    why = data.get("reason")
    return "Approval withdrawn" + (f": {cut(why)}" if why else "")


def _settled(data: Mapping[str, Any], who: str) -> str:
    verdict = VERDICTS.get(str(data.get("outcome")), "Decision")
    by = f" by {cut(data['by_name'])}" if data.get("by_name") else ""
    return f"{verdict}{by} took effect:{_what(data) or ' ?'}"


def _replied(data: Mapping[str, Any], who: str) -> str:
    return f"The agent answered{_quoted(data.get('text'))}"


# By kind of event: (its data, who did it) -> the sentence, without a full stop.
def _started(data: Mapping[str, Any]) -> str:
    number, agent = len(data.get("children") or ()), cut(data.get("agent") or "another agent")
    return f"Started {agent}" if number == 1 else f"Started {number} threads of {agent}"


def _joined(data: Mapping[str, Any]) -> str:
    children = list(data.get("children") or ())
    ends = Counter(str(child.get("status")) for child in children)
    if len(children) == 1:
        return f"Joined {cut(children[0].get('title') or 'a child')}: {next(iter(ends))}"
    return f"Joined {len(children)} children: " + ", ".join(f"{n} {end}" for end, n in ends.items())


SAY: dict[str, Any] = {
    "child.started": lambda d, who: _started(d),
    "child.joined": lambda d, who: _joined(d),
    "thread.handed_off": lambda d, who: f"Handed over to {cut(d.get('agent') or 'another agent')}",
    "approval.requested": lambda d, who: (
        f"{'Policies checked' if d.get('asks') is False else 'Approval requested'}:"
        f"{_what(d) or ' ?'}"
    ),
    "approval.decided": _decided,
    "approval.settled": _settled,
    "approval.withdrawn": _withdrawn,
    "approval.expired": lambda d, who: "Approval expired without a decision",
    "approval.escalated": lambda d, who: (
        f"Nobody decided{_what(d)} in time; {cut(d.get('to') or 'others')} can now decide"
    ),
    "approval.reminded": lambda d, who: (
        f"Reminded of{_what(d) or ' a request'} ({d.get('reminder', '?')} of "
        f"{d.get('reminders', '?')})"
    ),
    "approval.replied": _replied,
    "turn.handed_over": lambda d, who: f"{who} handed{_what(d)} over to {_deputy(d)}",
    "decision.recorded": _recorded,
    "decision.taken_back": lambda d, who: f"{who} undid the decision:{_what(d) or ' ?'}",
    "decision.refused": lambda d, who: (
        f"{who} tried to decide{_what(d)} and may not: {cut(d.get('reason') or '?')}"
    ),
    "operation.done": lambda d, who: f"Approved by a second person and done:{_what(d) or ' ?'}",
    "operation.failed": lambda d, who: (
        f"Approved by a second person but not done:{_what(d)} {cut(d.get('said') or '?')}"
    ),
    # The log of a workspace.
    "export.begun": lambda d, who: f"{who} started an export of events as {d.get('form', '?')}",
    "record.exported": lambda d, who: (
        f"{who} exported {d.get('events', '?')} event{'' if d.get('events') == 1 else 's'} "
        f"as {d.get('form', '?')}"
    ),
    "channel.revealed": lambda d, who: (
        f"{who} read the encrypted channel {cut(d.get('channel') or '?')} at checkpoint "
        f"{d.get('number', '?')}"
    ),
    "record.damaged": lambda d, who: (
        f"{who} found {_record(d)} damaged: {cut(d.get('what') or '?')}"
    ),
    "record.restored": lambda d, who: f"{who} found {_record(d)} intact again",
    "policy.made": lambda d, who: f"{who} created the policy {cut(d.get('name') or '?')}",
    "policy.changed": lambda d, who: (
        f"{who} changed the policy {cut(d.get('name') or '?')}"
        + (f", version {d['number']}" if "number" in d else ", its position")
    ),
    "policy.switched": lambda d, who: (
        f"{who} switched the policy {cut(d.get('name') or '?')} "
        + ("on" if d.get("active") else "off")
    ),
    "incident.taken": lambda d, who: f"{who} assigned {_incident(d)} to themselves",
    "incident.released": lambda d, who: f"{who} unassigned {_incident(d)}",
    "incident.snoozed": lambda d, who: f"{who} snoozed {_incident(d)} until {cut(d.get('until'))}",
    "incident.woken": lambda d, who: f"{who} ended the snooze of {_incident(d)}",
    "incident.closed": lambda d, who: f"{who} closed {_incident(d)}: “{cut(d.get('reason'))}”",
    "incident.dropped": lambda d, who: (
        f"{who} removed {_counted(d.get('incidents'))} that closed over {d.get('days')} days ago"
    ),
    "subscription.made": lambda d, who: f"{who} created {_subscription(d)}",
    "subscription.changed": lambda d, who: f"{who} changed {_subscription(d)}",
    "subscription.removed": lambda d, who: f"{who} removed {_subscription(d)}",
    "view.saved": lambda d, who: f"{who} saved {_view(d)}",
    "view.changed": lambda d, who: f"{who} changed {_view(d)}",
    "view.removed": lambda d, who: f"{who} removed {_view(d)}",
    "device.added": lambda d, who: (
        f"{who} turned on notifications for the device {cut(d.get('name'))}"
    ),
    "device.removed": lambda d, who: (
        f"The device {cut(d.get('name'))} is gone"
        if d.get("why")
        else f"{who} removed the device {cut(d.get('name'))}"
    ),
    "deputy.named": lambda d, who: (
        f"{who} let {cut(d.get('deputy_name'))} act for {cut(d.get('person_name'))}"
        f"{' in one request' if d.get('approval') else ''}{_quoted(d.get('reason'))}"
    ),
    "deputy.removed": lambda d, who: (
        f"{who} ended {cut(d.get('deputy_name'))} acting for {cut(d.get('person_name'))}"
    ),
    "hours.set": lambda d, who: (
        f"{who} set quiet hours from {cut(d.get('begins'))} to {cut(d.get('ends'))} "
        f"({cut(d.get('zone'))})"
    ),
    "hours.removed": lambda d, who: f"{who} ended quiet hours",
    "breaker.tripped": lambda d, who: (
        f"{who} stopped {selection_words(d.get('selection') or {})}{_quoted(d.get('reason'))}"
    ),
    "breaker.released": lambda d, who: (
        f"{who} released {'the rest' if d.get('rest') else 'some'} of "
        f"{selection_words(d.get('selection') or {})}, {d.get('released') or 0} "
        f"thread{'' if d.get('released') == 1 else 's'} immediately{_quoted(d.get('reason'))}"
    ),
    "erasure.requested": lambda d, who: f"{who} requested an erasure{_quoted(d.get('reason'))}",
    "erasure.approved": lambda d, who: f"{who} approved an erasure{_quoted(d.get('reason'))}",
    "erasure.refused": lambda d, who: f"{who} refused an erasure{_quoted(d.get('reason'))}",
    "erasure.finished": lambda d, who: (
        f"Erasure done: {d.get('threads') or 0} thread{'' if d.get('threads') == 1 else 's'}"
    ),
    "thread.erased": lambda d, who: f"Content of a thread erased{_quoted(d.get('reason'))}",
    "hold.set": lambda d, who: f"{who} set a legal hold{_quoted(d.get('reason'))}",
    "hold.lifted": lambda d, who: f"{who} lifted a legal hold{_quoted(d.get('reason'))}",
    "retention.changed": lambda d, who: (
        f"{who} set retention of {cut(d.get('agent') or 'all agents')} "
        + (f"to {d.get('days')} days" if d.get("active") else "off")
    ),
    "budget.changed": lambda d, who: (
        f"{who} set the monthly budget of {budget_words(d)} to {budget_limit(d)}"
        + (", stopping its threads at 100 %" if d.get("at_full") == "stop" else "")
        + ("" if d.get("active") else ", switched off")
    ),
    "budget.reached": lambda d, who: (
        f"{d.get('band')} % of the budget of {budget_words(d)} for {d.get('month')} is spent"
        + ("; a breaker stopped its threads" if d.get("breaker") else "")
    ),
    "cap.changed": lambda d, who: (
        f"{who} set the spend cap of {d.get('agent') or 'each'} {d.get('scope')} "
        f"({d.get('per')}) to {d.get('max_cost')}" + ("" if d.get("active") else ", switched off")
    ),
}
