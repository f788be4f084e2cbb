"""Rows that a board of many threads reads, for pages and counts: no more than it shows."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from checkpoints import queries
from checkpoints.queries import TreeFilter
from checkpoints.states import Status
from tests.checkpoints.builders import make_thread, make_workspace, one, rows

pytestmark = pytest.mark.django_db
N = 6_000  # that wait, and as many that succeeded
RARE = 600  # that failed
LIMIT = 20


@pytest.fixture
def workspace() -> UUID:
    """Threads that wait, that failed and that succeeded, one behind the other in time."""
    workspace = make_workspace()
    thread = make_thread(workspace=workspace)
    rows("SET LOCAL session_replication_role = replica")
    differs = {
        "id": "gen_random_uuid()",
        "chain_id": "gen_random_uuid()",
        "name": "NULL",
        "status": "CASE WHEN mod(n, 21) = 0 THEN 'failed' WHEN mod(n, 2) = 0 THEN 'waiting' "
        "ELSE 'succeeded' END",
        "status_since": "clock_timestamp() - n * interval '1 second'",
        "waiting_on": 'CASE WHEN n = 6 THEN \'{"kind": "limit"}\'::jsonb END',
        "parent": "CASE WHEN n = 6 THEN gen_random_uuid() END",
    }
    names = [
        name
        for (name,) in rows(
            "SELECT attname FROM pg_attribute WHERE attrelid = 'gp_thread'::regclass "
            "AND attnum > 0 AND NOT attisdropped AND attgenerated = ''"
        )
    ]
    values = ", ".join(differs.get(name, f"th.{name}") for name in names)
    rows(
        f"INSERT INTO gp_thread ({', '.join(names)}) SELECT {values} FROM gp_thread th, "
        "generate_series(1, %s) n WHERE th.id = %s::uuid",
        (21 * RARE, thread),
    )
    rows("SET LOCAL session_replication_role = DEFAULT")
    rows("ANALYZE gp_thread")
    return workspace


def rows_read(read: Callable[[], object]) -> int:
    """Rows of threads that the statements of `read` take from the table or an index."""
    sent: list[tuple[str, Any]] = []

    def listen(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        sent.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(listen):
        read()
    assert sent
    count = 0.0
    for sql, params in sent:
        plan = one(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {sql}", params)[0]["Plan"]
        for node in _nodes(plan):
            if node.get("Relation Name") == "gp_thread":
                each = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
                count += each * node["Actual Loops"]
    return round(count)


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from _nodes(inner)


def test_a_page_in_the_middle_reads_as_many_threads_as_it_has(workspace: UUID) -> None:
    failed, ended = Status.FAILED, Status.SUCCEEDED
    for statuses in ([failed], [failed, ended], [failed, ended, Status.WAITING], []):
        for oldest_first in (False, True):
            seen, after = [], ""
            for _ in range(3):
                options = {"statuses": statuses, "limit": LIMIT, "oldest_first": oldest_first}
                page = queries.threads(workspace=workspace, after=after, **options)
                # An index in the order of the list may have some of other statuses between.
                most = max(len(statuses), 3) * 2 * (LIMIT + 1)
                read = rows_read(
                    lambda after=after, options=options: queries.threads(  # type: ignore[misc]
                        workspace=workspace, after=after, **options
                    )
                )
                assert read <= most, (statuses, read)
                seen += [(row.status_since, row.id) for row in page.rows]
                after = page.next_cursor
            assert len(set(seen)) == 3 * LIMIT
            assert seen == sorted(seen, reverse=not oldest_first)
            wanted = [str(status) for status in statuses or Status]
            order = "" if oldest_first else "DESC"
            assert seen == rows(
                "SELECT status_since, id FROM gp_thread WHERE workspace_id = %s AND "
                f"status = ANY(%s) ORDER BY status_since {order}, id {order} LIMIT %s",
                (workspace, wanted, 3 * LIMIT),
            )


def test_the_mark_of_a_board_reads_no_more_than_it_shows(workspace: UUID) -> None:
    rows("SET LOCAL session_replication_role = replica")
    rows("UPDATE gp_thread SET status = 'paused' WHERE status = 'succeeded'")
    rows("SET LOCAL session_replication_role = DEFAULT")
    rows("ANALYZE gp_thread")
    before = queries.board_look(workspace=workspace).mark
    assert rows_read(lambda: queries.board_look(workspace=workspace)) < 400
    first = one("SELECT id FROM gp_thread WHERE status = 'paused' ORDER BY status_since LIMIT 1")
    for change in ("last_seq = last_seq + 1", "status_since = status_since - interval '1 hour'"):
        rows(f"UPDATE gp_thread SET {change} WHERE id = %s", (first,))
        after = queries.board_look(workspace=workspace).mark
        assert after != before
        before = after


def test_counts_end_at_their_cap_and_leave_held_children_out(
    workspace: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = one("SELECT agent FROM gp_thread WHERE workspace_id = %s LIMIT 1", (workspace,))

    def waiting(tree: TreeFilter) -> int:
        counts = queries.counts(workspace=workspace, agent=agent, tree=tree)
        assert set(counts) == set(Status)
        assert counts[Status.FAILED] == (0 if tree.held else min(RARE, cap + 1))
        return counts[Status.WAITING]

    cap = queries.COUNT_CAP
    assert waiting(TreeFilter()) == N
    assert waiting(TreeFilter(held=True)) == 1
    assert waiting(TreeFilter(held=False)) == N - 1
    cap = 100
    monkeypatch.setattr(sys.modules[queries.threads.__module__], "COUNT_CAP", cap)
    assert waiting(TreeFilter()) == waiting(TreeFilter(held=False)) == cap + 1
    for tree in (TreeFilter(), TreeFilter(top=True), TreeFilter(held=False)):
        read = rows_read(
            lambda tree=tree: queries.counts(workspace=workspace, agent=agent, tree=tree)  # type: ignore[misc]
        )
        assert read < 8 * cap, (tree, read)
    # More held than the cap: the others are counted one by one.
    rows("SET LOCAL session_replication_role = replica")
    rows(
        'UPDATE gp_thread SET waiting_on = \'{"kind": "limit"}\', parent = gen_random_uuid() '
        "WHERE id IN (SELECT id FROM gp_thread WHERE status = 'waiting' ORDER BY id OFFSET 7)"
    )
    rows("SET LOCAL session_replication_role = DEFAULT")
    assert waiting(TreeFilter(held=True)) == cap + 1
    assert waiting(TreeFilter(held=False)) <= 8
