"""The only writer of saved views: save, change, remove.

Each verb is one transaction with its event in the workspace's log. An event names only a view that
is shared; of all others the log has hashes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction
from uuid_utils.compat import uuid7

from checkpoints import store
from checkpoints.errors import InvalidValue
from checkpoints.log.recorded import RowChange
from checkpoints.names import check_name
from checkpoints.postgres.named_rows import fetch_named
from checkpoints.queries import InvalidQuery
from checkpoints.state import deltas
from checkpoints.states import WorkspaceEventKind as K
from dashboard.fields.parameters import ADDRESS_MAX

from . import queries
from .queries import ViewRow
from .surfaces import BOARD, SURFACES, Surface

NAME_MAX: Final = 60
OF_PERSON_MAX: Final = 50
SHARED_MAX: Final = 50


@dataclass(frozen=True, slots=True)
class Choice:
    """Values of a view; None leaves one as it is (or usual, of a new one).

    `surface` is for a new one: an address means nothing on another page.
    """

    name: str | None = None
    address: str | None = None
    shared: bool | None = None
    surface: str = BOARD


def save(workspace: UUID, owner: str, choice: Choice, *, actor: str) -> ViewRow:
    """A new view of a person; raises InvalidValue, Invalid, InvalidQuery."""
    if (surface := SURFACES.get(choice.surface)) is None:
        raise InvalidValue("surface", f"must be one of {', '.join(SURFACES)}")
    name = _name(choice.name or "")
    address = _address(surface, choice.address or "", workspace)
    ident, shared = uuid7(), bool(choice.shared)
    with transaction.atomic():
        store.lock_workspaces([workspace])
        _refuse_more(workspace, "owner = %s::varchar", [owner], OF_PERSON_MAX, "a person has")
        if shared:
            _refuse_more_shared(workspace)
        saved = _do(
            "INSERT INTO gp_saved_view (id, workspace_id, owner, name, surface, address, shared) "
            "VALUES (%s::uuid, %s::uuid, %s::varchar, %s::varchar, %s::varchar, %s::text, "
            "%s::boolean) "
            "ON CONFLICT (workspace_id, owner, name) DO NOTHING",
            (ident, workspace, owner, name, surface.name, address, shared),
        )
        if not saved:
            raise _taken()
        row = queries.view(ident, workspace=workspace)
        _log(K.VIEW_SAVED, row, actor, None)
    return row


def change(ident: UUID, choice: Choice, *, workspace: UUID, actor: str) -> ViewRow:
    """Give a view another name or address, share it or not; raises NotFound, InvalidValue."""
    with transaction.atomic():
        store.lock_workspaces([workspace])
        before = queries.view(ident, workspace=workspace)
        surface = SURFACES[before.surface]
        after = replace(
            before,
            name=before.name if choice.name is None else _name(choice.name, before.name),
            address=before.address
            if choice.address is None
            else _address(surface, choice.address, workspace),
            shared=before.shared if choice.shared is None else choice.shared,
        )
        columns = [
            n for n in ("name", "address", "shared") if getattr(before, n) != getattr(after, n)
        ]
        if not columns:
            return before
        if after.shared and not before.shared:
            _refuse_more_shared(workspace)
        changed = _do(
            "UPDATE gp_saved_view v SET name = %s::varchar, address = %s::text, "
            "shared = %s::boolean WHERE v.id = %s::uuid AND NOT EXISTS (SELECT 1 FROM "
            "gp_saved_view o WHERE o.workspace_id = v.workspace_id AND o.owner = v.owner "
            "AND o.name = %s::varchar AND o.id <> v.id)",
            (after.name, after.address, after.shared, ident, after.name),
        )
        if not changed:
            raise _taken()
        shown = after if after.shared else before
        _log(K.VIEW_CHANGED, shown, actor, columns, shared=after.shared)
    return after


def remove(ident: UUID, *, workspace: UUID, actor: str) -> ViewRow:
    """Take a view away; what it was. Raises NotFound."""
    with transaction.atomic():
        store.lock_workspaces([workspace])
        row = queries.view(ident, workspace=workspace)
        _do("DELETE FROM gp_saved_view WHERE id = %s::uuid", (ident,))
        _log(K.VIEW_REMOVED, row, actor, ())
    return row


def _name(text: str, former: str = "") -> str:
    deltas.check(text, "name")
    name = " ".join(text.split())
    if not name:
        raise InvalidValue("name", "is required")
    if len(name) > NAME_MAX:
        raise InvalidValue("name", f"takes at most {NAME_MAX} characters")
    if name != former:
        check_name(name, "name")
    return name


def _address(surface: Surface, text: str, workspace: UUID) -> str:
    deltas.check(text, "address")
    if len(text) > ADDRESS_MAX:
        raise InvalidValue("address", f"takes at most {ADDRESS_MAX:,} characters")
    try:
        return surface.canonical(text, workspace)
    except InvalidQuery as error:
        raise InvalidValue("address", f"“{error.shown}” {error.explanation}") from error


def _taken() -> InvalidValue:
    return InvalidValue("name", "is the name of another of these views")


def _refuse_more_shared(workspace: UUID) -> None:
    _refuse_more(workspace, "shared", [], SHARED_MAX, "a workspace shares")


def _refuse_more(workspace: UUID, of: str, params: list[Any], most: int, who: str) -> None:
    (row,) = fetch_named(
        f"SELECT count(*) AS n FROM gp_saved_view WHERE workspace_id = %s::uuid AND {of}",  # noqa: S608
        (workspace, *params),
    )
    if row.n >= most:
        raise InvalidValue("name", f"is one too many: {who} at most {most} views; remove one first")


def _log(kind: K, row: ViewRow, actor: str, columns: Sequence[str] | None, **payload: Any) -> None:
    data: dict[str, Any] = {"view": str(row.id), "owner": row.owner, "surface": row.surface}
    data |= {"shared": row.shared, **payload}
    if row.shared:
        data["name"] = row.name
    change = RowChange({"gp_saved_view": [row.id]}, columns=columns)
    store.log_setting(kind, row.workspace, data=data, actor=actor, change=change)


def _do(sql: str, params: Sequence[Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return int(cursor.rowcount)
