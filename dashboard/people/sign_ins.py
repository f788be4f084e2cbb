"""End sign-ins: one's own one by one, all others of one's own, and for admins all of a person."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model

from dashboard.errors import Missing
from dashboard.identity.administrator import Administrator
from dashboard.identity.permissions import Actor, require
from dashboard.identity.sign_ins import records
from dashboard.identity.sign_ins.records import SignInRow
from dashboard.people.logins.confirmation import confirm

from .accounts.administration import people_within_reach


def list_sign_ins(actor: Actor) -> list[SignInRow]:
    """One's own sign-ins that still open something, the last seen first."""
    require(actor, "read")
    user = get_user_model()._default_manager.get(pk=actor.user_id)
    return records.live(user, current=_key(actor))


def end_sign_in(actor: Actor, sign_in: UUID) -> None:
    """End one of one's own; raises Missing where none of this id is left."""
    require(actor, "sign_ins")
    if not records.end(actor.user_id, by=actor.id, why="own", only=sign_in):
        raise Missing("This sign-in has already ended.")


def end_other_sign_ins(actor: Actor) -> int:
    """End all of one's own but the one that this comes from; how many ended."""
    require(actor, "sign_ins")
    return records.end(actor.user_id, by=actor.id, why="own", besides=_key(actor))


def confirm_sign_in(actor: Actor, request: Any, password: str) -> Actor:
    """Show by the password that it is oneself, in the login that the request carries; who acts.

    Raises WrongPassword, TooMany, Conflict for somebody without a password.
    """
    require(actor, "confirm")
    return confirm(request, actor, password)


def sign_out_user(who: Administrator, user_id: int) -> int:
    """End all sign-ins of a person within an admin's reach; how many ended. Raises Missing."""
    if not who.superuser:
        require(who.actor, "people")
    if not people_within_reach(who).filter(pk=user_id).exists():
        raise Missing("There is no such user in this workspace.")
    return records.end(user_id, by=who.actor.id, why="admin")


def _key(actor: Actor) -> str:
    return actor.login.key if actor.login else ""
