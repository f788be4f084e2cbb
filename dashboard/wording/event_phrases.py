"""Parts of the sentences that describe events; each from an event's data and who did it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from approvals.notify.texts.incident_letters import HEADS
from approvals.rules.headlines import headline_of
from approvals.states import ROLL_BACK, STOP
from checkpoints.verdicts import MEANING

from .sentences import as_json
from .sentences_of_decisions import VERBS
from .text import cut, number, span

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


_OUTCOMES = {str(verdict): message for verdict, message in MEANING.items()}


def reason(data: Mapping[str, Any]) -> str:
    """Reason, error or text that an event notes, after a colon; empty without one."""
    message = data.get("reason") or data.get("error") or data.get("text") or data.get("message")
    return f": {cut(message)}" if message else ""


def paused(data: Mapping[str, Any], who: str) -> str:
    """Describe a pause: what its worker says of it, else the person with their reason."""
    by_worker = "pause_at" in data and reason(data)
    return f"Paused{reason(data)}" if by_worker else f"Paused by {who}{reason(data)}"


def transition(node: Any, to: Any, because: Any) -> str:
    """Describe a transition and the reason noted for it; a capsule may note anything."""
    names = to if isinstance(to, list) else [to]
    then = " and ".join("the end" if name in ("__end__", None) else str(name) for name in names)
    message = f": {because}" if isinstance(because, str) and because else ""
    return cut(f"{node or 'here'} → {then or 'the end'}{message}")


def in_node(data: Mapping[str, Any]) -> str:
    """The node of an event; empty without one."""
    return f" in {data['node']}" if data.get("node") else ""


def call_name(data: Mapping[str, Any]) -> str:
    """Name of the tool or activity that an event is about, with its sentence if it has one."""
    name = str(data.get("tool") or str(data.get("key", "")).partition(":")[0] or "a call")
    return f"{cut(data['sentence'])} ({name})" if data.get("sentence") else name


def checkpoint(data: Mapping[str, Any], who: str) -> str:
    """Describe a commit: the checkpoint's number, what it follows and what is next."""
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


def message_text(message: Any) -> str:
    """A message as people wrote it: its text where it is one, else JSON."""
    if isinstance(message, dict) and isinstance(message.get("text"), str):
        message = message["text"]
    if isinstance(message, str):
        return f"“{cut(message)}”"
    return cut(as_json(message))


def effect_settled(data: Mapping[str, Any], who: str) -> str:
    """Describe how a person settled an effect with an unknown outcome."""
    outcome = _OUTCOMES.get(str(data.get("verdict")), "?")
    return f"{who} settled {call_name(data)}: {outcome}{reason(data)}"


def lost_steps(data: Mapping[str, Any]) -> str:
    """Which checkpoints the hot store has lost, or may have lost."""
    first, last = data.get("first"), data.get("last")
    if not data.get("at_least"):
        return f"Checkpoints #{first} to #{last} were lost"
    if last is None:
        return f"Checkpoints from #{first} on may be lost; nobody knows how many"
    return f"At least checkpoints #{first} to #{last} were lost, maybe more"


def unknown_effects(data: Mapping[str, Any]) -> str:
    """Effects that had started when the thread was taken away."""
    effects = data.get("unknown") or data.get("effects") or ()
    names = dict.fromkeys(call_name(effect) for effect in effects)
    return f"; {' and '.join(names)} had started, with an unknown outcome" if names else ""


def messages_taken(numbers: Sequence[int]) -> str:
    """Name the messages that a step took into the state."""
    which = ", ".join(f"{n}" for n in numbers[:5]) + (" …" if len(numbers) > 5 else "")
    return f"Took message{'s' if len(numbers) > 1 else ''} {which} into the state"


def next_attempt(data: Mapping[str, Any]) -> str:
    """The number of the next attempt and the time until it; empty if there is none."""
    wait = data.get("retry_in")
    return "" if wait is None else f", attempt {data.get('attempt', 1) + 1} in {span(wait)}"


