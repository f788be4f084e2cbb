"""The one writer of settings: each change of a row and its event on record, in one transaction.

The models say to `checkpoints.log.recorded` which tables are on record, and what of a row is
recorded by its hash. Of two changes made together in a workspace the second sees what the first
wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import models

from checkpoints.errors import NotFound
from checkpoints.log import recorded
from checkpoints.log.recorded import RowChange
from checkpoints.states import WorkspaceEventKind

from .workspaces import lock_workspaces, log_setting


def lock[Row: models.Model](model: type[Row], workspace: UUID, **which: Any) -> Row | None:
    """Lock the row of these values, and the settings of its workspace; None without such a row.

    The workspace comes first: two that each make the first such row follow each other.
    """
    lock_workspaces([workspace])
    return _locked(model).filter(workspace_id=workspace, **which).first()


def lock_one[Row: models.Model](model: type[Row], workspace: UUID, ident: UUID) -> Row:
    """Lock a row by its id, as `lock` does; raises NotFound, also for one of another workspace."""
    row = lock(model, workspace, pk=ident)
    if row is None:
        raise _missing(model)
    return row


def save(
    row: models.Model,
    values: Mapping[str, Any],
    kind: WorkspaceEventKind,
    *,
    actor: str,
    data: Mapping[str, Any],
    also: Mapping[str, Any] | None = None,
    locked: bool = False,
    others: tuple[models.QuerySet[Any], Mapping[str, Any]] | None = None,
) -> bool:
    """Make a row with these values, or give a stored one those that differ; False if none does.

    Only `values` are written, compared with the row as it is under its lock, and beside a change
    what it takes along: `also`, such as who made it and when. `data` is for people and never holds
    a secret. A row that `lock` gave in this transaction is not read again where it is `locked`.
    `others` are rows of another table that a change of a stored row gives other values, by the same
    event, and these values.
    """
    is_new = row._state.adding
    changed = dict(values) if is_new else _differences(row, values, locked)
    if not changed:
        return False
    changed |= also or {}
    for name, value in changed.items():
        setattr(row, name, value)
    row.save(force_insert=is_new, update_fields=None if is_new else list(changed))
    columns = None if is_new else [_column(row, name) for name in changed]
    rows = _rows(row)
    if others and (ids := list(others[0].values_list("pk", flat=True))):
        others[0].update(**others[1])
        rows |= {others[0].model._meta.db_table: ids}
        columns = [*(columns or ()), *(_column(others[0].model, name) for name in others[1])]
    _log(row, RowChange(rows, columns=columns), kind, actor, data)
    return True


def delete(
    row: models.Model,
    kind: WorkspaceEventKind,
    *,
    actor: str,
    data: Mapping[str, Any],
    others: models.QuerySet[Any] | None = None,
) -> None:
    """Delete a row, after `others` of another table; raises NotFound where somebody else did."""
    rows = _rows(row)
    if others is not None:
        rows |= {others.model._meta.db_table: list(others.values_list("pk", flat=True))}
        others.delete()
    ident = row.pk
    counts = row.delete()[1]
    row.pk = ident  # Django takes it away; callers answer what was deleted
    if not counts.get(row._meta.label):
        raise _missing(type(row))
    _log(row, RowChange(rows, columns=()), kind, actor, data)


def _rows(row: models.Model) -> dict[str, list[Any]]:
    return {row._meta.db_table: [row.pk]}


def _differences(row: models.Model, values: Mapping[str, Any], is_locked: bool) -> dict[str, Any]:
    stored = row if is_locked else _locked(type(row)).filter(pk=row.pk).first()
    if stored is None:
        raise _missing(type(row))
    return {name: value for name, value in values.items() if getattr(stored, name) != value}


def _locked[Row: models.Model](model: type[Row]) -> models.QuerySet[Row]:
    # Rows of other tables refer to the key alone and need not wait.
    return model._default_manager.select_for_update(no_key=True)


def _column(row: models.Model | type[models.Model], name: str) -> str:
    field: Any = row._meta.get_field(name)
    return str(field.column)


def _log(row: Any, change: RowChange, kind: WorkspaceEventKind, actor: str, data: Any) -> None:
    log_setting(kind, row.workspace_id, data=data, actor=actor, change=change)


def _missing(model: type[models.Model]) -> NotFound:
    noun = recorded.tables()[model._meta.db_table].noun
    return NotFound(f"There is no such {noun} in this workspace.")
