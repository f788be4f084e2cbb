"""Workspaces, who belongs to them and in which role; every change is an event of the workspace.

Each verb locks the workspace's row first, looks, changes, and appends its events: all in one
transaction, so roles and log cannot differ and two verbs on one workspace follow each other. Users
themselves are Django's, settings those of upper floors: `log_user` and `log_setting` are called in
the transaction that changes one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db import IntegrityError, connection, transaction
from uuid_utils.compat import uuid7

from checkpoints.errors import InvalidValue, NotAllowedNow, NotFound
from checkpoints.log import recorded
from checkpoints.log.recorded import RowChange
from checkpoints.state import deltas
from checkpoints.states import ROLES
from checkpoints.states import WorkspaceEventKind as K

from ..statement.moves import NewEvent, encode_event
from ..statement.text import batched, event_insert, linked

NAME_MAX = 100


def create_workspace(name: str, *, actor: str) -> UUID:
    """Make a workspace; InvalidValue for a name that is empty, too long or taken."""
    made = _insert(_clean(name), actor)
    if made is None:
        raise InvalidValue("name", "is the name of another workspace")
    return made


def create_play_workspace(workspace: UUID) -> None:
    """Make a workspace without a log of its own, for a play; nothing where it is there."""
    _do(
        "INSERT INTO gp_workspace (id, name) VALUES (%s::uuid, %s::varchar) ON CONFLICT DO NOTHING",
        (workspace, str(workspace)),
    )


def ensure_workspace(name: str, *, actor: str) -> UUID:
    """The workspace of that name, made if there is none."""
    name = _clean(name)
    look = "SELECT id FROM gp_workspace WHERE name = %s::varchar"
    rows = _rows(look, (name,))
    if not rows and (made := _insert(name, actor)) is not None:
        return made
    there: UUID = (rows or _rows(look, (name,)))[0][0]
    return there


def rename_workspace(workspace: UUID, name: str, *, actor: str) -> bool:
    """Give a workspace another name; False when that is its name already."""
    name = _clean(name)
    with transaction.atomic():
        former = lock_workspaces([workspace])[workspace]
        if former == name:
            return False
        try:
            with transaction.atomic():
                _do(
                    "UPDATE gp_workspace SET name = %s::varchar WHERE id = %s::uuid",
                    (name, workspace),
                )
        except IntegrityError as error:
            raise InvalidValue("name", "is the name of another workspace") from error
        event = NewEvent(K.WORKSPACE_RENAMED, {"from": former, "to": name}, actor)
        append(workspace, [event], RowChange({"gp_workspace": [workspace]}, columns=("name",)))
    return True


def require_second_factor(workspace: UUID, roles: Collection[str], *, actor: str) -> bool:
    """Let exactly these roles need a second factor; False when they do already."""
    for role in roles:
        _check_role(role)
    wanted = [role for role in ROLES if role in roles]
    with transaction.atomic():
        lock_workspaces([workspace])
        look = "SELECT second_factor_roles::text FROM gp_workspace WHERE id = %s::uuid"
        former = deltas.decode(_rows(look, (workspace,))[0][0])
        if former == wanted:
            return False
        _do(
            "UPDATE gp_workspace SET second_factor_roles = %s::jsonb WHERE id = %s::uuid",
            (deltas.canonical(wanted).decode(), workspace),
        )
        event = NewEvent(K.FACTOR_REQUIRED, {"from": former, "to": wanted}, actor)
        change = RowChange({"gp_workspace": [workspace]}, columns=("second_factor_roles",))
        append(workspace, [event], change)
    return True


def grant(workspace: UUID, user: int, role: str, *, actor: str) -> bool:
    """Give a user a role; False when they have it, also for the second of two concurrent grants."""
    _check_role(role)
    with transaction.atomic():
        lock_workspaces([workspace])
        who = {"user": user, "name": _name(user)}
        had = _roles(workspace, user)
        if role in had:
            return False
        _do(
            "INSERT INTO gp_membership (workspace_id, user_id, role) "
            "VALUES (%s::uuid, %s::integer, %s::varchar)",
            (workspace, user, role),
        )
        events = [] if had else [NewEvent(K.MEMBER_ADDED, who, actor)]
        # Who they are is recorded with their first role here.
        as_they_stand = RowChange({_users(): [user]}, columns=())
        granted = NewEvent(K.ROLE_GRANTED, {**who, "role": role}, actor)
        append(workspace, [*events, granted], as_they_stand)
    return True


def withdraw(workspace: UUID, user: int, role: str, *, actor: str) -> bool:
    """Take a role from a user; False when they do not have it.

    NotAllowedNow for one's own admin role and for the last admin's: somebody must be left who can
    give it back.
    """
    _check_role(role)
    with transaction.atomic():
        lock_workspaces([workspace])
        who = {"user": user, "name": _name(user)}
        had = _roles(workspace, user)
        if role not in had:
            return False
        if role == "admin":
            _refuse_own(user, actor, "withdraw your own admin role")
            _refuse_last_admin([workspace], user)
        _do(
            "DELETE FROM gp_membership WHERE workspace_id = %s::uuid AND user_id = %s::integer "
            "AND role = %s::varchar",
            (workspace, user, role),
        )
        events = [NewEvent(K.ROLE_WITHDRAWN, {**who, "role": role}, actor)]
        if had == {role}:
            events.append(NewEvent(K.MEMBER_REMOVED, who, actor))
        append(workspace, events)
    return True


def log_refused_role(workspace: UUID, user: int, role: str, *, actor: str) -> None:
    """Log that somebody tried to give a role that they may not give."""
    data = {"user": user, "name": _name(user), "role": role}
    append(workspace, [NewEvent(K.ROLE_REFUSED, data, actor)])


def log_user(
    kind: K, user: int, *, name: str, changed: Mapping[str, Any], actor: str, workspace: UUID
) -> None:
    """Log a change of a user in each workspace they belong to, else in `workspace`.

    `changed` is {field: [old, new]}, or {field: null} where the values are nobody's business: a
    password or its hash never comes here. To be called after the change, in its transaction, since
    the row is recorded as it stands; NotAllowedNow when one's own or a workspace's last admin would
    be disabled.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("log_user belongs into the transaction that changes the user")
    locked = lock_workspaces(_places_of(user) or [workspace])
    if kind == K.USER_DISABLED:
        _refuse_own(user, actor, "disable your own login")
        admin_of = [ident for ident in locked if "admin" in _roles(ident, user)]
        _refuse_last_admin(admin_of, user)
    event = NewEvent(kind, {"user": user, "name": name, "changed": dict(changed)}, actor)
    columns = None if kind == K.USER_CREATED else tuple(changed)
    for ident in locked:
        append(ident, [event], RowChange({_users(): [user]}, columns=columns))