def rolled_back(d: Mapping[str, Any], who: str) -> str:
    """Describe a rollback: to a checkpoint, or to an end with the effects undone."""
    if d.get("then") == "failed":
        message = "Failed; its effects are undone, most recent first"
    elif d.get("then") == "cancelled":
        message = f"{who} cancels the thread; its effects are undone first, most recent first"
    elif d.get("stay"):
        message = f"{who} had an effect undone"
    else:
        message = f"{who} rolls back to checkpoint {d.get('number', '?')}"
    return message + reason(d) + unknown_effects(d)


def suspended(counts: Any) -> str:
    """Name what a thread waits for; events of former versions do not say it."""
    if not isinstance(counts, Mapping) or not counts:
        return "Waiting"
    n, children = counts.get("requests", 0), counts.get("children", 0)
    needed, signals = counts.get("needed", children), counts.get("signals", 0)
    parts = []
    if n:
        parts.append("people to decide" if n == 1 else f"people to decide {n} requests")
    if children:
        some = f"{number(needed)} of " if needed != children else ""
        parts.append(f"{some}{number(children)} {'child' if children == 1 else 'children'} to end")
    if signals:
        parts.append("a signal" if signals == 1 else f"one of {number(signals)} signals")
    return f"Waiting for {' and for '.join(parts)}"


def exchanged_call(call: Any) -> str:
    """Name the call whose output a counterfactual fork replaced; empty without one."""
    tool = call.get("tool", "a call") if isinstance(call, Mapping) else ""
    return f", with a different output of {tool}" if tool else ""


def budget_limits(words: str, budget: Any) -> str:
    """The budget of a fork behind some words; empty without one."""
    if not isinstance(budget, Mapping):
        return ""
    units = (("cost", "${}"), ("tokens", "{} tokens"), ("steps", "{} steps"))
    limits = [form.format(budget[name]) for name, form in units if name in budget]
    return f"{words} {' and '.join(limits)}" if limits else ""


def access(d: Mapping[str, Any]) -> str:
    """The roles or rights of a person that an event is about."""
    gives = ", ".join(str(one) for one in d.get("gives") or ())
    return cut(f"{gives or 'access'} for {d.get('name', '?')}")


def proposal(data: Mapping[str, Any]) -> str:
    """Headline of a request, or its tool; empty without either."""
    what = headline_of(data) or data.get("tool")
    return f" {cut(what)}" if what else ""


def record(data: Mapping[str, Any]) -> str:
    """Name the thread or workspace whose record an event is about."""
    return f"the record of {data.get('of') or 'thread'} {cut(data.get('id') or '?')[:8]}"


def quoted(text: object) -> str:
    """A text in quotes after a colon; empty without one."""
    return f": “{cut(text)}”" if text else ""


def decided(data: Mapping[str, Any], who: str) -> str:
    """Describe a decision, or the block of a policy."""
    if data.get("blocked"):
        return f"Blocked{proposal(data)}: {cut(data.get('comment') or '?')}"
    verdict = str(data.get("verdict") or data.get("outcome") or "")
    verb = VERBS.get(verdict, "decided")
    if verdict == "approve" and data.get("outcome") == "edit":
        verb = "approved, as edited,"
    return (
        f"{who} {verb}{proposal(data)}{NEXT.get(str(data.get('what_next')), '')}"
        + (", and can still undo it" if data.get("held") else "")
        + quoted(data.get("comment"))
    )


def incident(data: Mapping[str, Any]) -> str:
    """Name an incident by its kind of trouble and its agent."""
    head = HEADS.get(str(data.get("trouble")), "?")
    agent = data.get("agent")
    return f"the incident “{head}”" + (f" of {cut(agent)}" if agent else "")


def incidents(incidents: Any) -> str:
    """Number of the incidents that an event lists."""
    n = len(incidents) if isinstance(incidents, list) else "?"
    return f"{n} incident{'' if n == 1 else 's'}"


