"""Policies: what they say, what they would have matched, and their changes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, Literal, Self
from uuid import UUID

from drf_spectacular.utils import extend_schema
from pydantic import Field, RootModel
from rest_framework.request import Request
from rest_framework.response import Response

from approvals.policies import drafts, facts
from approvals.policies import queries as queries_policies
from approvals.policies.affected_requests import PolicyPreview
from approvals.policies.changes import POLICIES_MAX
from approvals.policies.conditions import LENGTH_MAX, claims, refusal
from approvals.policies.preview import WARNINGS, TriedRow
from approvals.policies.queries import VersionRow
from approvals.policies.surprises import warnings
from approvals.rules.terms import VALID_FOR
from approvals.states import Risk
from checkpoints.states import WorkspaceEventKind
from dashboard.administration.policies import (
    draft_from,
    edit_policy,
    make_policy,
    preview_policy,
    try_policy,
)
from dashboard.documents.answer_json import with_more
from dashboard.documents.state_shape import Shape
from dashboard.errors import Missing
from dashboard.identity.permissions import Actor
from dashboard.kit.action import Action, Preview, Target
from dashboard.kit.api.base import MemberView, answer, refusals
from dashboard.kit.resource import reading
from dashboard.kit.shapes.requests import RequestShape
from dashboard.kit.shapes.texts import NotBlank

# The floor below refuses a name that comes twice.
Names = Annotated[
    list[Annotated[str, NotBlank(drafts.PERSON_MAX)]],
    Field(max_length=drafts.PEOPLE_MAX, json_schema_extra={"uniqueItems": True}),
]


class Seat(RequestShape):
    """The approvers of one stage and how many of them it needs; nobody named: any reviewer."""

    people: Names = Field(default_factory=list, description="User names.")
    teams: Names = Field(default_factory=list)
    count: int = Field(1, ge=1, le=drafts.COUNT_MAX)


class Terms(RequestShape):
    """The terms of a request; times in seconds."""

    stages: list[Seat] = Field(
        default_factory=lambda: [Seat.model_validate({})],
        min_length=1,
        max_length=drafts.STAGES_MAX,
        description="One after another.",
    )
    four_eyes: bool = Field(
        False, description="The person who started, forked or edited the thread may not decide."
    )
    undo_window: float = Field(
        0, ge=0, le=drafts.UNDO_MAX, description="Seconds in which a decision can be undone."
    )
    valid_for: float = Field(
        VALID_FOR, ge=drafts.VALID_MIN, le=drafts.VALID_MAX, description="So long it holds."
    )
    on_expiry: Literal["expire", "reject", "escalate"] = "expire"
    escalate_to: Seat | None = None
    escalate_for: float = Field(0, ge=0, le=drafts.DEADLINE_MAX)
    reminders: list[Annotated[float, Field(ge=1, le=drafts.DEADLINE_MAX)]] = Field(
        default_factory=list,
        max_length=drafts.REMINDERS_MAX,
        description="Counted from the request; each later than the one before.",
    )


class PolicyDraft(RequestShape):
    """The content of a new policy or version."""

    name: Annotated[str, NotBlank(drafts.NAME_MAX)]
    condition: Annotated[str, NotBlank(LENGTH_MAX)] = Field(
        description=f"CEL over what is known ({', '.join(facts.KNOWN)}) and what is only claimed "
        f"({', '.join(facts.CLAIMED)}): `allow` takes known facts only.",
    )
    action: Literal["ask", "allow", "block"] = Field(
        "ask", description="`block` refuses it: nobody is asked, and no `allow` comes before it."
    )
    terms: Terms = Field(default_factory=lambda: Terms.model_validate({}))
    deadline: float | None = Field(
        None, ge=1, le=drafts.DEADLINE_MAX, description="Seconds to decide."
    )
    risk: Literal["", Risk] = ""
    title: str = Field("", max_length=drafts.TITLE_MAX)
    note: str = Field(
        "", max_length=drafts.NOTE_MAX, description="Why; shown to the people who decide."
    )


class PolicyChange(RequestShape):
    """A new version, another position, or on and off; omitted members stay as they are."""

    draft: PolicyDraft | None = None
    number: int | None = Field(
        default=None, description="With `draft`: the version that was looked at."
    )
    waiting: Literal["", "keep", "reopen"] = Field(
        default="", description="With `draft`: what happens to requests under an older version."
    )
    active: bool | None = None
    position: int | None = Field(
        default=None,
        ge=1,
        le=POLICIES_MAX,
        description="From 1; the first that matches decides, after those that block.",
    )


class TryPolicy(RequestShape):
    """A condition that need not be saved."""

    condition: Annotated[str, NotBlank(LENGTH_MAX)]
    action: Literal["ask", "allow", "block"] = "ask"


class PolicyVersion(Shape):
    """One version of a policy, in force from `made_at`."""

    number: int
    condition: str
    action: str
    terms: dict[str, Any]
    deadline: float | None
    risk: str
    title: str
    note: str
    made_by: str
    made_at: datetime
    refused: str = Field(
        description="Why this version's condition is no longer taken, empty where it is: one "
        "that asks or blocks asks about each action, one that allows allows nothing."
    )
    claims: list[str] = Field(
        description="Facts in the condition that the controlled party writes itself. A policy that "
        "allows on one, saved by an older version, asks instead."
    )
    warnings: list[str] = Field(description=WARNINGS)


class Policy(PolicyVersion):
    """A policy in its newest version; `waiting` requests were made under any of them."""

    id: UUID
    name: str
    position: int
    active: bool

    @classmethod
    def of(cls, row: VersionRow, **more: Any) -> Self:
        """The row for the wire."""
        return cls(
            id=row.policy,
            name=row.name,
            position=row.position,
            active=row.active,
            **_version(row),
            **more,
        )


class PolicyDetail(Policy):
    """A policy with all its versions, newest first."""

    waiting: int
    reopened: int = Field(
        description="How many requests are asked again: those withdrawn by this call, and settled "
        "ones whose effect had not started and that need more now."
    )
    versions: list[PolicyVersion]


class PolicyMade(RootModel[PolicyDetail | PolicyPreview]):
    """The policy afterwards; with `?preview=1` how many requests that would touch."""


class PolicyList(Shape):
    """The policies in their order."""

    results: list[Policy]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried(TriedRow):
    """Past actions that a condition would have matched; `looked_at` of `there` were tried.

    All actions after `since` were tried; null: all on record.
    """

    n_matched: int


def tried_of(result: TriedRow) -> Tried:
    """The answer of a tried condition, with its number of matches."""
    return with_more(Tried, result, n_matched=len(result.matched))


def _version(row: VersionRow) -> dict[str, Any]:
    terms = row.terms.to_json()
    for name in ("barred", "rule"):  # found out for each request
        terms.pop(name)
    return {
        "number": row.number,
        "condition": row.condition,
        "action": row.action,
        "terms": terms,
        "deadline": row.deadline,
        "risk": row.risk,
        "title": row.title,
        "note": row.note,
        "made_by": row.made_by,
        "made_at": row.made_at,
        "refused": refusal(row.condition),
        "claims": list(claims(row.condition)),
        "warnings": list(warnings(row.condition)),
    }


def detail_of(row: VersionRow, reopened: int = 0) -> PolicyDetail:
    """A policy with all its versions, for the wire."""
    workspace = row.workspace
    return PolicyDetail.of(
        row,
        waiting=queries_policies.waiting(row.policy, workspace=workspace),
        reopened=reopened,
        versions=[
            PolicyVersion(**_version(one))
            for one in queries_policies.versions(row.policy, workspace=workspace)
        ],
    )


def list_of(rows: Iterable[VersionRow]) -> PolicyList:
    """Policies in their order, for the wire."""
    return PolicyList(results=[Policy.of(row) for row in rows])


def _preview_new(actor: Actor, wanted: PolicyDraft) -> PolicyPreview:
    return preview_policy(actor, draft=draft_from(wanted.model_dump()))


def _make(actor: Actor, wanted: PolicyDraft) -> VersionRow:
    return make_policy(actor, draft_from(wanted.model_dump()))


def _preview(actor: Actor, wanted: PolicyChange, policy_id: UUID) -> PolicyPreview:
    return preview_policy(actor, policy_id, **_changes(wanted))


def _change(actor: Actor, wanted: PolicyChange, policy_id: UUID) -> tuple[VersionRow, int]:
    return edit_policy(actor, policy_id, **_changes(wanted))


def _changes(wanted: PolicyChange) -> dict[str, Any]:
    """The change as `edit_policy` takes it."""
    return {
        "draft": None if wanted.draft is None else draft_from(wanted.draft.model_dump()),
        "seen": wanted.number,
        "waiting": wanted.waiting,
        "active": wanted.active,
        "position": wanted.position,
    }


def _sentence(wanted: PolicyChange, result: tuple[VersionRow, int]) -> str:
    row, reopened = result
    sentences = []
    if wanted.draft is not None:
        sentences.append(f"Version {row.number} holds from now on.")
    if wanted.active is not None:
        sentences.append(f"The policy {row.name} is switched {'on' if wanted.active else 'off'}.")
    if wanted.position is not None:
        sentences.append(f"The policy {row.name} has a new position.")
    if reopened:
        sentences.append(f"Reopened: {reopened}; they are asked again.")
    return " ".join(sentences)


def policy_named(actor: Actor, text: str) -> UUID:
    """The id of a policy by its name or id."""
    rows = queries_policies.policies(actor.workspace)
    for row in rows:
        if text in (row.name, str(row.policy)):
            return row.policy
    try:
        UUID(text)
    except ValueError:
        known = ", ".join(row.name for row in rows) or "none"
        raise Missing(f"No policy is called {text}; there are: {known}.") from None
    raise Missing("There is no such policy in this workspace.")


POLICY: Final = Target(name="policy", find=policy_named, help="its name or id")
MAKE: Final = Action(
    name="policy.make",
    call_id="policies_make",
    right="policy",
    takes=PolicyDraft,
    answers=PolicyDetail,
    status=201,
    preview=Preview(takes=PolicyDraft, answers=PolicyPreview, look=_preview_new),
    perform=_make,
    shape=lambda row, _: detail_of(row),
    events=(WorkspaceEventKind.POLICY_MADE,),
    summary="Make a policy",
    description="Create a policy, switched on and last in the order.",
    help="make a policy from a file",
    done=lambda _, row: f"The policy {row.name} is created and switched on.",
    examples="policy create mails.json",
)
CHANGE: Final = Action(
    name="policy.change",
    call_id="policies_change",
    right="policy",
    target=POLICY,
    takes=PolicyChange,
    answers=PolicyMade,
    refused=(412,),
    preview=Preview(takes=PolicyChange, answers=PolicyMade, look=_preview),
    perform=_change,
    shape=lambda result, _: detail_of(*result),
    events=(WorkspaceEventKind.POLICY_CHANGED, WorkspaceEventKind.POLICY_SWITCHED),
    summary="Change a policy",
    description="409 where requests are touched and `waiting` does not say what happens to "
    "them. What needs more than it was approved under is asked again before it happens.",
    help="make another version of a policy, switch it, or move it",
    done=_sentence,
    examples="policy change Mails --draft mails.json --waiting reopen\n"
    "policy change Mails --switch off",
)
ALL: Final = reading(
    "policies_list",
    PolicyList,
    lambda actor: list_of(queries_policies.policies(actor.workspace)),
    summary="List policies in their order",
    description="Those that are switched off included.",
)
ONE: Final = reading(
    "policies_retrieve",
    PolicyDetail,
    lambda actor, ident: detail_of(queries_policies.policy(ident, workspace=actor.workspace)),
    summary="A policy with all its versions",
    description="Newest version first.",
    refused=(404,),
)


class TryPolicies(MemberView):
    """A condition against the past."""

    changes = "policy"
    keyed = False  # it changes nothing

    @extend_schema(
        operation_id="policies_try",
        request=TryPolicy,
        responses={200: Tried, **refusals(422)},
        summary="What a condition would have matched",
        description="Among the last 500 requests and the last 500 recorded effects that nobody "
        "was asked about. Nothing is saved.",
    )
    def post(self, request: Request) -> Response:
        """Newest first; stops after five seconds."""
        body = self.body(TryPolicy)
        result = try_policy(self.actor, body.condition, body.action)
        return answer(tried_of(result))
