"""Forecasts of the request that a call would open, read before it is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from approvals.policies.matches import Rule
from approvals.queries import ApprovalRow
from checkpoints.records import Position

from ..authoring.errors import Expired, GateReached, Rejected
from ..authoring.graph import Gate
from ..step.step import OpenStep
from .node_gates import KEY, check_node


@dataclass(frozen=True, slots=True)
class Forecast:
    """The policy or gate that would stop a call; `by` is empty where none would.

    `policy` and `version` (`<uuid>@3`) name the policy; `why` is a sentence. `blocks`: the policy
    would refuse the call, and nobody would be asked.
    """

    by: Literal["", "node policy", "tool policy", "gate", "fork"] = ""
    policy: str = ""
    version: str = ""
    why: str = ""
    risk: str = ""
    blocks: bool = False

    @property
    def asks(self) -> bool:
        """True where people would be asked."""
        return bool(self.by) and not self.blocks


def forecast(
    step: OpenStep, node: str, tool: str, args: Any, gate: Gate | None, *, undo: str = ""
) -> Forecast:
    """Predict what would stop an effect at this node; without a `tool` a call that changes nothing.

    `undo` names what undoes it. Policies are asked as they are now. Reads only: no request is
    opened, nothing is recorded.
    """
    if (held := _before_node(step, node)) is not None or not tool:
        return held or Forecast()
    risk = "" if gate is None else gate.risk
    rule = step.ledger.rule(step.work, tool, args, risk, undo=undo).rule
    if rule is not None and rule.action != "allow":
        return _of(rule, "tool policy", risk)
    if gate is not None and rule is None:
        return Forecast("gate", why="The agent itself asks for it.", risk=gate.risk)
    if gate is None and step.work.effects == "ask":
        return Forecast("fork", why="A fork asks before its effects.", risk="medium")
    return Forecast()


def _before_node(step: OpenStep, node: str) -> Forecast | None:
    try:
        check_node(step, node)
    except GateReached:
        rule = step.ledger.node_rule(step.work, node).rule
        return None if rule is None else _of(rule, "node policy", "")
    except (Rejected, Expired):
        return _refused(step.approval_at(Position(step.work.branch, step.number, node, 0, KEY)))
    return None


def _of(rule: Rule, by: Literal["node policy", "tool policy"], risk: str) -> Forecast:
    blocks = rule.action == "block"
    return Forecast(by, rule.name, rule.version, rule.terms.rule, rule.risk or risk, blocks)


def _refused(row: ApprovalRow | None) -> Forecast:
    if row is None:
        raise AssertionError("refused by nobody")
    why = row.comment or "Nobody decided in time."
    version, blocked = row.policy_version, row.blocked
    return Forecast("node policy", version=version, why=why, risk=row.risk, blocks=blocked)
