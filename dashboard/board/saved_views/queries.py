"""The only reader of saved views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from checkpoints.errors import NotFound
from checkpoints.postgres.named_rows import fetch_named

_VIEW: Final = (
    "SELECT v.id, v.workspace_id AS workspace, v.owner, v.name, v.surface, v.address, v.shared, "
    "v.created_at FROM gp_saved_view v "
)


@dataclass(frozen=True, slots=True)
class ViewRow:
    """A page under a name; `owner` is a person such as `user:7`, `surface` one of SURFACES."""

    id: UUID
    workspace: UUID
    owner: str
    name: str
    surface: str
    address: str
    shared: bool
    created_at: datetime


def views(workspace: UUID, *, owner: str, surfaces: Sequence[str], limit: int) -> list[ViewRow]:
    """Those of a person by name, then those that others share, up to `limit` in all."""
    rows = fetch_named(
        f"{_VIEW} WHERE v.workspace_id = %s::uuid AND (v.owner = %s::varchar OR v.shared) "
        "AND v.surface = ANY(%s::text[]) "
        "ORDER BY v.owner <> %s::varchar, v.name, v.id LIMIT %s",
        (workspace, owner, [*surfaces], owner, limit),
    )
    return [ViewRow(**row._asdict()) for row in rows]


def view(ident: UUID, *, workspace: UUID) -> ViewRow:
    """One view, whose ever it is; raises NotFound."""
    rows = fetch_named(
        f"{_VIEW} WHERE v.id = %s::uuid AND v.workspace_id = %s::uuid", (ident, workspace)
    )
    if not rows:
        raise NotFound("There is no such view in this workspace.")
    return ViewRow(**rows[0]._asdict())
