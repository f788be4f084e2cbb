"""Inbound hooks: create them, change their secrets, map their names to people.

Every verb is one transaction with an entry in the workspace's log. Secrets are given out once, by
the verb that makes them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models.functions import Now
from pydantic import Field

from checkpoints import queries
from checkpoints.errors import InvalidValue, NotFound
from checkpoints.state import deltas
from checkpoints.states import WorkspaceEventKind as K
from checkpoints.store.installation import recorded_rows

from . import signature as hook_signature
from .models import Hook, HookIdentity
from .stored_secrets import HOOK_SECRETS

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
IDENTITY_MAX = 200
KEEP_SECONDS = 24 * 3600.0
SECRETS_MAX = 5


@dataclass(frozen=True, slots=True)
class HookRow:
    """A hook without its secrets; `secrets` is how many of them hold now."""

    id: UUID
    workspace: Annotated[UUID, Field(exclude=True)]
    name: str
    active: bool
    secrets: int
    made_by: str
    created_at: datetime
    rotated_at: datetime | None
    refused_at: datetime | None
    refused: int


@dataclass(frozen=True, slots=True)
class IdentityRow:
    """One word of a hook for a person, and the user it stands for."""

    id: UUID
    hook: Annotated[UUID, Field(exclude=True)]
    hook_name: str
    identity: str
    user_id: Annotated[int, Field(exclude=True)]
    made_by: str
    created_at: datetime
    confirmed_by: Annotated[
        str,
        Field(
            description="Empty until its person confirms it: until then it decides nothing. "
            "`before`: it was mapped before that was asked."
        ),
    ]


_HOLDS = "(s ->> 'until' IS NULL OR (s ->> 'until')::timestamptz > clock_timestamp())"
_HOOK = (
    "SELECT h.id, h.workspace_id, h.name, h.active, (SELECT count(*) FROM "
    f"jsonb_array_elements(h.secrets) s WHERE {_HOLDS}), h.made_by, h.created_at, h.rotated_at, "
    "h.refused_at, h.refused FROM gp_hook h "
)


def add(workspace: UUID, name: str, *, actor: str, secret: str = "") -> tuple[HookRow, str]:
    """Make a hook; it and its secret, which nobody can show again.

    `secret` is one that the sender has chosen. Raises InvalidValue.
    """
    if not NAME.fullmatch(name):
        raise InvalidValue("$.name", "takes 1 to 40 of a-z, 0-9 and -, and begins with no -")
    secret = _checked(secret) if secret else hook_signature.new_secret()
    with transaction.atomic():
        if recorded_rows.lock(Hook, workspace, name=name):
            raise InvalidValue("$.name", "is the name of another hook")
        row = Hook(workspace_id=workspace, name=name, made_by=actor)
        stored = {"secret": HOOK_SECRETS.encrypt(secret, row.id), "until": None}
        _save(K.HOOK_CREATED, row, {"secrets": [stored]}, row, actor)
        return _shown(row, 1), secret


def rotate(
    ident: UUID,
    *,
    workspace: UUID,
    actor: str,
    keep: float = KEEP_SECONDS,
    secret: str = "",
) -> str:
    """Give a hook another secret, which is returned; former ones hold for `keep` more seconds."""
    secret = _checked(secret) if secret else hook_signature.new_secret()
    with transaction.atomic():
        row = recorded_rows.lock_one(Hook, workspace, ident)
        now = datetime.fromtimestamp(queries.clock(), UTC)
        held = [
            one
            for one in row.secrets
            if not one["until"] or datetime.fromisoformat(one["until"]) > now
        ]
        if len(held) >= SECRETS_MAX and keep > 0:
            raise InvalidValue("$.keep", f"{SECRETS_MAX} secrets hold already; keep none of them")
        until = (now + timedelta(seconds=keep)).isoformat()
        former = [
            one | {"until": min(one["until"] or until, until, key=datetime.fromisoformat)}
            for one in held
            if keep > 0
        ]
        stored = {"secret": HOOK_SECRETS.encrypt(secret, ident), "until": None}
        values = {"secrets": [stored, *former], "rotated_at": now}
        _save(K.HOOK_ROTATED, row, values, row, actor, keep=keep)
    return secret


def set_active(ident: UUID, active: bool, *, workspace: UUID, actor: str) -> HookRow:
    """Accept or refuse the calls of a hook from now on. Twice changes nothing."""
    with transaction.atomic():
        row = recorded_rows.lock_one(Hook, workspace, ident)
        kind = K.HOOK_ENABLED if active else K.HOOK_DISABLED
        _save(kind, row, {"active": active}, row, actor)
        return hook(ident, workspace=workspace)


def map_identity(
    ident: UUID,
    identity: str,
    user: int,
    *,
    workspace: UUID,
    actor: str,
    then: Callable[[str], object] | None = None,
) -> IdentityRow:
    """Say which user a hook's word for a person stands for, in place of a former one.

    `then` is called with the hook's name in the same transaction, unless the word stood for them.
    """
    _check_identity(identity)
    with transaction.atomic():
        row = recorded_rows.lock_one(Hook, workspace, ident)
        word = HookIdentity.objects.filter(hook=row, identity=identity).first()
        former = word.user_id if word else None
        if former != user:
            word = word or HookIdentity(workspace_id=workspace, hook=row, identity=identity)
            values = {"user_id": user, "made_by": actor, "created_at": Now(), "confirmed_by": ""}
            more = {"identity": identity, "user": user, "former": former}
            _save(K.HOOK_MAPPED, word, values, row, actor, **more)
            if then is not None:
                then(row.name)
    return next(one for one in identities(workspace, hook=ident) if one.identity == identity)


def confirm_identity(ident: UUID, *, workspace: UUID, user: int, actor: str) -> IdentityRow:
    """Let a word count, as its person does; raises NotFound. Twice changes nothing."""
    none = NotFound("No word of a hook stands for you under this id.")
    with transaction.atomic():
        word = recorded_rows.lock(HookIdentity, workspace, pk=ident, user_id=user)
        if word is None:
            raise none
        if word.confirmed_by in ("", "before"):
            more = {"identity": word.identity, "user": user}
            _save(K.HOOK_CONFIRMED, word, {"confirmed_by": actor}, word.hook, actor, **more)
        return next(one for one in identities(workspace) if one.id == ident)


def unmap_identity(ident: UUID, identity: str, *, workspace: UUID, actor: str) -> None:
    """A hook's word for a person stands for nobody from now on; raises NotFound."""
    _check_identity(identity)
    with transaction.atomic():
        row = recorded_rows.lock_one(Hook, workspace, ident)
        word = HookIdentity.objects.filter(hook=row, identity=identity).first()
        if word is None:
            raise NotFound("This hook has no such identity.")
        data = {"hook": str(ident), "name": row.name, "identity": identity, "user": word.user_id}
        recorded_rows.delete(word, K.HOOK_UNMAPPED, actor=actor, data=data)


