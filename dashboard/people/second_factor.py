"""A second factor: one's own added, used, removed; for admins removed of a person, and required."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model

from dashboard.errors import Conflict, Forbidden, Invalid, Missing
from dashboard.fields.credentials import check_credentials
from dashboard.fields.validation import check_text
from dashboard.identity.administrator import Administrator
from dashboard.identity.permissions import ROLES, Actor, require
from dashboard.identity.second_factor import codes, records, requirement
from dashboard.identity.second_factor import passkeys as keys
from dashboard.identity.second_factor.codes import CODE_MAX
from dashboard.identity.second_factor.passkeys import PasskeyRow
from dashboard.identity.second_factor.records import FactorRow
from dashboard.people.logins import ceremonies, proposals
from dashboard.people.logins.attempts import use_code, use_passkey
from dashboard.people.logins.confirmation import clock, confirm, confirmed
from dashboard.people.logins.proposals import ProposedFactor

from .accounts import administration
from .accounts.access_changes import Gift, guarded, of_person
from .accounts.administration import people_within_reach

NONE = "There is no second factor."


def second_factor(actor: Actor) -> FactorRow | None:
    """One's own, if there is one."""
    require(actor, "read")
    return records.factor_of(actor.user_id)


@dataclass(frozen=True, slots=True)
class RequiredFactor:
    """Roles that need a second factor, and the names of those who have to set one up yet."""

    roles: tuple[str, ...]
    without: tuple[str, ...]


def required_factor(who: Administrator) -> RequiredFactor:
    """The rule of one's own workspace and who has yet to follow it; for auditors and admins."""
    if not who.may_audit:
        raise Forbidden("Needs the role auditor or admin.")
    needing = requirement.roles_needing(who.actor.workspace)
    without = requirement.people_without(who.actor.workspace)
    return RequiredFactor(tuple(role for role in ROLES if role in needing), tuple(without))


def require_factor(who: Administrator, roles: Iterable[str]) -> RequiredFactor:
    """Let exactly these roles of one's own workspace need a second factor; none switches it off."""
    administration.require_second_factor(who, who.actor.workspace, roles)
    return required_factor(who)


def propose_second_factor(actor: Actor) -> ProposedFactor:
    """A secret for an authenticator app; nothing is stored before a code of it is confirmed."""
    require(actor, "confirm")
    user = _present(actor)
    if not user.has_usable_password():
        raise Conflict("A second factor stands beside a password, and you have none.")
    if records.has_factor(user.pk):
        raise Conflict("There is a second factor already: remove it first.")
    return proposals.propose(user)


def add_second_factor(
    actor: Actor, request: Any, ticket: str, code: str, password: str
) -> list[str]:
    """Add the app that the ticket was proposed to; the recovery codes, which are shown once.

    Raises WrongPassword, TooMany, Conflict, Invalid for a wrong code or an old ticket.
    """
    require(actor, "confirm")
    user = _present(actor)
    proposal = proposals.proposed(user, ticket)
    check_text("$.code", code, CODE_MAX, required=True)
    confirm(request, actor, password)
    period = codes.period_of(proposal.secret, code, time.time())
    if period is None:
        raise Invalid("$.code", "is not the one that the app shows now: look at its clock")
    return records.add(user, proposal.secret, period, actor=actor.id)


def remove_second_factor(actor: Actor, request: Any, code: str) -> None:
    """Remove one's own, with a code that is valid now. Raises WrongCode, TooMany, Missing."""
    require(actor, "confirm")
    user = _present(actor)
    if not records.has_factor(user.pk):
        raise Missing(NONE)
    if names := requirement.required_in(user):
        raise Conflict(
            f"The workspace {names[0]} requires a second factor of you: it can't be removed. "
            "With a new phone, ask an admin to remove it; you then set up the next one."
        )
    use_code(request, user, code)
    records.remove(user, actor=actor.id)


