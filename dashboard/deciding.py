"""How requests are decided and decisions taken back; part of the door `actions`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from approvals import gates
from approvals.queries import ApprovalRow

from .errors import ActionError, translated
from .permissions import Actor, require
from .seats import person_of
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
        reviewer=_reviewer(actor),
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
    return gates.take_back(approval_id, workspace=actor.workspace, reviewer=_reviewer(actor))


def _reviewer(actor: Actor) -> gates.Reviewer:
    who = person_of(actor)
    return gates.Reviewer(actor.id, actor.name, who.user, who.teams)


@dataclass(frozen=True, slots=True)
class Decided:
    """What became of one item: the request as it stands, or why it was refused."""

    id: UUID
    row: ApprovalRow | None = None
    error: ActionError | None = None


def decide_many(actor: Actor, items: Iterable[Mapping[str, Any]]) -> list[Decided]:
    """One result per item, in their order; one that is refused never stops the others."""
    results = []
    for item in items:
        given = {name: item[name] for name in ("comment", "args") if name in item}
        try:
            row = decide(actor, item["id"], item["verdict"], item["proposal_hash"], **given)
            results.append(Decided(item["id"], row=row))
        except ActionError as error:
            results.append(Decided(item["id"], error=error))
    return results
