"""One request with all that a decision needs: what stands, who is needed, what was asked back."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from drf_spectacular.utils import extend_schema
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from approvals import queries as gates
from approvals.gates.prior_effects import PriorRow, prior_effects
from approvals.queries import ApprovalRow
from approvals.rules.votes import Vote as VoteRow
from checkpoints import queries
from dashboard.documents.state_shape import Shape
from dashboard.identity.permissions import Actor
from dashboard.kit.api.base import MemberView, answer, refusals
from dashboard.wording.young_accounts import young_accounts

from . import evidence
from .approvals import NAMES_VERDICTS, Approval
from .receipt_shape import ProposalReceipts
from .receipts import receipts_of
from .repeats import Repeated, repeat_of
from .reviewers import RequestProgress, Stage, progress_of
from .turns import nobody_can

REPLIES = 200


# The verdict as it was recorded, and what only this page finds out: whose account it was.
class Vote(Shape):
    """One reviewer's verdict; `counts` says whether it stands for what stands now."""

    reviewer: str
    reviewer_name: str = Field(description="Of a deputy both names: grace for ada.")
    for_person: str = Field(
        description="The person for whom the reviewer acted as deputy, or empty."
    )
    verdict: str
    proposal_hash: str
    comment: str
    what_next: str
    at: datetime
    counts: bool
    args: Any = Field(description="The arguments of an edit.")
    account: str = Field(
        description="Who created the reviewer's account and when, where that was less than 30 days "
        "before by a participant of this request; else empty."
    )


# A stage of the page has its votes; here their number.
class Seats(Shape):
    """One stage of a request: whose approval it waits for, how many, how many came."""

    who: str
    count: int
    given: int
    now: bool = Field(description="Whether it is this stage that is waited for.")

    @classmethod
    def from_row(cls, stage: Stage) -> Self:
        """A stage as it stands."""
        return cls(who=stage.who, count=stage.count, given=len(stage.votes), now=stage.now)


class Progress(Shape):
    """Approvals that count and approvals needed, by stages in their order."""

    got: int
    needed: int
    stages: list[Seats]


class AskedBack(Shape):
    """A question of a reviewer and the agent's reply; null while it has not answered."""

    reviewer_name: str
    question: str
    at: datetime
    reply: str | None
    replied_at: datetime | None


class Former(Shape):
    """The revision before this one, and why the request came back."""

    id: UUID
    proposal: Any
    status: str
    outcome: str
    why: str


class Parent(Shape):
    """A thread in whose tree the one that asks is."""

    thread: UUID
    agent: str
    title: str


class ApprovalDetail(Approval):
    """A request with all that a decision needs; `decide` is about the very person who asks."""

    revision: int
    proposal: Any = Field(description="Exactly what would be done: the arguments that stand.")
    arguments_schema: Any = Field(
        description="What the arguments of an edit have to be.", json_schema_extra=NAMES_VERDICTS
    )
    rule: str = Field(description="Why a person is asked, in a sentence.")
    terms: Any = Field(description="What is demanded: stages, four eyes, deadlines, undo window.")
    undo_window: int = Field(description="Seconds in which a decision can be undone.")
    progress: Progress
    nobody_can: str = Field(
        description="Why too few people can approve it as rights are now; empty where enough can."
    )
    votes: list[Vote]
    questions: list[AskedBack]
    former: Former | None
    repeats: Repeated | None
    done_before: list[PriorRow] = Field(
        description="Effects of the same node that were done before it asked, at most 50."
    )
    origin: list[Parent] = Field(
        description="On whose behalf a child asks: its parents, from the root down."
    )
    receipts: ProposalReceipts | None = Field(
        description="Where each value of `proposal` comes from; null of a question and of an "
        "operation of a person."
    )

    @classmethod
    def read(cls, row: ApprovalRow, actor: Actor) -> Self:
        """The request as it stands, for one caller."""
        version = queries.agent_version(row.agent_version_id)
        now = progress_of(row, gates.votes(row.id))
        basis = Approval.from_row(row, actor)
        before = _former(row)
        earlier = repeat_of(row, workspace=row.workspace)
        accounts = young_accounts(row, now.votes)
        payload = basis.model_dump(by_alias=True) | {
            "revision": row.revision,
            "proposal": row.shown_args,
            "arguments_schema": evidence.arguments_schema(row, version),
            "rule": now.terms.rule,
            "terms": now.terms.to_json(),
            "undo_window": now.window,
            "progress": Progress(
                got=now.got,
                needed=now.needed,
                stages=[Seats.from_row(stage) for stage in now.stages],
            ),
            "nobody_can": nobody_can(row.progress, row.workspace) if row.open else "",
            "votes": [_vote(vote, accounts) for vote in now.votes],
            "questions": _questions(row, now),
            "former": before,
            "repeats": earlier,
            "done_before": list(prior_effects(row).rows),
            "origin": row.origin or [],
            "receipts": receipts_of(row, queries.thread(row.thread, workspace=row.workspace)),
        }
        return cls(**payload)


def _vote(vote: VoteRow, accounts: Mapping[UUID, str]) -> Vote:
    columns = {name: getattr(vote, name) for name in Vote.model_fields if name != "account"}
    return Vote(account=accounts.get(vote.decision, ""), **columns)


def _questions(row: ApprovalRow, now: RequestProgress) -> list[AskedBack]:
    if row.kind == "question" or not any(v.verdict == "respond" for v in now.votes):
        return []
    log = queries.events(row.thread, kinds=("approval.replied",), limit=REPLIES).rows
    return [
        AskedBack(
            reviewer_name=one.vote.reviewer_name,
            question=one.vote.comment,
            at=one.vote.at,
            reply=one.reply,
            replied_at=one.replied_at,
        )
        for one in evidence.questions(now.votes, evidence.about(row, log))
        if one.vote.at is not None
    ]


def _former(row: ApprovalRow) -> Former | None:
    if not row.revision:
        return None
    before = evidence.former(row, gates.at_step(row.thread, branch=row.branch, step=row.step))
    if before is None:
        return None
    return Former(
        id=before.id,
        proposal=before.shown_args,
        status=before.status,
        outcome=before.outcome,
        why=evidence.reappeared(row, before),
    )


class OneApproval(MemberView):
    """One request."""

    @extend_schema(
        responses={200: ApprovalDetail, **refusals(404)},
        summary="A request with its whole proposal, votes and questions",
    )
    def get(self, request: Request, approval_id: UUID) -> Response:
        """The standing_hash names what a verdict binds to."""
        row = gates.approval(approval_id, workspace=self.actor.workspace)
        return answer(ApprovalDetail.read(row, self.actor))
