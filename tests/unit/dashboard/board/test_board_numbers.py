"""Every number that the board shows is known, and equals one computed another way by plain SQL."""

from __future__ import annotations

from uuid import UUID

import pytest

from approvals.incidents.fingerprints import fingerprint
from checkpoints.states import Status
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import one, rows
from tests.unit.dashboard.page_numbers import Rule, problem, quoted


def _of_status(cast: Cast, status: str) -> str:
    return str(
        one(
            "SELECT count(*) FROM gp_thread WHERE workspace_id = %s AND status = %s",
            (cast.workspace, status),
        )
    )


def _step(cast: Cast, thread: str) -> str:
    """The newest checkpoint on the thread's branch says how many steps were merged."""
    return "step " + str(
        one(
            "SELECT c.step FROM gp_checkpoint c JOIN gp_thread t ON t.id = c.thread_id "
            "AND t.head = c.id WHERE t.id = %s",
            (thread,),
        )
    )


def _stuck(cast: Cast, number: str) -> str:
    """Of all, or of the group with this number, most first; in this population by status alone."""
    if number == "all":
        return _of_status(cast, Status.ATTENTION)
    return str(
        one(
            "SELECT n FROM (SELECT agent, next_nodes ->> 0 AS node, count(*) AS n FROM gp_thread "
            "WHERE workspace_id = %s AND status = 'attention' GROUP BY 1, 2) x "
            "ORDER BY n DESC, agent, node OFFSET %s LIMIT 1",
            (cast.workspace, int(number) - 1),
        )
    )


def _alike(cast: Cast, status: str, mark: str) -> str:
    """Of this population no lane is longer than what is read of it, so each is counted whole."""
    groups: dict[str, int] = {}
    for agent, reason in rows(
        "SELECT agent, status_reason FROM gp_thread WHERE workspace_id = %s AND status = %s",
        (cast.workspace, status),
    ):
        key = f"{agent} {fingerprint(reason)[:12]}"
        groups[key] = groups.get(key, 0) + 1
    return f"{max(n for key, n in groups.items() if key.endswith(mark))} threads:"


BOARD = [
    Rule(r"tr#alike-(\w+)-([0-9a-f]{12})\S* .*b\.num", _alike),
    Rule(r"a#stuck-(\w+)\S* b$", _stuck),
    Rule(r"li#count-(\w+) .*span\.v$", _of_status),
    Rule(r"tr#lane-head-(\w+)\.?.* span\.num", _of_status),
    Rule(r"tr#thread-([0-9a-f-]{36})\S* td\.c-node span", _step),
]  # fmt: skip


@pytest.mark.slow
def test_every_number_of_the_board(cast: Cast, population: list[UUID]) -> None:
    for role in ("operator", "manager", "auditor"):
        client = cast.client(role)
        for query in ("", "?status=failed,waiting", "?status=succeeded"):
            result = quoted(client.get(f"/{query}").content.decode(), cast)
            assert len(result) > len(Status)
            wrong = [problem(position, words, BOARD, cast) for position, words in result]
            assert not [*filter(None, wrong)]