# --- looking --------------------------------------------------------------------------------------


def hook(ident: UUID, *, workspace: UUID) -> HookRow:
    """One hook; raises NotFound for unknown ones and those of other workspaces alike."""
    rows = _rows(_HOOK + "WHERE h.id = %s::uuid AND h.workspace_id = %s::uuid", (ident, workspace))
    if not rows:
        raise NotFound("There is no such hook in this workspace.")
    return HookRow(*rows[0])


def hooks(workspace: UUID) -> list[HookRow]:
    """All hooks of a workspace by name."""
    rows = _rows(_HOOK + "WHERE h.workspace_id = %s::uuid ORDER BY h.name", (workspace,))
    return [HookRow(*row) for row in rows]


def named(name: str, *, workspace: UUID) -> HookRow:
    """The hook of this name; raises NotFound."""
    for row in hooks(workspace):
        if row.name == name:
            return row
    raise NotFound(f"There is no hook named {name} in this workspace.")


def identities(workspace: UUID, *, hook: UUID | None = None) -> list[IdentityRow]:
    """The people to whom names in the workspace's hooks are mapped."""
    rows = _rows(
        "SELECT i.id, i.hook_id, h.name, i.identity, i.user_id, i.made_by, i.created_at, "
        "i.confirmed_by FROM gp_hook_identity i JOIN gp_hook h ON h.id = i.hook_id "
        "WHERE i.workspace_id = %s::uuid AND (%s::uuid IS NULL OR "
        "i.hook_id = %s::uuid) ORDER BY h.name, i.identity",
        (workspace, hook, hook),
    )
    return [IdentityRow(*row) for row in rows]


def unconfirmed() -> int:
    """The number of words, in all workspaces, that count without their person's confirmation."""
    return int(
        _rows("SELECT count(*) FROM gp_hook_identity WHERE confirmed_by = 'before'", ())[0][0]
    )


def user_of(ident: UUID, identity: str) -> int | None:
    """The id of the user whom a hook's word stands for, confirmed or not."""
    mapped = mapped_user(ident, identity)
    return mapped[0] if mapped else None


def mapped_user(ident: UUID, identity: str) -> tuple[int, bool] | None:
    """(the id of the user whom a hook's word stands for, whether the word counts)."""
    rows = _rows(
        "SELECT user_id, confirmed_by <> '' FROM gp_hook_identity WHERE hook_id = %s::uuid AND "
        "identity = %s::varchar",
        (ident, identity),
    )
    return (int(rows[0][0]), bool(rows[0][1])) if rows else None


# --- hands ----------------------------------------------------------------------------------------


def _shown(row: Hook, secrets: int) -> HookRow:
    return HookRow(
        *(row.id, row.workspace_id, row.name, row.active, secrets, row.made_by, row.created_at),
        *(row.rotated_at, row.refused_at, row.refused),
    )


def _checked(secret: str) -> str:
    try:
        hook_signature.key_of(secret)
    except ValueError as error:
        raise InvalidValue("$.secret", str(error)) from None
    return secret


def _check_identity(identity: str) -> None:
    deltas.check(identity, "$.identity")
    if not identity.strip() or len(identity) > IDENTITY_MAX:
        raise InvalidValue("$.identity", f"takes 1 to {IDENTITY_MAX} characters")
    if not identity.isprintable():
        raise InvalidValue("$.identity", "has characters that cannot be seen")


def _save(
    kind: K, row: Hook | HookIdentity, values: Any, of: Hook, actor: str, **more: Any
) -> None:
    data = {"hook": str(of.id), "name": of.name, **more}
    # The hook itself comes from `lock_one`, a word of it does not.
    recorded_rows.save(row, values, kind, actor=actor, data=data, locked=row is of)


def _rows(sql: str, params: Sequence[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return list(cursor.fetchall())
