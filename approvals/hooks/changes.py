"""Inbound hooks: create them, change their secrets, map their names to people.

Every verb is one transaction with an entry in the workspace's log. Secrets are given out once, by
the verb that makes them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from uuid_utils.compat import uuid7

from checkpoints import store
from checkpoints.errors import InvalidValue, NotFound
from checkpoints.log.recorded import RowChange
from checkpoints.state import deltas
from checkpoints.states import WorkspaceEventKind as K

from . import signature as hook_signature
from .stored_secrets import HOOK_SECRETS

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
IDENTITY_MAX = 200
KEEP_SECONDS = 24 * 3600.0
SECRETS_MAX = 5


@dataclass(frozen=True, slots=True)
class HookRow:
    """A hook without its secrets; `secrets` is how many of them hold now."""

    id: UUID
    workspace: UUID
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
    hook: UUID
    hook_name: str
    identity: str
    user_id: int
    made_by: str
    created_at: datetime
    confirmed_by: str


_HOLDS = "(s ->> 'until' IS NULL OR (s ->> 'until')::timestamptz > clock_timestamp())"
_HOOK = (
    "SELECT h.id, h.workspace_id, h.name, h.active, (SELECT count(*) FROM "
    f"jsonb_array_elements(h.secrets) s WHERE {_HOLDS}), h.made_by, h.created_at, h.rotated_at, "
    "h.refused_at, h.refused FROM gp_hook h "
)


def create(workspace: UUID, name: str, *, actor: str, secret: str = "") -> tuple[HookRow, str]:
    """Make a hook; it and its secret, which nobody can show again.

    `secret` is one that the sender has chosen. Raises InvalidValue.
    """
    if not NAME.fullmatch(name):
        raise InvalidValue("$.name", "takes 1 to 40 of a-z, 0-9 and -, and begins with no -")
    secret = _checked(secret) if secret else hook_signature.new_secret()
    ident = uuid7()
    with transaction.atomic():
        done = _do(
            "INSERT INTO gp_hook (id, workspace_id, name, secrets, made_by) VALUES (%s::uuid, "
            "%s::uuid, %s::varchar, jsonb_build_array(jsonb_build_object('secret', %s::text, "
            "'until', NULL)), %s::varchar) ON CONFLICT (workspace_id, name) DO NOTHING",
            (ident, workspace, name, HOOK_SECRETS.encrypt(secret, ident), actor),
        )
        if not done:
            raise InvalidValue("$.name", "is the name of another hook")
        _log(K.HOOK_CREATED, workspace, ident, name, actor, RowChange({"gp_hook": [ident]}))
        return hook(ident, workspace=workspace), secret


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
        row = _locked(ident, workspace)
        if row.secrets >= SECRETS_MAX and keep > 0:
            raise InvalidValue("$.keep", f"{SECRETS_MAX} secrets hold already; keep none of them")
        _do(
            "UPDATE gp_hook SET rotated_at = clock_timestamp(), secrets = "
            "jsonb_build_array(jsonb_build_object('secret', %s::text, 'until', NULL)) || coalesce(("
            "SELECT jsonb_agg(s || jsonb_build_object('until', least((s ->> 'until')::timestamptz, "
            "clock_timestamp() + make_interval(secs => %s))) ORDER BY n) FROM "
            "jsonb_array_elements(secrets) WITH ORDINALITY x(s, n) "
            f"WHERE {_HOLDS} AND %s > 0), '[]'::jsonb) WHERE id = %s::uuid",
            (HOOK_SECRETS.encrypt(secret, ident), keep, keep, ident),
        )
        rotated = RowChange({"gp_hook": [ident]}, columns=("secrets", "rotated_at"))
        _log(K.HOOK_ROTATED, workspace, ident, row.name, actor, rotated, keep=keep)
    return secret


def set_active(ident: UUID, active: bool, *, workspace: UUID, actor: str) -> HookRow:
    """Accept or refuse the calls of a hook from now on. Twice changes nothing."""
    with transaction.atomic():
        row = _locked(ident, workspace)
        if row.active is not active:
            _do("UPDATE gp_hook SET active = %s WHERE id = %s::uuid", (active, ident))
            kind = K.HOOK_ENABLED if active else K.HOOK_DISABLED
            switched = RowChange({"gp_hook": [ident]}, columns=("active",))
            _log(kind, workspace, ident, row.name, actor, switched)
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
        row = _locked(ident, workspace)
        former = user_of(ident, identity)
        if former != user:
            _do(
                "INSERT INTO gp_hook_identity (id, workspace_id, hook_id, identity, user_id, "
                "made_by) VALUES (%s::uuid, %s::uuid, %s::uuid, %s::varchar, %s::bigint, "
                "%s::varchar) ON CONFLICT (hook_id, identity) DO UPDATE SET user_id = "
                "excluded.user_id, made_by = excluded.made_by, created_at = clock_timestamp(), "
                "confirmed_by = ''",
                (uuid7(), workspace, ident, identity, user, actor),
            )
            columns = (
                None if former is None else ("user_id", "made_by", "created_at", "confirmed_by")
            )
            mapped = RowChange(_identity_rows(ident, identity), columns=columns)
            payload = {"identity": identity, "user": user, "former": former}
            _log(K.HOOK_MAPPED, workspace, ident, row.name, actor, mapped, **payload)
            if then is not None:
                then(row.name)
    return next(one for one in identities(workspace, hook=ident) if one.identity == identity)


def confirm_identity(ident: UUID, *, workspace: UUID, user: int, actor: str) -> IdentityRow:
    """Let a word count, as its person does; raises NotFound. Twice changes nothing."""
    none = NotFound("No word of a hook stands for you under this id.")
    with transaction.atomic():
        row = next((one for one in identities(workspace) if one.id == ident), None)
        if row is None or row.user_id != user:
            raise none
        _locked(row.hook, workspace)
        done = _do(
            "UPDATE gp_hook_identity SET confirmed_by = %s::varchar WHERE id = %s::uuid AND "
            "user_id = %s::bigint AND confirmed_by IN ('', 'before')",
            (actor, ident, user),
        )
        if done:
            change = RowChange({"gp_hook_identity": [ident]}, columns=("confirmed_by",))
            payload = {"identity": row.identity, "user": user}
            _log(K.HOOK_CONFIRMED, workspace, row.hook, row.hook_name, actor, change, **payload)
        row = next((one for one in identities(workspace) if one.id == ident), None)
        if row is None or row.user_id != user:
            raise none
    return row


def unmap_identity(ident: UUID, identity: str, *, workspace: UUID, actor: str) -> None:
    """A hook's word for a person stands for nobody from now on; raises NotFound."""
    _check_identity(identity)
    with transaction.atomic():
        row = _locked(ident, workspace)
        user = user_of(ident, identity)
        if user is None:
            raise NotFound("This hook has no such identity.")
        unmapped = RowChange(_identity_rows(ident, identity), columns=())
        _do(
            "DELETE FROM gp_hook_identity WHERE hook_id = %s::uuid AND identity = %s::varchar",
            (ident, identity),
        )
        payload = {"identity": identity, "user": user}
        _log(K.HOOK_UNMAPPED, workspace, ident, row.name, actor, unmapped, **payload)


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


def _locked(ident: UUID, workspace: UUID) -> HookRow:
    _rows(
        "SELECT 1 FROM gp_hook WHERE id = %s::uuid AND workspace_id = %s::uuid FOR NO KEY UPDATE",
        (ident, workspace),
    )
    return hook(ident, workspace=workspace)


def _identity_rows(ident: UUID, identity: str) -> dict[str, list[UUID]]:
    rows = _rows(
        "SELECT id FROM gp_hook_identity WHERE hook_id = %s::uuid AND identity = %s::varchar",
        (ident, identity),
    )
    return {"gp_hook_identity": [row[0] for row in rows]}


def _log(
    kind: K,
    workspace: UUID,
    ident: UUID,
    name: str,
    actor: str,
    change: RowChange,
    **payload: Any,
) -> None:
    data = {"hook": str(ident), "name": name, **payload}
    store.log_setting(kind, workspace, data=data, actor=actor, change=change)


def _rows(sql: str, params: Sequence[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return list(cursor.fetchall())


def _do(sql: str, params: Sequence[Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return int(cursor.rowcount)
