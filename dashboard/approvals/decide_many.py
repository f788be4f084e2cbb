"""Decide several requests together: what may be, on which hash, and the outcome of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final, Self
from uuid import UUID

from drf_spectacular.utils import extend_schema
from pydantic import ConfigDict, Field, RootModel
from rest_framework.request import Request
from rest_framework.response import Response

from approvals.inbox import rows as inbox_rows
from approvals.inbox.boxes import Person
from approvals.inbox.rows import InboxRow
from approvals.queries import ApprovalRow
from approvals.states import COMMENT_MAX, YES_OR_NO
from dashboard.documents.state_shape import Shape
from dashboard.errors import ActionError, DecidedAlone, Invalid
from dashboard.fields.validation import check_text
from dashboard.identity.permissions import Actor, require
from dashboard.identity.seats import person_of, seated
from dashboard.kit.api.base import MemberView, answer, refusals
from dashboard.kit.shapes.problems import Problem, of_item
from dashboard.kit.shapes.texts import Id

from .approvals import Approval
from .decide import DECIDE, Decide
from .distinct import distinctions
from .turns import own_part

AT_ONCE: Final = 200
TOGETHER: Final = YES_OR_NO  # what can be said to several requests together


class DecideOne(Decide):
    """One verdict of many."""

    id: Id


class DecideMany(RootModel[list[DecideOne]]):
    """Verdicts on several requests, approve or reject, each with the hash that was seen; 1 to 200.

    What is decided on its own page only is refused here, for that item alone.
    """

    model_config = ConfigDict(strict=True)
    root: Annotated[list[DecideOne], Field(min_length=1, max_length=AT_ONCE)]


@dataclass(frozen=True, slots=True)
class VerdictResult:
    """The outcome of one verdict of many: the request afterwards, or the error that refused it."""

    id: UUID
    row: ApprovalRow | None = None
    error: ActionError | None = None


def decide_many(actor: Actor, items: Iterable[DecideOne]) -> list[VerdictResult]:
    """One verdict after the other, each as `decide` does it and in a transaction of its own.

    One result per item. One that is refused stops no other, and what needs a look of its own is
    refused with DecidedAlone. Raises Invalid for more than 200, Forbidden.
    """
    require(actor, "decide")
    verdicts = list(items)
    if len(verdicts) > AT_ONCE:
        raise Invalid("$", f"takes at most {AT_ONCE} verdicts in one call")
    # What the rule looks at is as it was asked for: it does not change while others are decided.
    about = inbox_rows.rows([item.id for item in verdicts], workspace=actor.workspace)
    return [_one(actor, item, about.get(item.id)) for item in verdicts]


def _one(actor: Actor, item: DecideOne, row: InboxRow | None) -> VerdictResult:
    ident = item.id
    if row is not None and (why := row.not_together(item.verdict)):
        return VerdictResult(ident, error=DecidedAlone(why))
    try:
        return VerdictResult(ident, DECIDE.run(actor, item, ident))
    except ActionError as error:
        return VerdictResult(ident, error=error)


class DecidedOne(Shape):
    """The result of one verdict: the request, or the problem that a single call would answer."""

    id: UUID
    status: int = Field(description="The status that a single call would answer.")
    approval: Approval | None
    problem: Problem | None

    @classmethod
    def from_row(cls, one: VerdictResult, actor: Actor, path: str) -> Self:
        """Build one result for the caller; `path` locates its verdict in the request."""
        return cls(
            id=one.id,
            status=200 if one.error is None else one.error.status,
            approval=None if one.row is None else Approval.from_row(one.row, actor),
            problem=None if one.error is None else Problem.model_validate(of_item(one.error, path)),
        )


class Decided(Shape):
    """One result per verdict, in their order."""

    results: list[DecidedOne]

    @classmethod
    def from_row(cls, done: list[VerdictResult], actor: Actor) -> Self:
        """The results for the caller."""
        return cls(
            results=[DecidedOne.from_row(one, actor, f"$[{n}]") for n, one in enumerate(done)]
        )


class DecideApprovals(MemberView):
    """Decide many requests."""

    changes = "decide"
    # Each verdict is a transaction of its own, and a second one is refused anyway.
    keyed = False

    @extend_schema(
        request=DecideMany,
        operation_id="approvals_decide_many",
        responses={200: Decided, **refusals(422)},
        summary="Decide several requests, each by its own hash",
    )
    def post(self, request: Request) -> Response:
        """One result per item, in their order; one that is refused stops no other.

        Together it is approve or reject only. High risk, a question, what several people approve
        in turn, and the verdicts edit and respond take a call of their own: such an item is 409
        `decided-alone`, as on the page, and the others are decided.
        """
        items = self.body(DecideMany).root
        return answer(Decided.from_row(decide_many(self.actor, items), seated(self.actor)))


@dataclass(frozen=True, slots=True)
class Item:
    """One request that was ticked, with the hash that stood in the list then."""

    id: UUID
    seen: str


@dataclass(frozen=True, slots=True)
class ItemResult:
    """An item as its dialog or the results show it; `why` says why it is not (or was not) decided.

    `row` is None where there is no such request in the workspace; `after` is the request as its
    decision left it.
    """

    item: Item
    row: InboxRow | None
    why: str = ""
    line: str = ""  # what tells it apart from the others
    after: ApprovalRow | None = None

    @property
    def good(self) -> bool:
        return not self.why


def read_items(texts: Iterable[str]) -> list[Item]:
    """Items as forms send them, `<id>:<hash>`, each request once; raises Invalid."""
    items: dict[UUID, Item] = {}
    for text in texts:
        ident, _, seen = text.partition(":")
        try:
            item = Item(UUID(ident), seen)
        except ValueError:
            raise Invalid("$.item", "is not a request with its hash") from None
        if len(seen) != 64 or not seen.isalnum():
            raise Invalid("$.item", "is not a request with its hash")
        items.setdefault(item.id, item)
    if len(items) > AT_ONCE:
        raise Invalid("$.item", f"are {len(items):,}; at most {AT_ONCE} are decided together")
    return list(items.values())


def preview(actor: Actor, items: Sequence[Item], verdict: str = "approve") -> list[ItemResult]:
    """List the items for the bulk dialog as they are now; two statements."""
    require(actor, "decide")
    about = inbox_rows.rows([item.id for item in items], workspace=actor.workspace)
    who = person_of(actor)
    lines = distinctions(list(about.values()))
    judged = [_judged(item, about.get(item.id), who, verdict) for item in items]
    return [replace(item, line=lines.get(item.item.id, "")) for item in judged]


def decide_together(
    actor: Actor, items: Sequence[Item], verdict: str, comment: str = ""
) -> list[ItemResult]:
    """Decide what may be decided together, each on its own hash; raises Invalid for all of them."""
    if verdict not in TOGETHER:
        raise Invalid("$.verdict", f"together it is {' or '.join(TOGETHER)} only")
    check_text("$.comment", comment, COMMENT_MAX)
    if verdict == "reject" and not comment.strip():
        raise Invalid("$.comment", "give a reason for the agents and the log")
    judged = preview(actor, items, verdict)
    # What is open goes to the gate all the same: its refusal counts, and it notes a try that four
    # eyes forbid.
    chosen = [item for item in judged if item.row and item.row.open and not item.row.alone]
    done = decide_many(
        actor,
        [
            DecideOne(
                id=item.item.id, verdict=verdict, proposal_hash=item.item.seen, comment=comment
            )
            for item in chosen
        ],
    )
    results = {one.id: one for one in done}
    return [
        _decided(item, results[one]) if (one := item.item.id) in results else item
        for item in judged
    ]


def _decided(item: ItemResult, one: VerdictResult) -> ItemResult:
    return replace(item, why=one.error.detail if one.error else "", after=one.row)


def _closed(row: InboxRow) -> str:
    did = {"approve": "approved it", "edit": "approved it with edits", "reject": "rejected it"}
    if row.outcome:
        return (
            f"{row.decided_by_name or 'Somebody'} has {did.get(row.outcome, 'decided it')} already."
        )
    return "Nobody decided in time." if row.status == "expired" else "It was withdrawn."


def _judged(item: Item, row: InboxRow | None, who: Person, verdict: str) -> ItemResult:
    if row is None:
        return ItemResult(item, None, "There is no such request in this workspace.")
    if not row.open:
        return ItemResult(item, row, _closed(row))
    if row.alone:
        return ItemResult(item, row, row.alone)
    mine = own_part(row.progress, who.id, who.seats, lambda: who.acts_for.mandates, request=row.id)
    # A veto is open to everyone who sits in any stage.
    if why := mine.why or (mine.waits if verdict == "approve" else ""):
        return ItemResult(item, row, why)
    if row.standing_hash != item.seen:
        return ItemResult(item, row, "It changed since your list was made. Open it to see how.")
    return ItemResult(item, row)
