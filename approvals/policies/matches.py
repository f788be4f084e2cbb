"""The rules an admin makes: what needs people though its author asked nobody, on what terms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from uuid import UUID

from ..rules.terms import Terms
from . import facts as known_facts
from . import look_alikes
from . import queries as queries_policies
from .conditions import Condition, Subject, Unanswered, condition, names_tool, refusal, subject_of
from .queries import VersionRow


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts that a rule may read; `cost` is the thread's spend so far, a decimal string.

    `undo` is the name of what undoes the call; empty where nothing does.
    `operation` is an operation of a person on a thread, `node` the node that a thread comes to;
    both are empty for an effect of an agent. `elsewhere`: the agent works elsewhere and reports
    what it does, so more of this is what it claims.
    """

    workspace: UUID
    thread: UUID
    agent: str
    tool: str
    args: Any
    risk: str = ""
    cost: str = "0"
    labels: dict[str, Any] = field(default_factory=dict)
    operation: Literal["", "fork", "roll_back", "edit", "retry", "skip", "signal"] = ""
    started_by: str = ""
    node: str = ""
    undo: str = ""
    elsewhere: bool = False

    @property
    def subject(self) -> Subject:
        """The kind of conditions that these facts answer."""
        return "node" if self.node else "operation" if self.operation else "effect"


@dataclass(frozen=True, slots=True)
class Rule:
    """The policies' decision on an action: ask people on these terms, let it happen, refuse it.

    `version` names the policy and its version (`<uuid>@3`); a request's hash binds it.
    `expires_in`: seconds in which people have to decide; None sets no limit.
    """

    action: Literal["ask", "allow", "block"]
    version: str
    name: str
    terms: Terms
    risk: str = ""
    title: str = ""
    expires_in: float | None = None


@dataclass(frozen=True, slots=True)
class PolicyAnswer:
    """The result of asking the policies; `policies` names them (`queries_policies.mark_of`)."""

    rule: Rule | None
    policies: str = ""


def rule_for(facts: Facts) -> Rule | None:
    """The decision of the workspace's active policies (`first_match`); None: no policy matches."""
    return ask(facts).rule


def ask(facts: Facts) -> PolicyAnswer:
    """Find the active policy that decides; also names the policies that were read.

    Read anew each time: a change by an admin counts for the very next action. A condition that
    cannot be evaluated for this action fails closed: a policy that asks matches then, one that
    allows does not, and one that blocks asks.
    """
    active = queries_policies.active(facts.workspace)
    return PolicyAnswer(first_match(active, facts), queries_policies.mark_of(active))


def asks_of_call(facts: Facts, *, declared: bool) -> bool:
    """Say whether the policies hold a call that is recorded as anything but an effect.

    They ask people about it, or block it.

    A policy whose condition reads `tool` is about every call of that tool, whatever its author
    records it as. The other policies are about effects, and about calls of a tool that the agent
    declares (`declared`), which it does not get rid of by another word.
    """
    active = queries_policies.active(facts.workspace)
    about = [version for version in active if declared or names_tool(version.condition)]
    rule = first_match(about, facts)
    return rule is not None and rule.action != "allow"


def first_match(versions: Iterable[VersionRow], facts: Facts) -> Rule | None:
    """The rule of the policy that decides, of these in their order; None without a match.

    One that blocks decides wherever it stands; of the others the first. One that blocks and cannot
    say whether it matches asks people, whatever allows before it. One that would allow on a fact
    that is only claimed asks instead: it was saved by an older version, or the fact is a claim of
    this agent only.
    """
    values, first = values_of(facts), None
    for version in versions:
        blocks = version.action == "block"
        if first is not None and not blocks:
            continue
        matched, problem = matches(version, values, facts.subject)
        if not matched:
            continue
        rule = _rule(version, problem, facts.elsewhere)
        if rule.action == "block":
            return rule
        if first is None or (blocks and first.action == "allow"):
            first = rule
    return first


def matches(version: VersionRow, values: Mapping[str, Any], subject: Subject) -> tuple[bool, str]:
    """(whether a policy's version matches these values, why its condition has no answer).

    One that names `operation` is about what people do to threads, one that names `node` about the
    nodes that threads come to, every other about effects.
    """
    if problem := refusal(version.condition):
        # Saved under an older reader of conditions; an effect must not slip through for that.
        return subject_of(version.condition) == subject and version.action != "allow", problem
    try:
        request = condition(version.condition)
        if request.subject != subject:
            return False, ""
        if request.holds(values):
            return True, ""
        if version.action != "allow":
            return _names_alike(request, values)
        return False, ""
    except Unanswered as error:
        return version.action != "allow", f"its condition has no answer here: {error}"


def _names_alike(request: Condition, values: Mapping[str, Any]) -> tuple[bool, str]:
    """(whether a name only differs in its spelling from one that the condition holds, which)."""
    if problem := look_alikes.twin(values, request.names, request.texts):
        return True, problem
    texts, plain = (*request.texts, *request.words), bool(request.cost.patterns)
    for reading in look_alikes.readings(values, request.names, texts, plain=plain):
        if request.holds(reading):
            return True, "a name is another spelling of one that it names"
    return False, ""


def values_of(facts: Facts) -> dict[str, Any]:
    """The variables of a condition."""
    return {
        "tool": facts.tool,
        "args": facts.args,
        "undo": ("tool" if facts.undo else "none") if facts.subject == "effect" else "",
        "agent": facts.agent,
        "cost": float(facts.cost or "0"),
        "risk": facts.risk,
        "labels": dict(facts.labels),
        "operation": facts.operation,
        "started_by": facts.started_by,
        "node": facts.node,
    }


def _rule(version: VersionRow, problem: str, elsewhere: bool) -> Rule:
    action, message = version.action, f"The policy “{version.name}” asks for it"
    meanwhile = "; so it counts as met"
    if action == "block" and not problem:
        message = f"The policy “{version.name}” blocks it"
    elif action == "block":
        action, meanwhile = "ask", ""
        message = (
            f"The policy “{version.name}” blocks what it matches, and can't say for sure that it "
            "matches this; so it asks"
        )
    elif action == "allow":
        message = f"The policy “{version.name}” allows it"
        names = condition(version.condition).names
        if claimed := known_facts.claimed_of(names, elsewhere=elsewhere):
            action = "ask"
            message = (
                f"The policy “{version.name}” would allow it on {claimed[0]!r}, which is only "
                f"claimed ({known_facts.reason(claimed[0])}); so it asks"
            )
    if version.note:
        message += f": {version.note}"
    if problem:
        message += f" ({problem}{meanwhile})"
    return Rule(
        action=action,
        version=version.label,
        name=version.name,
        terms=replace(
            version.terms, rule=message if message.endswith((".", "!", "?")) else f"{message}."
        ),
        risk=version.risk,
        title=version.title,
        expires_in=version.deadline,
    )
