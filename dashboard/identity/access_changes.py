"""The table of changes of access that wait for a second admin; each change of it is an event.

Who may ask and decide, and what follows, is `people.accounts.access_changes`'s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final
from uuid import UUID

from django.db import connection, transaction
from pydantic import Field

from checkpoints import store
from checkpoints.errors import NotAllowedNow, NotFound
from checkpoints.log.recorded import RowChange
from checkpoints.postgres.named_rows import fetch_named
from checkpoints.state import deltas
from checkpoints.states import WorkspaceEventKind as K

TABLE: Final = "gp_access_change"
DAYS: Final = 7  # so long a change waits
SHOWN: Final = 200
_ENDS: Final = {
    "confirmed": K.ACCESS_CONFIRMED,
    "refused": K.ACCESS_REFUSED,
    "expired": K.ACCESS_EXPIRED,
}


@dataclass(frozen=True, slots=True)
class AccessChangeRow:
    """A change of access: what it gives whom; `state` is waiting, confirmed, refused or expired."""

    id: UUID
    workspace: Annotated[UUID, Field(exclude=True)]
    action: Annotated[str, Field(exclude=True)]
    user_id: Annotated[
        int | None, Field(description="Null for an account that is still to be made.")
    ]
    name: str
    gives: Annotated[tuple[str, ...], Field(description="In words.")]
    asked_by: str
    asked_at: datetime
    expires_at: datetime
    state: str
    decided_by: Annotated[
        str, Field(description="`command:access` where it was done on the machine itself.")
    ]
    decided_at: datetime | None

    @property
    def data(self) -> dict[str, Any]:
        """Data of its events."""
        return {
            "change": str(self.id),
            "user": self.user_id,
            "name": self.name,
            "gives": list(self.gives),
            "asked_by": self.asked_by,
        }


_READ: Final = (
    "SELECT id, workspace_id AS workspace, action, user_id, name, gives::text AS gives, asked_by, "
    "asked_at, expires_at, CASE WHEN state = 'waiting' AND expires_at <= statement_timestamp() "
    "THEN 'expired' ELSE state END AS state, decided_by, decided_at FROM gp_access_change "
)


def add(
    ident: UUID,
    workspace: UUID,
    *,
    action: str,
    user_id: int | None,
    name: str,
    gives: Sequence[str],
    change: Mapping[str, Any],
    asked_by: str,
) -> bool:
    """Keep what was asked for until somebody decides; False where it is kept already.

    `change` are the arguments of the action.
    """
    with transaction.atomic():
        _end_expired(workspace)
        done = _do(
            "INSERT INTO gp_access_change (id, workspace_id, action, user_id, name, gives, change, "
            "asked_by, expires_at) VALUES (%s::uuid, %s::uuid, %s::varchar, %s::bigint, "
            "%s::varchar, %s::jsonb, %s::text, %s::varchar, statement_timestamp() + "
            "make_interval(days => %s)) ON CONFLICT (id) DO NOTHING",
            (
                *(ident, workspace, action, user_id, name),
                *(_text(list(gives)), _text(dict(change)), asked_by, DAYS),
            ),
        )
        if done:
            row = access_change(ident, workspace=workspace)
            _log(K.ACCESS_ASKED, row, asked_by, RowChange({TABLE: [ident]}))
    return bool(done)


def end(row: AccessChangeRow, state: str, *, actor: str) -> AccessChangeRow:
    """Confirm or refuse one that waits; its arguments are forgotten. Raises NotAllowedNow."""
    with transaction.atomic():
        done = _do(
            "UPDATE gp_access_change SET state = %s::varchar, decided_by = %s::varchar, "
            "decided_at = statement_timestamp(), change = '' WHERE id = %s::uuid AND "
            "state = 'waiting' AND "
            "(expires_at <= statement_timestamp()) = (%s::varchar = 'expired')",
            (state, actor, row.id, state),
        )
        now = access_change(row.id, workspace=row.workspace)
        if not done:
            raise _already_ended(now)
        columns = ("state", "decided_by", "decided_at", "change")
        _log(_ENDS[state], now, actor, RowChange({TABLE: [row.id]}, columns=columns))
    return now


def _end_expired(workspace: UUID) -> None:
    rows = _read(
        "WHERE workspace_id = %s::uuid AND state = 'waiting' AND expires_at <= "
        "statement_timestamp() FOR UPDATE SKIP LOCKED",
        (workspace,),
    )
    for row in rows:
        end(row, "expired", actor="system")


def _already_ended(row: AccessChangeRow) -> NotAllowedNow:
    return NotAllowedNow(f"This change is {row.state} already.", status=row.state)


def log_done(
    workspace: UUID, *, user_id: int | None, name: str, gives: Sequence[str], actor: str
) -> None:
    """Log a change that nobody else confirmed: it was made by command, on the machine itself."""
    data = {"user": user_id, "name": name, "gives": list(gives)}
    store.log_setting(K.ACCESS_CHANGED, workspace, data=data, actor=actor, change=None)


def access_change(ident: UUID, *, workspace: UUID) -> AccessChangeRow:
    """One of them; raises NotFound, also for those of other workspaces."""
    rows = _read("WHERE id = %s::uuid AND workspace_id = %s::uuid", (ident, workspace))
    if not rows:
        raise NotFound("There is no such change in this workspace.")
    return rows[0]


def arguments(row: AccessChangeRow) -> dict[str, Any]:
    """The arguments of a change that waits, its row locked; raises NotAllowedNow."""
    rows = fetch_named(
        "SELECT change FROM gp_access_change WHERE id = %s::uuid AND state = 'waiting' FOR UPDATE",
        (row.id,),
    )
    if not rows:
        raise _already_ended(access_change(row.id, workspace=row.workspace))
    return dict(deltas.decode(rows[0].change))


def listed(workspace: UUID) -> list[AccessChangeRow]:
    """Those that wait first, then the newest."""
    return _read(
        "WHERE workspace_id = %s::uuid ORDER BY state = 'waiting' AND expires_at > "
        "statement_timestamp() DESC, id DESC LIMIT %s",
        (workspace, SHOWN),
    )


def _read(where: str, params: Sequence[Any]) -> list[AccessChangeRow]:
    rows = fetch_named(_READ + where, params)
    return [
        AccessChangeRow(**row._asdict() | {"gives": tuple(deltas.decode(row.gives))})
        for row in rows
    ]


def _log(kind: K, row: AccessChangeRow, actor: str, change: RowChange) -> None:
    store.log_setting(kind, row.workspace, data=row.data, actor=actor, change=change)


def _text(value: Any) -> str:
    return deltas.canonical(value).decode()


def _do(sql: str, params: Sequence[Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return int(cursor.rowcount)
