"""How requests are decided and decisions taken back; part of the door `actions`."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from approvals import gates
from approvals.queries import ApprovalRow

from .errors import translated
from .permissions import Actor, require
from .validation import check_text

TEXT_MAX = 5_000


@translated()
def decide(
    actor: Actor,
    approval_id: UUID,
    verdict: str,
    proposal_hash: str,
    comment: str = "",
    args: Any = None,
    what_next: str = "",
) -> ApprovalRow:
    """Record the person's verdict on exactly the proposal they saw."""
    require(actor, "decide")
    check_text("$.verdict", verdict, 40, required=True)
    check_text("$.proposal_hash", proposal_hash, 100, required=True)
    check_text("$.comment", comment, TEXT_MAX)
    return gates.decide(
        approval_id,
        workspace=actor.workspace,
        reviewer=gates.Reviewer(id=actor.id, name=actor.name),
        verdict=verdict,
        proposal_hash=proposal_hash,
        comment=comment,
        args=args,
        what_next=what_next,
    )


@translated()
def take_back(actor: Actor, approval_id: UUID) -> ApprovalRow:
    """Take the person's own decision back while it is held."""
    require(actor, "decide")
    reviewer = gates.Reviewer(id=actor.id, name=actor.name)
    return gates.take_back(approval_id, workspace=actor.workspace, reviewer=reviewer)