def log_login(
    kind: K, user: int, *, data: Mapping[str, Any], actor: str, otherwise: UUID | None
) -> None:
    """Log that a user signed in, failed to, or was signed out, in each workspace they belong to.

    A member of none is logged in `otherwise`; None: nowhere. `data` holds nothing about a person
    that would have to be erased one day: no address, no name that was typed.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("log_login belongs into the transaction that changes the sign-in")
    rows = _rows(
        "SELECT DISTINCT workspace_id FROM gp_membership WHERE user_id = %s::integer", (user,)
    )
    places = [row[0] for row in rows] or ([] if otherwise is None else [otherwise])
    event = NewEvent(kind, {"user": user, "name": _name(user), **data}, actor)
    for ident in lock_workspaces(places):
        append(ident, [event])


def log_setting(
    kind: K,
    workspace: UUID,
    *,
    data: Mapping[str, Any],
    actor: str,
    change: RowChange | None,
) -> None:
    """Log a change of something that steers: a policy, cap, token, endpoint or hook.

    To be called after the change, in its transaction: the rows are recorded as they stand now.
    `data` is for people and never holds a secret.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("log_setting belongs into the transaction that changes the row")
    append(workspace, [NewEvent(kind, data, actor)], change)


def log_export(
    workspace: UUID, *, data: Mapping[str, Any], actor: str, kind: K = K.CAPSULE_EXPORTED
) -> None:
    """Log that somebody took a capsule, events, or the value of an encrypted channel away."""
    append(workspace, [NewEvent(kind, data, actor)])


def log_record(workspace: UUID, event: NewEvent) -> None:
    """Log that a record was found damaged or restored, in the transaction that notes it."""
    if not connection.in_atomic_block:
        raise RuntimeError("log_record belongs into the transaction that notes the damage")
    append(workspace, [event])


def _insert(name: str, actor: str) -> UUID | None:
    made: UUID = uuid7()
    with transaction.atomic():
        done = _do(
            "INSERT INTO gp_workspace (id, name) VALUES (%s::uuid, %s::varchar) "
            "ON CONFLICT (name) DO NOTHING",
            (made, name),
        )
        if not done:
            return None
        # Of a workspace whose log is as old as itself everything is on record from its creation.
        data = {"name": name, "tables": sorted(recorded.tables())}
        append(
            made, [NewEvent(K.WORKSPACE_CREATED, data, actor)], RowChange({"gp_workspace": [made]})
        )
    return made


def _users() -> str:
    return str(get_user_model()._meta.db_table)


