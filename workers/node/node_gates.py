"""Policies that name a node: the thread stops before it, whatever framework the agent is in."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from approvals.policies.matches import PolicyAnswer
from approvals.rules.verdicts import ALLOWED
from checkpoints.records import Position

from ..authoring.graph import Gate
from ..step.step import OpenStep
from .approval_gates import Act, Gates

# No call of a tool has this key: keys of calls end in their number.
KEY: Final = "before"


class NodeGate(Gates):
    """The request before one node; it binds the state that the node would work on."""

    def _rule(self, act: Act, gate: Gate | None, *, strict: bool) -> PolicyAnswer:
        answer = self._step.ledger.node_rule(self._step.work, self._node)
        allows = answer.rule is not None and answer.rule.action == "allow"
        return replace(answer, rule=None) if allows else answer

    def check(self) -> None:
        """Return where the node may begin; raises GateReached, Rejected, Expired.

        What was decided is compared once more with the rights, policies and state of this moment,
        until the node has begun.
        """
        step = self._step
        work = step.work
        position = Position(work.branch, step.number, self._node, 0, KEY)
        if step.approval_at(position) is None and not step.ledger.asks_before_nodes(work):
            return
        act = Act(
            position,
            "",
            {"node": self._node, "state": step.ledger.state_hash(work)},
            {ALLOWED: ["approve"]},
            sentence=f"Continue with the node {self._node}",
        )
        approval, _ = self._permit(act, None, None)
        if approval is None or self._has_begun():
            return
        answer = self._rule(act, None, strict=False)
        why = step.ledger.doubts(work, approval) or self._stricter(act, None, answer, approval)
        if why:
            self._ask_again(act, None, approval, why, strict=False, answer=answer)

    def _has_begun(self) -> bool:
        return any(position.node == self._node for position in self._step.records)


def check_node(step: OpenStep, node: str) -> None:
    """Return where no policy stops the thread before this node; raises what leaves it."""
    if step.decided or step.ledger.asks_before_nodes(step.work):
        NodeGate(step, node).check()
