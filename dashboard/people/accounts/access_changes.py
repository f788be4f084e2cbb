"""Changes that give somebody a reviewer's power over decisions: a second admin confirms them.

An action that is `guarded` asks what it would give to whom. Where that is power over decisions, by
page, call or token, it is stored and raises NeedsSecondAdmin; another admin who is signed in
confirms it, and it is carried out as it was asked, in one transaction with that. On the machine
itself, where the person who runs the installation works, it is done immediately and on record as
such. The person concerned gets a mail either way.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, Final, cast
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db import transaction
from django.urls import reverse
from uuid_utils.compat import uuid7

from approvals import outbox
from approvals.notify.texts.kinds import ACCESS
from checkpoints import queries, store
from dashboard.errors import Conflict, Forbidden, NeedsSecondAdmin, translated
from dashboard.identity import access_changes
from dashboard.identity.access_changes import AccessChangeRow
from dashboard.identity.administrator import Administrator, administrator_of
from dashboard.identity.passwords import given_hash
from dashboard.identity.permissions import Actor, require

from .accounts import HashedPassword

# Roles that decide, or that make those who do.
POWER: Final = frozenset({"reviewer", "admin"})
MACHINE: Final = "command:access"  # who confirms on the machine itself, in the log

_ACTIONS: dict[str, Callable[..., Any]] = {}
_allowed: ContextVar[bool] = ContextVar("this change of access may be carried out", default=False)


@dataclass(frozen=True, slots=True)
class Gift:
    """The power that a change would give to whom, in words for people; nothing where it gives none.

    `user_id` is None for an account that is still to be made.
    """

    user_id: int | None
    name: str
    gives: Sequence[str]


def guarded[F: Callable[..., Any]](gift: Callable[..., Gift]) -> Callable[[F], F]:
    """An action of an admin that waits for a second one where `gift` of its arguments says so."""

    def decorate(action: F) -> F:
        signature = inspect.signature(action)
        _ACTIONS[action.__name__] = action

        @wraps(action)
        def guarded(who: Any, /, *args: Any, **more: Any) -> Any:
            if _allowed.get():
                return action(who, *args, **more)
            values = _values(signature, who, args, more)
            with transaction.atomic():
                # What it gives depends on the roles of now, which change under this lock only.
                _lock(values.get("user_id"))
                what = gift(who, **values)
                if not what.gives:
                    return action(who, **values)
            if is_at_machine(_actor(who)):
                return _at_machine(action, who, values, what)
            return _ask(action, who, values, what)

        return cast(F, guarded)

    return decorate


def is_at_machine(actor: Actor) -> bool:
    """Answer True for a command: nobody who is signed in, and no token or hook."""
    return actor.login is None and actor.grant is None


@translated()
def list_access_changes(actor: Actor) -> list[AccessChangeRow]:
    """Those of the workspace that wait, then the newest; for auditors and admins."""
    if actor.roles.isdisjoint(("auditor", "admin")):
        raise Forbidden("Needs the role auditor or admin.")
    require(actor, "read")
    return access_changes.listed(actor.workspace)


@translated()
def confirm_access_change(actor: Actor, change_id: UUID) -> AccessChangeRow:
    """Carry out what another admin asked for, as they asked.

    Raises Forbidden for the one who asked and for the person concerned, Conflict for one that
    ended, and what the action itself refuses now.
    """
    with transaction.atomic():
        row = access_changes.access_change(change_id, workspace=actor.workspace)
        values = access_changes.arguments(row)
        if not is_at_machine(actor):
            _check_other(actor, row)
        who = _asker(row, values.pop("who"))
        made = _carry_out(_ACTIONS[row.action], who, _typed(values))
        row = access_changes.end(row, "confirmed", actor=_decider(actor))
        user_id = row.user_id or int(getattr(made, "pk", 0))
        notify(actor, "confirmed", Gift(user_id, row.name, row.gives))
    return row


@translated()
def refuse_access_change(actor: Actor, change_id: UUID) -> AccessChangeRow:
    """Let it not happen; who asked may take it back so."""
    with transaction.atomic():
        row = access_changes.access_change(change_id, workspace=actor.workspace)
        return access_changes.end(row, "refused", actor=_decider(actor))


def may_confirm(actor: Actor, row: AccessChangeRow) -> bool:
    """Answer True where this person could confirm it now."""
    return (
        row.state == "waiting"
        and "admin" in actor.roles
        and actor.person != _person(row.asked_by)
        and actor.user_id != row.user_id
    )


# --- what a change gives --------------------------------------------------------------------------


def has_power(user_id: int) -> bool:
    """Answer True for a reviewer or an admin of any workspace, and for a superuser."""
    if any(role in POWER for _, _, role in queries.memberships(user_id)):
        return True
    users = get_user_model()._default_manager
    return bool(users.filter(pk=user_id, is_superuser=True).exists())


def of_roles(roles: Iterable[str], had: Iterable[str] = ()) -> list[str]:
    """The roles with power that are new, in words."""
    return [f"the role {role}" for role in sorted((set(roles) - set(had)) & POWER)]


def of_person(who: Any, user_id: int, *gives: str) -> Gift:
    """These of somebody with power over decisions; nothing where they have none, or are oneself."""
    user = get_user_model()._default_manager.filter(pk=user_id).first()
    name = user.get_username() if user else ""
    own = _actor(who).user_id == user_id
    return Gift(user_id, name, [] if own or user is None or not has_power(user_id) else gives)


# --- asked and carried out ------------------------------------------------------------------------


def _ask(action: Callable[..., Any], who: Any, values: dict[str, Any], what: Gift) -> Any:
    """Keep what was asked for where it would be possible now; raises NeedsSecondAdmin."""
    actor = _actor(who)
    workspace = values.get("workspace") or actor.workspace
    stored = {
        "who": {"acts_in": str(actor.workspace), "superuser": getattr(who, "superuser", False)}
    } | _plain(values)
    if stored.get("password") is not None:
        stored["password"] = given_hash(stored["password"])
    error = NeedsSecondAdmin(uuid7(), reverse("access_changes"))
    keep = partial(
        _keep, UUID(error.facts["change"]), workspace, action.__name__, what, stored, actor
    )
    with translated(), transaction.atomic():
        # The locks of the rehearsal end with its rollback; to take these rows again after others
        # began to wait for them would be a deadlock.
        _lock(what.user_id)
        store.lock_places(what.user_id, workspace)
        _rehearse(action, who, values)
        keep()
    # Forms of the records take back what an error leaves behind.
    error.afterwards = keep
    raise error


def _keep(
    ident: UUID, workspace: UUID, action: str, what: Gift, stored: Mapping[str, Any], actor: Actor
) -> None:
    with translated(), transaction.atomic():
        made = access_changes.add(
            ident,
            workspace,
            action=action,
            user_id=what.user_id,
            name=what.name,
            gives=what.gives,
            change=stored,
            asked_by=actor.id,
        )
        if made:
            notify(actor, "asked", what)


def _at_machine(action: Callable[..., Any], who: Any, values: dict[str, Any], what: Gift) -> Any:
    actor = _actor(who)
    with transaction.atomic():
        made = _carry_out(action, who, values)
        user_id = what.user_id or int(getattr(made, "pk", 0))
        workspace = values.get("workspace") or actor.workspace
        with translated():
            access_changes.log_done(
                workspace, user_id=user_id, name=what.name, gives=what.gives, actor=MACHINE
            )
        notify(actor, "changed", Gift(user_id, what.name, what.gives))
    return made


def _carry_out(action: Callable[..., Any], who: Any, values: Mapping[str, Any]) -> Any:
    mark = _allowed.set(True)
    try:
        return action(who, **values)
    finally:
        _allowed.reset(mark)


def _lock(user_id: int | None) -> None:
    if user_id is not None:
        users = get_user_model()._default_manager.select_for_update(no_key=True)
        users.filter(pk=user_id).first()


class _Rehearsed(Exception):
    """Rolls back a rehearsal that succeeded."""


def _rehearse(action: Callable[..., Any], who: Any, values: Mapping[str, Any]) -> None:
    """Do it and roll it back; raises what it would raise now."""
    try:
        with transaction.atomic():
            _carry_out(action, who, values)
            raise _Rehearsed
    except _Rehearsed:
        pass


def _check_other(actor: Actor, row: AccessChangeRow) -> None:
    if actor.person == _person(row.asked_by):
        raise Forbidden("You asked for this yourself: another admin has to confirm it.")
    if actor.user_id == row.user_id:
        raise Forbidden("This is about your own access: another admin has to confirm it.")


def _asker(row: AccessChangeRow, stored: Mapping[str, Any]) -> Any:
    """The admin who asked, with the roles of now, in the workspace where they asked."""
    users = get_user_model()._default_manager
    user: Any = users.filter(pk=int(_person(row.asked_by)[5:]), is_active=True).first()
    if user is None:
        raise Conflict("Who asked for this can no longer sign in: refuse it.")
    user.acts_in = UUID(stored["acts_in"])
    actor = administrator_of(user).actor
    if actor.workspace != user.acts_in or "admin" not in actor.roles:
        raise Conflict("Who asked for this is no longer an admin here: refuse it.")
    who = Administrator(actor, bool(stored["superuser"] and user.is_superuser))
    return who if row.action not in OF_ACTORS else actor


# Actions whose first argument is an Actor.
OF_ACTORS: Final = frozenset({"map_identity"})


def notify(actor: Actor, what: str, gift: Gift) -> None:
    """Put a mail to the person concerned into the outbox."""
    if not gift.user_id:
        return
    data = {
        "to": f"user:{gift.user_id}",
        "what": what,
        "gives": list(gift.gives),
        "by": actor.name,
        "by_command": is_at_machine(actor),
    }
    outbox.add(ACCESS, workspace=actor.workspace, thread=None, data=data)


def _actor(who: Any) -> Actor:
    return who if isinstance(who, Actor) else who.actor


def _person(actor: str) -> str:
    return actor.partition("/")[0]


def _decider(actor: Actor) -> str:
    return MACHINE if is_at_machine(actor) else actor.id


def _values(
    signature: inspect.Signature, who: Any, args: Any, more: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments by name, without the first; lists of them can be read more than once."""
    bound = signature.bind(who, *args, **more)
    values: dict[str, Any] = {}
    for name, value in list(bound.arguments.items())[1:]:
        if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            values |= value
        elif isinstance(value, Iterable) and not isinstance(value, str | Mapping):
            values[name] = list(value)
        else:
            values[name] = value
    return values


def _plain(value: Any) -> Any:
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _typed(values: Mapping[str, Any]) -> dict[str, Any]:
    results = dict(values)
    for name in ("workspace", "hook"):
        if results.get(name) is not None:
            results[name] = UUID(results[name])
    if results.get("password") is not None:
        results["password"] = HashedPassword(results["password"])
    return results
