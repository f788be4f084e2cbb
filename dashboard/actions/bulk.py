"""Deciding several requests together: what may be, on which hash, and what came of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from approvals.inbox import rows as inbox_rows
from approvals.inbox.boxes import Person
from approvals.inbox.rows import InboxRow
from approvals.queries import ApprovalRow
from approvals.states import COMMENT_MAX, YES_OR_NO
from dashboard.errors import Invalid
from dashboard.fields.validation import check_text
from dashboard.identity.permissions import Actor, require
from dashboard.identity.seats import person_of
from dashboard.wording.distinct import distinctions
from dashboard.wording.turns import own_part

from .decisions import AT_ONCE, Decided, decide_many

TOGETHER: Final = YES_OR_NO  # what can be said to several requests at once


@dataclass(frozen=True, slots=True)
class Item:
    """One request that was ticked, with the hash that stood in the list then."""

    id: UUID
    seen: str


@dataclass(frozen=True, slots=True)
class ItemResult:
    """An item as its sheet or the results show it; `why` says why it is not (or was not) decided.

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


def read_items(messages: Iterable[str]) -> list[Item]:
    """Items as forms send them, `<id>:<hash>`, each request once; raises Invalid."""
    items: dict[UUID, Item] = {}
    for text in messages:
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
    """List the items for the bulk sheet as they are now; two statements."""
    require(actor, "decide")
    about = inbox_rows.rows([item.id for item in items], workspace=actor.workspace)
    who = person_of(actor)
    lines = distinctions(list(about.values()))
    judged = [_judged(item, about.get(item.id), who, verdict) for item in items]
    return [replace(item, line=lines.get(item.item.id, "")) for item in judged]


def decide_together(
    actor: Actor, items: Sequence[Item], verdict: str, comment: str = ""
) -> list[ItemResult]:
    """Decide what may be decided together, each on its own hash; raises Invalid for all at once."""
    if verdict not in TOGETHER:
        raise Invalid("$.verdict", f"together it is {' or '.join(TOGETHER)} only")
    check_text("$.comment", comment, COMMENT_MAX)
    if verdict == "reject" and not comment.strip():
        raise Invalid("$.comment", "give a reason for the agents and the log")
    judged = preview(actor, items, verdict)
    # What is open goes to the gate all the same: its refusal counts, and it notes a try that four
    # eyes forbid.
    requests = [item for item in judged if item.row and item.row.open and not item.row.alone]
    done = decide_many(
        actor,
        [
            {
                "id": item.item.id,
                "verdict": verdict,
                "proposal_hash": item.item.seen,
                "comment": comment,
            }
            for item in requests
        ],
    )
    came = {one.id: one for one in done}
    return [_came(item, came[item.item.id]) if item.item.id in came else item for item in judged]


def _came(payload: ItemResult, one: Decided) -> ItemResult:
    why = one.error.detail if one.error else ""
    return replace(payload, why=why, after=one.row)


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
