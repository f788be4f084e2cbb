"""Changes of users that Django makes by itself, as events: teams, and hashes renewed at sign-in.

Teams are Django's groups and have no page of ours: every change of them, in a shell or by a
command, passes these receivers, which write the event into the transaction of the change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import identify_hasher, make_password
from django.contrib.auth.models import Group
from django.db import transaction
from django.db.models.signals import m2m_changed, post_delete, post_save, pre_delete

from checkpoints import queries, store
from checkpoints.errors import NotFound
from checkpoints.states import WorkspaceEventKind as Kind

from .passwords import BoundedHasher, given_hash, is_given

ACTOR = "command:teams"
_actor: ContextVar[str] = ContextVar("gatepost_teams_changed_by", default=ACTOR)


@contextmanager
def changed_by(actor: str) -> Iterator[None]:
    """Name `actor` in the events of teams that change meanwhile."""
    token = _actor.set(actor)
    try:
        yield
    finally:
        _actor.reset(token)


def renew_password(user: Any, password: str) -> bool:
    """Hash a password that was just right anew if its hash is an old one; whether it was.

    Django would do it without an event, and the new hash would count as altered.
    """
    hasher, former = identify_hasher(user.password), user.password
    if not (isinstance(hasher, BoundedHasher) and hasher.is_outdated(former)):
        return False
    renewed = given_hash(password) if is_given(former) else make_password(password)
    users = get_user_model()._default_manager
    with transaction.atomic():
        if not users.filter(pk=user.pk, password=former).update(password=renewed):
            return False
        _log([user.pk], "password", actor=f"user:{user.pk}")
    user.password = renewed
    return True


def listen() -> None:
    """Connect the receivers."""
    m2m_changed.connect(_members_changed, sender=get_user_model().groups.through)
    post_save.connect(_team_renamed, sender=Group)
    pre_delete.connect(_remember_members, sender=Group)
    post_delete.connect(_team_deleted, sender=Group)


def _members_changed(
    instance: Any, action: str, reverse: bool, pk_set: set[int] | None, **_: Any
) -> None:
    if action == "pre_clear" and reverse:
        _remember_members(instance)
    elif action in ("post_add", "post_remove"):
        _log((pk_set or ()) if reverse else [instance.pk], "teams")
    elif action == "post_clear":
        _log(instance.gatepost_members if reverse else [instance.pk], "teams")


def _remember_members(instance: Any, **_: Any) -> None:
    instance.gatepost_members = list(instance.user_set.values_list("pk", flat=True))


def _team_deleted(instance: Any, **_: Any) -> None:
    _log(instance.gatepost_members, "teams")


def _team_renamed(instance: Any, created: bool, raw: bool, **_: Any) -> None:
    if not (created or raw):
        _log(instance.user_set.values_list("pk", flat=True), "teams")


def _log(users: Iterable[int], column: str, *, actor: str = "") -> None:
    """Record in the logs that these users changed."""
    names = get_user_model()._default_manager.filter(pk__in=list(users))
    with transaction.atomic():
        for user in names.order_by("pk"):
            try:
                workspace = queries.default_workspace()
            except NotFound:
                return  # nobody has a role, and no log could record it
            store.log_user(
                Kind.USER_CHANGED,
                user.pk,
                name=user.get_username(),
                changed={column: None},
                actor=actor or _actor.get(),
                workspace=workspace,
            )
