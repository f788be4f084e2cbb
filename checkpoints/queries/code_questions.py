"""Threads that ask which code goes on with them."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from .reading import rows

AT_MOST = 200


@dataclass(frozen=True, slots=True)
class AskingRow:
    """A thread in attention whose agent's code changed."""

    id: UUID
    title: str
    version: int


def asking_alike(former: UUID, offered: UUID, *, workspace: UUID) -> list[AskingRow]:
    """Those that stopped with one version and were offered the other, longest first; up to 200."""
    found = rows(
        "SELECT id, title, version FROM gp_thread WHERE workspace_id = %s::uuid AND "
        "status = 'attention' AND rollback IS NULL AND agent_version_id = %s::uuid AND "
        "waiting_on ->> 'kind' = 'code' AND waiting_on ->> 'version' = %s::text "
        "ORDER BY status_since, id LIMIT %s",
        (workspace, former, str(offered), AT_MOST),
    )
    return [AskingRow(*row) for row in found]