def confirm_by_code(actor: Actor, request: Any, code: str) -> Actor:
    """Show by a code that it is oneself, in the login that the request carries; who acts.

    Raises WrongCode, TooMany, Missing for somebody without a second factor.
    """
    require(actor, "confirm")
    return confirmed(request, actor, checked_code(request, _present(actor), code))


def checked_code(request: Any, user: Any, code: str) -> datetime:
    """Use up a code of a user; the time of the check. Raises as `confirm_by_code` does."""
    if not records.has_factor(user.pk):
        raise Missing(NONE)
    use_code(request, user, code)
    return clock()


def passkeys(actor: Actor) -> list[PasskeyRow]:
    """One's own passkeys, the oldest first."""
    require(actor, "read")
    return keys.passkeys_of(actor.user_id)


def propose_passkey(actor: Actor, request: Any) -> str:
    """Options to create a passkey with, as JSON for the browser.

    Raises Conflict where there are none here, and without an authenticator app.
    """
    require(actor, "confirm")
    user = _present(actor)
    if why := ceremonies.unavailable(request):
        raise Conflict(why)
    if not records.has_factor(user.pk):
        raise Conflict("Add an authenticator app first: its recovery codes are the way back.")
    return ceremonies.begin_adding(request, user)


def add_passkey(actor: Actor, request: Any, name: str, answer: str, password: str) -> PasskeyRow:
    """Add what the browser created. Raises WrongPassword, TooMany, Conflict, Invalid."""
    require(actor, "confirm")
    user = _present(actor)
    check_text("$.name", name, keys.NAME_MAX, required=True)
    check_credentials("$.name", name)
    if why := ceremonies.unavailable(request):
        raise Conflict(why)
    confirm(request, actor, password)
    try:
        credential = ceremonies.created(request, user, answer)
    except ceremonies.Refused as refusal:
        raise Invalid(
            "$.credential", "was not created on this page just now: try again"
        ) from refusal
    return keys.add(user, name.strip(), credential, actor=actor.id)


def remove_passkey(actor: Actor, request: Any, ident: UUID, password: str) -> None:
    """Remove one of one's own. Raises WrongPassword, TooMany, Missing."""
    require(actor, "confirm")
    user = _present(actor)
    none = Missing("You have no such passkey.")
    if all(row.id != ident for row in keys.passkeys_of(user.pk)):
        raise none
    confirm(request, actor, password)
    if not keys.remove(user, ident, actor=actor.id):
        raise none


def confirm_by_passkey(actor: Actor, request: Any, answer: str) -> Actor:
    """Show by a passkey that it is oneself, in the login that the request carries; who acts.

    Raises WrongPasskey, TooMany.
    """
    require(actor, "confirm")
    use_passkey(request, _present(actor), ceremonies.CONFIRM, answer)
    return confirmed(request, actor, clock())


def _gift_of_removal(who: Administrator, user_id: int) -> Gift:
    return of_person(who, user_id, "no second factor")


@guarded(_gift_of_removal)
def remove_factor_of(who: Administrator, user_id: int) -> None:
    """Remove that of a person within an admin's reach, who lost app and codes; passkeys as well.

    Raises Missing, and Conflict for one's own: an open browser or a token must not do without a
    code what needs one. At the machine itself it is possible.
    """
    if not who.superuser:
        require(who.actor, "people")
    present = who.actor.login is not None or who.actor.grant is not None
    if present and user_id == who.actor.user_id:
        raise Conflict("Remove your own with a code: your menu, Sign-ins, Second factor.")
    user = people_within_reach(who).filter(pk=user_id).first()
    if user is None:
        raise Missing("There is no such user in this workspace.")
    if not records.remove(user, actor=who.actor.id):
        raise Missing(f"{user.get_username()} has no second factor.")


def _present(actor: Actor) -> Any:
    """The user of somebody who is signed in; raises Conflict for a token."""
    if actor.login is None:
        raise Conflict("Only somebody who is signed in can do this; no token can.")
    return get_user_model()._default_manager.get(pk=actor.user_id)
