"""Verdicts of people: one, many at once, and taken back; part of the door `actions`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final
from uuid import UUID

from django.db import connection

from approvals import errors as refusals
from approvals import gates, queries
from approvals.inbox import rows as inbox_rows
from approvals.inbox.rows import InboxRow
from approvals.queries import ApprovalRow
from approvals.states import COMMENT_MAX, WITH_ARGS
from checkpoints import queries as ground
from dashboard.errors import ActionError, DecidedAlone, Invalid, of, translated
from dashboard.fields.credentials import check_credentials, exempt_of
from dashboard.fields.validation import check_text
from dashboard.identity.permissions import Actor, require
from dashboard.identity.seats import seat_of

from . import second_person
from .people import step_up

AT_ONCE: Final = 200
WORD_MAX: Final = 40  # of a verdict and of what follows a rejection
HASH_MAX: Final = 100


@dataclass(frozen=True, slots=True)
class Decided:
    """The outcome of one verdict of many: the request afterwards, or the error that refused it."""

    id: UUID
    row: ApprovalRow | None = None
    error: ActionError | None = None


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
    """Record the person's verdict on exactly the proposal they saw; the request afterwards.

    `args` are the new arguments of the verdict edit, or an answer. `what_next` says how a rejection
    goes on: go_on, stop, roll_back.
    """
    require(actor, "decide")
    check_text("$.verdict", verdict, WORD_MAX, required=True)
    check_text("$.proposal_hash", proposal_hash, HASH_MAX, required=True)
    check_text("$.comment", comment, COMMENT_MAX)
    check_text("$.what_next", what_next, WORD_MAX)
    if args is not None and verdict not in WITH_ARGS:
        raise Invalid("$.args", f"are not taken with the verdict {verdict}")
    if args is not None:
        _check_args(actor, approval_id, args)
    confirmed_at = step_up.confirmed_for(actor, approval_id, verdict)
    who = replace(reviewer_of(actor), confirmed_at=confirmed_at)
    try:
        return gates.decide(
            approval_id,
            workspace=actor.workspace,
            reviewer=who,
            verdict=verdict,
            proposal_hash=proposal_hash,
            comment=comment,
            args=args,
            what_next=what_next,
            # An operation that it settles: none is there without the other.
            then=partial(second_person.carry_out, actor=actor),
        )
    except refusals.FourEyes as error:
        refused = of(error)
        if connection.in_atomic_block:
            # The code that opened that transaction rolls it back now, and the logged try with it.
            row = queries.approval(approval_id, workspace=actor.workspace)
            again = partial(gates.note_refusal, row, reviewer=who, verdict=verdict, error=error)
            refused.afterwards = again
        raise refused from error


def _check_args(actor: Actor, approval_id: UUID, args: Any) -> None:
    """Refuse a credential in new arguments, unless the agent lets it through; raises Invalid."""
    row = queries.approval(approval_id, workspace=actor.workspace)
    agent = ground.agent_version(row.agent_version_id)
    check_credentials("$.args", args, exempt=[f"$.args{p[1:]}" for p in exempt_of(agent, row.tool)])


@translated()
def take_back(actor: Actor, approval_id: UUID) -> ApprovalRow:
    """Undo your own decision before it takes effect; the open request."""
    require(actor, "decide")
    return gates.take_back(approval_id, workspace=actor.workspace, reviewer=reviewer_of(actor))


def decide_many(actor: Actor, items: Iterable[Mapping[str, Any]]) -> list[Decided]:
    """One verdict after the other, each as `decide` does it and in a transaction of its own.

    `items` are {id, verdict, proposal_hash, comment?, args?, what_next?}; one result per item. One
    that is refused stops no other, and what needs a look of its own is refused with DecidedAlone.
    Raises Invalid for more than 200, Forbidden.
    """
    require(actor, "decide")
    request = list(items)
    if len(request) > AT_ONCE:
        raise Invalid("$", f"takes at most {AT_ONCE} verdicts in one call")
    # What the rule looks at is as it was asked for: it does not change while others are decided.
    about = inbox_rows.rows([item["id"] for item in request], workspace=actor.workspace)
    return [_one(actor, item, about.get(item["id"])) for item in request]


def _one(actor: Actor, item: Mapping[str, Any], row: InboxRow | None) -> Decided:
    ident = item["id"]
    if row is not None and (why := row.not_together(item["verdict"])):
        return Decided(ident, error=DecidedAlone(why))
    try:
        return Decided(ident, decide(actor, ident, **{k: v for k, v in item.items() if k != "id"}))
    except ActionError as error:
        return Decided(ident, error=error)


def reviewer_of(actor: Actor) -> gates.Reviewer:
    """The person as requests name them: also their user name, and their groups as teams."""
    user, teams = seat_of(actor)
    return gates.Reviewer(id=actor.id, name=actor.name, user=user, teams=teams)