def subscription(data: Mapping[str, Any]) -> str:
    """Name a subscription by whose it is and its agent."""
    whose = data.get("team") or data.get("person") or "?"
    agent = data.get("agent")
    return f"the subscription of {cut(whose)}" + (f" to {cut(agent)}" if agent else "")


def view(data: Mapping[str, Any]) -> str:
    """Name a saved view; a private one has no name in the log."""
    name = data.get("name")
    return f"the shared view “{cut(name)}”" if name else "a private view"


def deputy(data: Mapping[str, Any]) -> str:
    """Name of a deputy, with the reason."""
    return f"{cut(data.get('deputy_name'))}{quoted(data.get('reason'))}"


def vote_recorded(data: Mapping[str, Any], who: str) -> str:
    """Describe a vote that did not end its request, and what is missing."""
    verdict, comment = data.get("verdict"), quoted(data.get("comment"))
    if verdict == "respond":
        return f"{who} asked the agent about{proposal(data) or ' its request'}{comment}"
    missing = data.get("missing") or 0
    others = f"; {missing} more {'has' if missing == 1 else 'have'} to agree" if missing else ""
    if verdict == "edit":
        void = data.get("void") or 0
        them = "1 approval so far no longer counts"
        them = f"{void} approvals so far no longer count" if void > 1 else them
        gone = f"; {them}" if void else ""
        return f"{who} edited{proposal(data)}{gone}{others}{comment}"
    return f"{who} approved{proposal(data)}{others}{comment}"


def withdrawn(data: Mapping[str, Any], who: str) -> str:
    """Describe the end of a request that nobody has to decide any longer."""
    why = data.get("reason")
    return "Approval withdrawn" + (f": {cut(why)}" if why else "")


def settled(data: Mapping[str, Any], who: str) -> str:
    """Describe a decision that took effect at the end of its undo window."""
    verdict = VERDICTS.get(str(data.get("outcome")), "Decision")
    by = f" by {cut(data['by_name'])}" if data.get("by_name") else ""
    return f"{verdict}{by} took effect:{proposal(data) or ' ?'}"


def replied(data: Mapping[str, Any], who: str) -> str:
    """Describe an agent's answer to what a reviewer asked."""
    return f"The agent answered{quoted(data.get('text'))}"


def children_started(data: Mapping[str, Any]) -> str:
    """Describe the children that one call started."""
    number, agent = len(data.get("children") or ()), cut(data.get("agent") or "another agent")
    return f"Started {agent}" if number == 1 else f"Started {number} threads of {agent}"


def children_joined(data: Mapping[str, Any]) -> str:
    """Describe the children whose end a parent has seen."""
    children = list(data.get("children") or ())
    ends = Counter(str(child.get("status")) for child in children)
    if len(children) == 1:
        return f"Joined {cut(children[0].get('title') or 'a child')}: {next(iter(ends))}"
    return f"Joined {len(children)} children: " + ", ".join(f"{n} {end}" for end, n in ends.items())


def token(data: Mapping[str, Any]) -> str:
    """Name an API token."""
    return f"the token “{cut(data.get('name', '?'))}”"


def endpoint(data: Mapping[str, Any]) -> str:
    """Name an endpoint of notifications."""
    return f"the endpoint {cut(data.get('name', '?'))}"


def hook(data: Mapping[str, Any]) -> str:
    """Name a hook."""
    return f"the hook {cut(data.get('name', '?'))}"


def identity(data: Mapping[str, Any]) -> str:
    """Name a hook's word for a person."""
    return f"“{cut(data.get('identity', '?'))}” in {hook(data)}"


def mcp_server(data: Mapping[str, Any]) -> str:
    """Name an MCP server of the gateway."""
    return f"the MCP server {cut(data.get('name', '?'))}"


def mcp_tool(data: Mapping[str, Any]) -> str:
    """Name a tool and its MCP server."""
    return f"the tool {cut(data.get('tool', '?'))} of {mcp_server(data)}"
