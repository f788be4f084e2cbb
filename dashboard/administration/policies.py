"""Rules of a workspace: policies are made, changed and tried against the past.

Admins make the rules and decide nothing under them: the right `policy` is theirs, `decide` is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final
from uuid import UUID

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.db import transaction

from approvals.gates import reopened_requests
from approvals.policies import changes as policies
from approvals.policies import queries as queries_policies
from approvals.policies.affected_requests import PolicyPreview, changed, touched
from approvals.policies.drafts import ACTIONS, Draft, check
from approvals.policies.preview import TriedRow, against_the_past
from approvals.policies.queries import VersionRow
from approvals.rules.terms import Seat, Terms
from checkpoints import queries
from dashboard.errors import Conflict, Invalid, Missing, translated
from dashboard.fields.credentials import check_credentials
from dashboard.identity.permissions import Actor, require

KEEP, REOPEN = "keep", "reopen"
WAITING: Final = (KEEP, REOPEN)
DRAFT: Final = "draft"  # where a change carries what the policy is to say


@translated()
def make_policy(actor: Actor, draft: Draft) -> VersionRow:
    """A new policy, last in the order and switched on."""
    _check_seats(actor, draft)
    check_credentials("$", draft.content())
    return policies.make(actor.workspace, draft, actor=actor.id)


@translated()
def edit_policy(
    actor: Actor,
    policy_id: UUID,
    *,
    draft: Draft | None = None,
    seen: int | None = None,
    waiting: str = "",
    active: bool | None = None,
    position: int | None = None,
) -> tuple[VersionRow, int]:
    """Whatever of these is given; (the policy, how many requests are asked anew).

    A draft becomes a new version; `seen` is the number of the one that the admin looked at.
    `waiting` is the choice for requests whose effect has not started: "keep" lets them be
    decided as they were asked, "reopen" withdraws those under an older version and those that need
    more now, and the engine asks anew. Either way nothing happens on weaker terms than those of
    now. Conflict where some are touched and nothing is said.
    """
    with transaction.atomic():
        _change(actor, policy_id, draft, seen, active, position, waiting)
    policy = queries_policies.policy(policy_id, workspace=actor.workspace)
    if waiting != REOPEN:
        return policy, 0
    # Afterwards, one thread at a time: no change of a policy holds the locks of many threads.
    reason = f"The policy “{policy.name}” was changed; it is asked again."
    return policy, reopened_requests.withdraw_of_policy(
        policy_id, policy.label, reason=reason, workspace=actor.workspace, actor=actor.id
    )


def _change(
    actor: Actor,
    policy_id: UUID,
    draft: Draft | None,
    seen: int | None,
    active: bool | None,
    position: int | None,
    waiting: str,
) -> None:
    """Change what is given, or refuse all of it; a preview does the same and takes it back."""
    if draft is None and active is None and position is None:
        raise Invalid("$", "give a draft, active or position")
    if draft is not None and seen is None:
        raise Invalid("$.number", "name the version that you looked at")
    if draft is None and (waiting or seen is not None):
        raise Invalid("$.draft", "is required with number and waiting")
    scope: Any = {"workspace": actor.workspace, "actor": actor.id}
    if draft is not None and seen is not None:
        with translated(within=DRAFT):  # a change has it as one of its members
            _check_seats(actor, draft, within=DRAFT)
            check_credentials("$", draft.content(), within=DRAFT)
            _check_waiting(actor, policy_id, draft, waiting)
            policies.change(policy_id, draft, seen=seen, **scope)
    if active is not None:
        policies.switch(policy_id, active, **scope)
    if position is not None:
        policies.move(policy_id, position, **scope)


def _check_waiting(actor: Actor, policy_id: UUID, draft: Draft, waiting: str) -> None:
    if waiting:
        return
    check(draft)
    n = _touched(actor, policy_id, draft=draft)
    if n.total:
        raise Conflict(
            f"This change touches {n.open} open, {n.held} held and {n.settled} settled requests: "
            "say whether they keep what they were asked under, or are reopened under the new "
            "version (waiting: keep or reopen). What needs more now is asked again in either case "
            "before it happens.",
            waiting=n.total,
        )


@translated()
def preview_policy(
    actor: Actor,
    policy_id: UUID | None = None,
    *,
    draft: Draft | None = None,
    seen: int | None = None,
    waiting: str = "",
    active: bool | None = None,
    position: int | None = None,
) -> PolicyPreview:
    """Count the requests a change would touch; without an id: of a new policy, last in order.

    What the change would refuse is refused here, but for what it asks about these very requests.
    """
    require(actor, "policy")
    with transaction.atomic():
        if policy_id is not None:
            about = KEEP if draft is not None else waiting
            _change(actor, policy_id, draft, seen, active, position, about)
        elif draft is not None:
            make_policy(actor, draft)
        transaction.set_rollback(True)
    return _touched(actor, policy_id, draft=draft, active=active, position=position)


def _touched(
    actor: Actor,
    policy_id: UUID | None,
    *,
    draft: Draft | None = None,
    active: bool | None = None,
    position: int | None = None,
) -> PolicyPreview:
    rows = queries_policies.policies(actor.workspace)
    known = {row.policy: row for row in rows}
    if policy_id is not None and policy_id not in known:
        raise Missing("There is no such policy in this workspace.")
    older_than = ""
    if policy_id is not None and draft is not None:
        older_than = f"{policy_id}@{known[policy_id].newest + 1}"
    then = changed(rows, policy_id, draft=draft, active=active, position=position)
    return touched(actor.workspace, then, older_than=older_than)


@translated()
def try_policy(actor: Actor, condition: str, action: str = "ask") -> TriedRow:
    """Try a condition on past actions and list its matches; saves nothing."""
    require(actor, "policy")
    if action not in ACTIONS:
        raise Invalid("$.action", f"must be one of {', '.join(ACTIONS)}")
    return against_the_past(actor.workspace, condition, action=action)


@translated()
def draft_from(payload: Mapping[str, Any]) -> Draft:
    """A draft from JSON of the right types; what is not given is as by default."""
    terms = dict(payload.get("terms") or {})
    plain = Terms()
    to = terms.get("escalate_to")
    stages: list[Mapping[str, Any]] = terms.get("stages", [{}])
    return Draft(
        name=str(payload["name"]).strip(),
        condition=payload["condition"],
        action=payload.get("action", "ask"),
        terms=Terms(
            stages=tuple(_seat(seat) for seat in stages),
            four_eyes=bool(terms.get("four_eyes", plain.four_eyes)),
            undo_window=float(terms.get("undo_window", plain.undo_window)),
            valid_for=float(terms.get("valid_for", plain.valid_for)),
            on_expiry=terms.get("on_expiry", plain.on_expiry),
            escalate_to=None if to is None else _seat(to),
            escalate_for=float(terms.get("escalate_for", 0)),
            reminders=tuple(float(after) for after in terms.get("reminders", ())),
        ),
        deadline=None if payload.get("deadline") is None else float(payload["deadline"]),
        risk=payload.get("risk", ""),
        title=payload.get("title", "").strip(),
        note=payload.get("note", "").strip(),
    )


def _seat(payload: Mapping[str, Any]) -> Seat:
    return Seat(
        tuple(payload.get("people") or ()),
        tuple(payload.get("teams") or ()),
        int(payload.get("count", 1)),
    )


def _check_seats(actor: Actor, draft: Draft, *, within: str = "") -> None:
    """Refuse people who cannot decide here and teams that do not exist: nobody would be asked."""
    seats = {f"$.terms.stages[{i}]": seat for i, seat in enumerate(draft.terms.stages)}
    if draft.terms.escalate_to is not None:
        seats["$.terms.escalate_to"] = draft.terms.escalate_to
    people = _reviewers(actor.workspace, {n for seat in seats.values() for n in seat.people})
    teams = set(
        Group.objects.filter(
            name__in={n for seat in seats.values() for n in seat.teams}
        ).values_list("name", flat=True)
    )
    for path, seat in seats.items():
        for i, name in enumerate(seat.people):
            if name not in people:
                message = "is not a reviewer of this workspace"
                raise Invalid(f"{path}.people[{i}]", message, within=within)
        for i, name in enumerate(seat.teams):
            if name not in teams:
                raise Invalid(f"{path}.teams[{i}]", "is the name of no team", within=within)


def _reviewers(workspace: UUID, names: Iterable[str]) -> set[str]:
    users = get_user_model()._default_manager.filter(username__in=set(names), is_active=True)
    return {
        user.get_username()
        for user in users
        if any(w == workspace and role == "reviewer" for w, _, role in queries.memberships(user.pk))
    }