def _places_of(user: int) -> list[UUID]:
    """The workspaces whose logs must name a user's changes: theirs, and those that named some."""
    rows = _rows(
        "SELECT DISTINCT workspace_id FROM gp_membership WHERE user_id = %s::integer UNION "
        "SELECT DISTINCT workspace_id FROM gp_workspace_event "
        "WHERE data -> 'rows' -> %s::text -> %s::text IS NOT NULL",
        (user, _users(), str(user)),
    )
    return [row[0] for row in rows]


def lock_workspaces(workspaces: Iterable[UUID]) -> dict[UUID, str]:
    """Lock these rows, always in the same order; {workspace: name}. Raises NotFound."""
    wanted = list(workspaces)
    # Starting a thread only refers to the key of this row and must not wait.
    rows = _rows(
        "SELECT id, name FROM gp_workspace WHERE id = ANY(%s::uuid[]) ORDER BY id "
        "FOR NO KEY UPDATE",
        (wanted,),
    )
    if len(rows) < len(wanted):
        raise NotFound("There is no such workspace.")
    return {row[0]: row[1] for row in rows}


def lock_places(user: int | None, workspace: UUID) -> None:
    """Lock this workspace and where changes of the user are logged; None: one still to be made."""
    lock_workspaces({workspace, *([] if user is None else _places_of(user))})


def append(workspace: UUID, events: Sequence[NewEvent], change: RowChange | None = None) -> None:
    """Chain events to the workspace's log, in the transaction of the caller.

    The last one records the rows of `change` as they stand now.
    """
    if change is not None:
        last = events[-1]
        events = [*events[:-1], replace(last, data={**last.data, **change.as_data()})]
    for part in batched(events):
        _append_part(workspace, part)


def _append_part(workspace: UUID, events: Sequence[NewEvent]) -> None:
    versions = tuple(event.v for event in events)
    params: dict[str, Any] = {"w": workspace}
    for i, event in enumerate(events, 1):
        raw, salt, digest = encode_event(event)
        params |= {f"k{i}": str(event.kind), f"a{i}": event.actor, f"j{i}": raw}
        params |= {f"s{i}": salt, f"d{i}": digest}
    done = _do(
        f"WITH t AS (UPDATE gp_workspace AS th SET (last_at, prev_hash, last_hash) = "
        f"({linked(versions)}), last_seq = th.last_seq + {len(events)} WHERE th.id = %(w)s::uuid "
        f"RETURNING th.id, th.last_at, th.last_seq, th.prev_hash, th.last_hash), "
        f"{event_insert(versions, of_workspace=True)} SELECT last_seq FROM t",
        params,
    )
    if not done:
        raise NotFound("There is no such workspace.")


def _roles(workspace: UUID, user: int) -> set[str]:
    rows = _rows(
        "SELECT role FROM gp_membership WHERE workspace_id = %s::uuid AND user_id = %s::integer",
        (workspace, user),
    )
    return {row[0] for row in rows}


def _name(user: int) -> str:
    manager = get_user_model()._default_manager
    row = manager.filter(pk=user).first()
    if row is None:
        raise NotFound("There is no such user.")
    return row.get_username()


def _refuse_own(user: int, actor: str, what: str) -> None:
    # Also through a token of theirs: `user:7/token:...`.
    if actor.partition("/")[0] == f"user:{user}":
        raise NotAllowedNow(f"You cannot {what}; ask another admin.")


def _refuse_last_admin(workspaces: Sequence[UUID], user: int) -> None:
    users = connection.ops.quote_name(get_user_model()._meta.db_table)
    left = _rows(
        f"SELECT DISTINCT m.workspace_id FROM gp_membership m JOIN {users} u ON u.id = m.user_id "
        "WHERE m.workspace_id = ANY(%s::uuid[]) AND m.role = 'admin' AND u.is_active "
        "AND m.user_id <> %s::integer",
        (list(workspaces), user),
    )
    if len(left) < len(workspaces):
        raise NotAllowedNow(
            "This is the last admin of the workspace; give somebody else the role first."
        )


def _check_role(role: str) -> None:
    if role not in ROLES:
        raise InvalidValue("role", f"is not one of {', '.join(ROLES)}")


def _clean(name: str) -> str:
    deltas.check(name, "name")
    clean = " ".join(name.split())
    if not clean:
        raise InvalidValue("name", "is empty")
    if len(clean) > NAME_MAX:
        raise InvalidValue("name", f"is longer than {NAME_MAX} characters")
    return clean


def _rows(sql: str, params: Sequence[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return list(cursor.fetchall())


def _do(sql: str, params: Sequence[Any] | Mapping[str, Any]) -> int:
    """Perform a statement; how many rows it changed or answered."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return int(cursor.rowcount)
