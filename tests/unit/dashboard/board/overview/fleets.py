"""A fleet of many threads over some weeks, as rows copied from a real thread, for the overview."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from approvals import gates
from checkpoints.queries import clock
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard import scene

AGENTS, TEAMS, MODELS = 4, 3, 3
# Every thread ends an hour after its beginning, or stands still; spread over the days.
BEGUN = "now() - make_interval(secs => (mod(n * 7919, {days} * 86400)))"
SPREAD: dict[str, dict[str, str]] = {
    "thread": {
        "id": "gen_random_uuid()",
        "name": "NULL",
        "agent": "'agent-' || mod(n, 4)",
        "labels": "jsonb_build_object('team', 'team-' || mod(n, 3))",
        "status": "(ARRAY['succeeded', 'succeeded', 'succeeded', 'failed', 'cancelled', "
        "'waiting'])[1 + mod(n, 6)]::gp_thread_status",
        "created_at": BEGUN,
        "status_since": f"{BEGUN} + interval '1 second'",
        "tokens": "100 + n",
        "cost": "0.01 * mod(n, 50)",
    },
    "activity": {
        "id": "gen_random_uuid()",
        "thread_id": "th.id",
        "started_at": "th.created_at",
        "finished_at": "th.created_at",
        "approval_id": "NULL",
        "usage": "jsonb_build_object('model', 'model-' || mod(th.tokens, 3), 'tokens', th.tokens) "
        "|| CASE WHEN mod(th.tokens, 10) = 0 THEN '{\"unpriced\": true}' "
        "ELSE jsonb_build_object('cost', th.cost::text) END",
    },
    "approval": {
        "id": "gen_random_uuid()",
        "thread_id": "th.id",
        "requested_at": "th.created_at",
    },
    "decision": {
        "id": "gen_random_uuid()",
        "approval_id": "p.id",
        "at": "p.requested_at + make_interval(secs => 60 + mod(hashtext(p.id::text), 50))",
        "verdict": "(ARRAY['approve', 'approve', 'reject', 'edit'])"
        "[1 + abs(mod(hashtext(p.id::text), 4))]",
    },
}
FROM = {
    "thread": ("t", "gp_thread t, generate_series(1, {n}) n WHERE t.id = '{one}'"),
    "activity": (
        "a",
        "gp_activity a, gp_thread th WHERE a.thread_id = '{one}' AND th.id <> '{one}' "
        "AND th.name IS NULL",
    ),
    "approval": (
        "a",
        "gp_approval a, gp_thread th WHERE a.thread_id = '{one}' AND th.id <> '{one}' "
        "AND mod(th.tokens, 5) = 0",
    ),
    "decision": (
        "d",
        "gp_approval p, gp_decision d WHERE p.thread_id <> '{one}'",
    ),
}


def fill(cast: Cast, *, threads: int, days: int = 30) -> UUID:
    """Threads, calls, requests and decisions; the thread that they were copied from."""
    work = scene.lease(scene.start(cast.workspace, scene.make_agent("agent-0")))
    scene.step(work, report="draft")
    scene.effect(work, key="publish:1")
    row = scene.gate(work)
    gates.decide(
        row.id,
        workspace=cast.workspace,
        reviewer=gates.Reviewer(cast.actor("manager").id, "manager"),
        verdict="approve",
        proposal_hash=row.proposal_hash,
    )
    rows("SET session_replication_role = replica")
    for name, changed in SPREAD.items():
        alias, source = FROM[name]
        columns = [
            column
            for (column,) in rows(
                "SELECT column_name FROM information_schema.columns WHERE table_name = %s::text",
                (f"gp_{name}",),
            )
        ]
        values = [changed.get(c, f'{alias}."{c}"').replace("{days}", str(days)) for c in columns]
        rows(
            f"INSERT INTO gp_{name} ({', '.join(columns)}) SELECT {', '.join(values)} "
            f"FROM {source.format(one=work.thread, n=threads)}"
        )
    rows("SET session_replication_role = DEFAULT")
    rows("ANALYZE")
    return work.thread


def by_plain_sql(cast: Cast, sql: str, since: Any) -> Any:
    """The first row of a statement over the workspace's threads `th` that ended since a time."""
    return rows(
        f"SELECT {sql} FROM gp_thread th WHERE th.workspace_id = %s AND th.status_since >= %s",
        (cast.workspace, since),
    )[0]


__all__ = ["by_plain_sql", "clock", "fill"]
