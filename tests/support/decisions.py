"""Decisions as reviewers make them, for tests that need decided requests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from approvals.queries import ApprovalRow
from dashboard.approvals import decide_many as many
from dashboard.approvals.decide import DECIDE, Decide
from dashboard.approvals.take_back import TAKE_BACK
from dashboard.kit.action import read
from dashboard.kit.shapes.requests import Nothing


def decide(
    actor: Any,
    approval_id: UUID,
    verdict: str,
    proposal_hash: str,
    comment: str = "",
    args: Any = None,
    what_next: str = "",
) -> ApprovalRow:
    """Decide a request; the request afterwards."""
    values = {
        "verdict": verdict,
        "proposal_hash": proposal_hash,
        "comment": comment,
        "args": args,
        "what_next": what_next,
    }
    row: ApprovalRow = DECIDE.run(actor, read(Decide, values), approval_id)
    return row


def decide_many(actor: Any, items: Iterable[Mapping[str, Any]]) -> list[many.VerdictResult]:
    """Decide several requests, each given by the fields of its verdict."""
    return many.decide_many(actor, [many.DecideOne(**item) for item in items])


def take_back(actor: Any, approval_id: UUID) -> ApprovalRow:
    """Take a decision back; the open request."""
    row: ApprovalRow = TAKE_BACK.run(actor, Nothing(), approval_id)
    return row
