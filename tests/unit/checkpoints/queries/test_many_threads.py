"""Rows that a board of many threads reads, for pages and counts: no more than it shows."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest

from checkpoints import queries
from checkpoints.queries import TreeFilter
from checkpoints.queries.search import counts, few
from checkpoints.states import Status
from checkpoints.views import AtLeast
from dashboard.wording.text import capped
from tests.unit.checkpoints.builders import make_agent, make_thread, make_workspace, one, rows

from .test_plans import nodes, statements_of

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
        "title": "CASE WHEN mod(n, 4) = 0 THEN 'Refund order ' ELSE 'Write to customer ' END || n",
        "labels": "CASE WHEN mod(n, 5) = 0 THEN jsonb_build_object('team', 't' || mod(n, 50)) "
        "ELSE '{}'::jsonb END",
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
    """Rows of threads that the statements of `read` take from the table or an index, at least.

    A plan rounds the rows that a filter removes to whole rows a loop: up to half of one each.
    """
    count = 0.0
    for node in nodes_of(read):
        if node.get("Relation Name") == "gp_thread":
            removed, loops = node.get("Rows Removed by Filter", 0), node["Actual Loops"]
            rounded = 0.5 if removed and loops > 1 else 0
            count += (node["Actual Rows"] + removed - rounded) * loops
    return round(count)


def nodes_of(read: Callable[[], object]) -> Iterator[dict[str, Any]]:
    """The nodes of the plans of the statements that `read` sends, with what they read."""
    for sql, params in statements_of(read):
        plan = one(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {sql}", params)[0]["Plan"]
        yield from nodes(plan)


def test_a_page_in_the_middle_reads_as_many_threads_as_it_has(workspace: UUID) -> None:
    failed, ended = Status.FAILED, Status.SUCCEEDED
    for statuses in ([failed], [failed, ended], [failed, ended, Status.WAITING], []):
        chosen = queries.Selection(statuses)
        for oldest_first in (False, True):
            seen, after = [], ""
            for _ in range(3):
                options: dict[str, Any] = {"limit": LIMIT, "oldest_first": oldest_first}
                page = queries.threads(chosen, workspace=workspace, after=after, **options)
                # An index in the order of the list may have some of other statuses between.
                most = max(len(statuses), 3) * 2 * (LIMIT + 1)
                read = rows_read(
                    lambda chosen=chosen, after=after, options=options: queries.threads(  # type: ignore[misc]
                        chosen, workspace=workspace, after=after, **options
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


@pytest.mark.slow
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

    def of_agent(tree: TreeFilter) -> queries.Selection:
        return queries.Selection(agent=agent, tree=tree)

    def waiting(tree: TreeFilter) -> int:
        value = queries.counts(of_agent(tree), workspace=workspace)
        assert set(value) == set(Status)
        assert value[Status.FAILED] == (0 if tree.held else min(RARE, cap + 1))
        return value[Status.WAITING]

    cap = queries.COUNT_CAP
    assert waiting(TreeFilter()) == N
    assert waiting(TreeFilter(held=True)) == 1
    assert waiting(TreeFilter(held=False)) == N - 1
    cap = 100
    monkeypatch.setattr(counts, "COUNT_CAP", cap)
    assert waiting(TreeFilter()) == waiting(TreeFilter(held=False)) == cap + 1
    for tree in (TreeFilter(), TreeFilter(top=True), TreeFilter(held=False)):
        read = rows_read(
            lambda tree=tree: queries.counts(of_agent(tree), workspace=workspace)  # type: ignore[misc]
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


# --- threads that words and labels select -----------------------------------------------------

WORDS = ("gp_thread_terms", "gp_thread_labels")
STATUSES = (Status.WAITING, Status.FAILED, Status.SUCCEEDED)
_120 = "(title ~ '\\m120' OR right(id::text, 8) LIKE '120%%')"
# {query: (condition, whether few match)} with 300 for few.
SEARCHED = {
    "label:team=t20": ('labels @> \'{"team": "t20"}\'', True),
    "120": (_120, True),
    "order 120": (f"title ~ 'order' AND {_120}", True),
    '"customer 4"': ("title ~ 'customer 4'", False),
    "label:team": ("labels ? 'team'", False),
    "customer": ("title ~ 'customer'", False),
    "label:team customer": ("labels ? 'team' AND title ~ 'customer'", False),
}


@pytest.fixture
def few_are_300(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FEW", "FEW_TITLES"):
        monkeypatch.setattr(few, name, 300)
    monkeypatch.setattr(counts, "LOOK", 200)


@pytest.mark.slow
@pytest.mark.parametrize("q", SEARCHED)
def test_words_and_labels_are_found_by_their_index_or_in_order(
    q: str, workspace: UUID, few_are_300: None
) -> None:
    condition, are_few = SEARCHED[q]
    wanted: dict[str, list[UUID]] = {str(status): [] for status in STATUSES}
    for status, ident in rows(
        f"SELECT status, id FROM gp_thread WHERE workspace_id = %s AND {condition} "
        "ORDER BY status_since DESC, id DESC",
        (workspace,),
    ):
        wanted[status].append(ident)
    n = sum(map(len, wanted.values()))
    assert are_few == (n <= 300), n

    def lanes() -> dict[Status, list[Any]]:
        return queries.lanes(
            queries.Selection(q=q),
            workspace=workspace,
            statuses=STATUSES,
            newest_first=STATUSES,
            limit=LIMIT,
        )

    def counted() -> dict[Status, int]:
        return queries.counts(queries.Selection(q=q), workspace=workspace)

    def listed(statuses: tuple[Status, ...] = ()) -> Any:
        return queries.threads(queries.Selection(statuses, q=q), workspace=workspace, limit=LIMIT)

    assert {str(s): [row.id for row in lane] for s, lane in lanes().items()} == {
        status: ids[:LIMIT] for status, ids in wanted.items()
    }
    for one_status in STATUSES:
        assert [row.id for row in listed((one_status,)).rows] == wanted[one_status][:LIMIT]
    both = listed((Status.WAITING, Status.FAILED)).rows
    assert {row.id for row in both} <= {*wanted["waiting"], *wanted["failed"]}
    assert len(both) == min(LIMIT, len(wanted["waiting"]) + len(wanted["failed"]))
    for status, value in counted().items():
        exact = len(wanted.get(status, ()))
        assert value == exact if are_few else value <= exact, status
        assert not are_few or not isinstance(value, AtLeast)

    reads: tuple[Callable[[], object], ...] = (lanes, counted, listed)
    for read in reads:
        # Of few: what is counted first, and read. Of many: a lane walks until it is full.
        most = 4 * n + 300 if are_few else 302 + 3 * (202 if read is counted else 20 * LIMIT)
        assert rows_read(read) <= most, read
    used = {node.get("Index Name") for read in reads for node in nodes_of(read)}
    assert bool(used & set(WORDS)) or not are_few, used
    assert are_few or used & {"gp_thread_board", "gp_thread_since"}, used


def test_a_counter_says_where_it_stopped(workspace: UUID, few_are_300: None) -> None:
    value = queries.counts(queries.Selection(q="customer"), workspace=workspace)
    assert isinstance(value[Status.WAITING], AtLeast)
    assert capped(value[Status.WAITING]) == f"{value[Status.WAITING]:d}+"
    assert 0 < value[Status.WAITING] <= 200
    value = queries.counts(queries.Selection(q="label:team=t20"), workspace=workspace)
    assert capped(value[Status.WAITING]) == "240"


# --- agents of a framework ----------------------------------------------------------------------


def made_elsewhere(workspace: UUID, n: int) -> None:
    """Let an agent of the framework crewai have the n threads that are longest in their status."""
    graph = {
        "entry": ["work"],
        "nodes": [],
        "external": {"framework": "crewai", "can": [], "open": False},
    }
    version = make_agent("elsewhere", graph=graph)
    rows(
        "UPDATE gp_thread SET agent = 'elsewhere', agent_version_id = %s WHERE id IN (SELECT id "
        "FROM gp_thread WHERE workspace_id = %s ORDER BY status_since LIMIT %s)",
        (version, workspace, n),
    )
    rows("ANALYZE gp_thread")


@pytest.mark.slow
@pytest.mark.parametrize(("framework", "n"), [("Nothing", 0), ("crewai", 15)])
def test_threads_of_a_framework_that_few_have_are_found_by_their_agents(
    framework: str, n: int, workspace: UUID, few_are_300: None
) -> None:
    made_elsewhere(workspace, 15)
    chosen = queries.Selection(framework=framework)
    reads: tuple[Callable[[], Any], ...] = (
        lambda: queries.lanes(chosen, workspace=workspace, statuses=STATUSES, limit=LIMIT),
        lambda: queries.counts(chosen, workspace=workspace),
        lambda: queries.threads(chosen, workspace=workspace, limit=LIMIT).rows,
    )
    for read in reads:
        assert rows_read(read) <= 4 * n, read
    lanes, counted, listed = (read() for read in reads)
    assert sum(map(len, lanes.values())) == sum(counted.values()) == len(listed) == n
    assert not any(isinstance(value, AtLeast) for value in counted.values())
    assert {row.agent for row in listed} == ({"elsewhere"} if n else set())


@pytest.mark.slow
def test_threads_of_a_framework_that_most_have_are_walked(
    workspace: UUID, few_are_300: None
) -> None:
    made_elsewhere(workspace, 15)
    chosen = queries.Selection(framework="Gatepost")
    reads: tuple[Callable[[], Any], ...] = (
        lambda: queries.lanes(chosen, workspace=workspace, statuses=STATUSES, limit=LIMIT),
        lambda: queries.counts(chosen, workspace=workspace),
        lambda: queries.threads(chosen, workspace=workspace, limit=LIMIT).rows,
    )
    for read in reads:
        assert rows_read(read) <= 3 * (202 + LIMIT), read
    lanes, counted, listed = (read() for read in reads)
    assert [len(lane) for lane in lanes.values()] == [LIMIT] * len(STATUSES)
    assert counted[Status.WAITING] == 201  # one more than are looked at
    assert isinstance(counted[Status.WAITING], AtLeast)
    assert "elsewhere" not in {row.agent for row in listed}


# --- what no index finds ----------------------------------------------------------------------

# {query: its condition}; of most threads, of few, of none.
WALKED = {
    "cost:>100": "cost > 100",
    "cost:<100": "cost < 100",
    "age:>90d": "created_at < now() - interval '90 days'",
    "before:2020-01-01": "created_at < '2020-01-01'",
    "idle:>1h": "status_since < now() - interval '1 hour' AND last_at < now() - interval '1 hour'",
    "idle:<1h": "greatest(last_at, status_since) > now() - interval '1 hour'",
    "node:nothing": "false",
    "-customer": "title !~ 'customer'",
    "-label:team": "NOT labels ? 'team'",
    "-agent:nobody": "true",
    "agent:nobody,somebody": "false",
    "cost:<100 status:failed": "cost < 100 AND status = 'failed'",
    "-status:succeeded cost:>100": "cost > 100 AND status <> 'succeeded'",
    "label:team=t20 OR cost:>100": 'labels @> \'{"team": "t20"}\' OR cost > 100',
    "%": "title ~ '%%'",
}
LOOKED = 100


@pytest.mark.slow
@pytest.mark.parametrize("q", WALKED)
def test_what_no_index_finds_is_searched_up_to_a_limit(
    q: str, workspace: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counts, "LOOK", LOOKED)
    monkeypatch.setattr(sys.modules["checkpoints.queries.threads"], "LOOK", LOOKED)
    chosen = queries.Selection(q=q)
    newest = frozenset({Status.SUCCEEDED})

    def lanes() -> dict[Status, list[Any]]:
        return queries.lanes(
            chosen, workspace=workspace, statuses=STATUSES, newest_first=newest, limit=LIMIT
        )

    def counted() -> dict[Status, int]:
        return queries.counts(chosen, workspace=workspace, newest_first=newest)

    most = len(STATUSES) * (LOOKED + 1) + 1  # with the thread that the others are like
    assert rows_read(counted) <= most
    assert rows_read(lanes) <= most + len(STATUSES) * LIMIT
    shown, numbers = lanes(), counted()
    for status in STATUSES:
        order = "DESC" if status in newest else ""
        looked_at = rows(
            f"SELECT id, {WALKED[q]} FROM gp_thread WHERE workspace_id = %s AND status = %s "
            f"ORDER BY status_since {order}, id {order} LIMIT {LOOKED + 1}",
            (workspace, str(status)),
        )
        first = [ident for ident, matches in looked_at[:LOOKED] if matches]
        assert [row.id for row in shown[status]] == first[:LIMIT]
        assert numbers[status] == sum(matches for _, matches in looked_at)
        impossible = "status:failed" in q and status is not Status.FAILED
        impossible |= "-status:succeeded" in q and status is Status.SUCCEEDED
        assert isinstance(numbers[status], AtLeast) is not impossible


@pytest.mark.slow
@pytest.mark.parametrize("statuses", [(Status.FAILED,), (Status.FAILED, Status.SUCCEEDED), ()])
@pytest.mark.parametrize("oldest_first", [True, False])
@pytest.mark.parametrize("q", ["cost:>100", "-customer", "label:team=t20 OR cost:>100"])
def test_pages_of_what_no_index_finds_end_with_all_of_it(
    q: str, statuses: tuple[Status, ...], oldest_first: bool, workspace: UUID
) -> None:
    chosen, after, seen, pages = queries.Selection(statuses, q=q), "", list[UUID](), 0

    def page(after: str) -> Any:
        return queries.threads(
            chosen,
            workspace=workspace,
            limit=LIMIT,
            after=after,
            oldest_first=oldest_first,
            look=2_000,
        )

    while pages == 0 or after:
        if pages < 3:
            read = rows_read(lambda after=after: page(after))  # type: ignore[misc]
            assert read <= 2 * max(len(statuses), 1) * (2_000 + LIMIT) + LIMIT, read
        result = page(after)
        seen += [row.id for row in result.rows]
        after, pages = result.next_cursor, pages + 1
    order = "" if oldest_first else "DESC"
    wanted = [str(status) for status in statuses or Status]
    assert seen == [
        ident
        for (ident,) in rows(
            f"SELECT id FROM gp_thread WHERE workspace_id = %s AND status = ANY(%s) AND "
            f"({WALKED[q]}) ORDER BY status_since {order}, id {order}",
            (workspace, wanted),
        )
    ]
    assert pages > 1 or statuses == (Status.FAILED,)
