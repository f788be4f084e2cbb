"""Threads that ask which code is to continue them."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from .rows import rows

AT_MOST = 200


@dataclass(frozen=True, slots=True)
class AskingRow:
    """A thread in attention whose agent's code changed, one of `n_alike` with the same choice."""

    id: UUID
    title: str
    version: int
    n_alike: int


@dataclass(frozen=True, slots=True)
class CodeQuestionRow:
    """One choice of code that `n` threads of an agent wait for; `thread` is the longest waiting."""

    agent: str
    thread: UUID
    n: int


def code_questions(*, workspace: UUID, agent: str = "") -> list[CodeQuestionRow]:
    """Each choice of code that threads wait for, those of most threads first; up to 20."""
    result = rows(
        "SELECT v.agent, (array_agg(t.id ORDER BY t.status_since, t.id))[1], count(*) "
        "FROM gp_thread t JOIN gp_agent_version v ON v.id = t.agent_version_id "
        "WHERE t.workspace_id = %s::uuid AND t.status = 'attention' AND t.rollback IS NULL "
        "AND t.waiting_on ->> 'kind' = 'code' AND t.waiting_on ->> 'version' IS NOT NULL "
        "AND (%s::text = '' OR v.agent = %s::text) "
        "GROUP BY v.agent, v.id, t.waiting_on ->> 'version' ORDER BY 3 DESC, 2 LIMIT 20",
        (workspace, agent, agent),
    )
    return [CodeQuestionRow(*row) for row in result]


def asking_alike(former: UUID, offered: UUID, *, workspace: UUID) -> list[AskingRow]:
    """Those that stopped with one version and were offered the other, longest first; up to 200."""
    result = rows(
        "SELECT id, title, version, count(*) OVER () FROM gp_thread "
        "WHERE workspace_id = %s::uuid AND "
        "status = 'attention' AND rollback IS NULL AND agent_version_id = %s::uuid AND "
        "waiting_on ->> 'kind' = 'code' AND waiting_on ->> 'version' = %s::text "
        "ORDER BY status_since, id LIMIT %s",
        (workspace, former, str(offered), AT_MOST),
    )
    return [AskingRow(*row) for row in result]
