"""The board is not flooded by children: it leaves them out, says how many, shows them on demand."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client

from checkpoints import queries
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import one, rows
from tests.unit.dashboard.threads.page.test_family_tree import region, words
from tests.unit.workers.tree.agents import GRAPHS
from tests.unit.workers.tree.conftest import Fleet
from workers.code.registry import announce

pytestmark = pytest.mark.django_db


@dataclass
class Many:
    """A lead of three readers, and a map of four of which three are held."""

    fleet: Fleet
    client: Client
    lead: UUID
    mapping: UUID


@pytest.fixture
def many(cast: Cast) -> Many:
    agents = {graph.name: announce(graph, {}, ()) for graph in GRAPHS}
    fleet = Fleet(agents, cast.workspace)
    lead = fleet.start("lead", files=["a", "b", "c"])
    mapping = fleet.start("mapping", files=["p", "q", "r", "s"], at_most=1)
    fleet.work_on(lead)
    fleet.work_on(mapping)
    return Many(fleet, cast.client("operator"), lead, mapping)


def board(many: Many, query: str = "") -> str:
    return str(many.client.get(f"/{query}").content.decode())


def listed(html: str) -> set[str]:
    return set(re.findall(r'<tr id="thread-([0-9a-f-]{36})', html))


def counted(html: str) -> dict[str, int]:
    pairs = re.findall(r'data-count="(\w+)">([\d,]+)<', html)
    return {status: int(n) for status, n in pairs if n != "0"}


def hidden(html: str) -> tuple[str, str]:
    """(words, address) of the chip of children that are left out."""
    chip = re.search(r'id="board-hidden">\s*<a class="chip" href="([^"]+)">(.*?)</a>', html, re.S)
    return (words(chip[2]), chip[1].replace("&amp;", "&")) if chip else ("", "")


def ids(where: str) -> set[str]:
    return {str(row[0]) for row in rows(f"SELECT id FROM gp_thread WHERE {where}")}


def test_children_stand_on_their_parents_pages_not_on_the_board(many: Many) -> None:
    html = board(many)
    assert listed(html) == {str(many.lead), str(many.mapping)}
    assert counted(html) == {"waiting": 2}
    text, href = hidden(html)
    assert (
        text == f"{one('SELECT count(*) FROM gp_thread WHERE parent IS NOT NULL')} children "
        "not listed Show"
    )
    everything = board(many, href)
    assert listed(everything) == ids("NOT (status = 'waiting' AND waiting_on ->> 'kind' = 'limit')")
    assert "With children" in words(everything)
    assert hidden(everything)[0] == "3 children held until others end Show"
    # Whoever looks for certain threads finds children as well.
    assert listed(board(many, "?agent=reader")) == ids("agent = 'reader' AND status = 'queued'")
    child = next(iter(ids("agent = 'reader' AND parent IS NOT NULL AND status = 'waiting'")))
    assert listed(board(many, f"?q={child}")) == {child}
    assert hidden(board(many, "?status=queued"))[0] == "4 children not listed Show"
    assert listed(board(many, "?status=queued")) == set()


def test_a_child_in_attention_stands_on_the_board(many: Many) -> None:
    child = next(iter(ids("agent = 'reader' AND status = 'queued'")))
    rows("UPDATE gp_thread SET status = 'attention' WHERE id = %s", (child,))
    html = board(many)
    assert child in listed(html)
    assert counted(html) == {"attention": 1, "waiting": 2}
    assert hidden(html)[0].startswith("6 children")


def test_held_children_wait_for_nobody(cast: Cast, many: Many) -> None:
    tree = region(cast, many.mapping)
    statuses = re.findall(r'class="st (t-\w+)"[^>]*data-count="(\w+)">.*?<b[^>]*>(\d+)', tree, re.S)
    assert statuses == [("t-run", "queued", "1"), ("t-idle", "held", "3")] or statuses == [
        ("t-idle", "queued", "1"),
        ("t-idle", "held", "3"),
    ]
    assert words(region(cast, many.mapping, "thread-children")) == (
        "Waiting for 4 of 4 children. 1 queued 3 held Show children"
    )
    html = board(many, f"?parent={many.mapping}")
    assert counted(html) == {"queued": 1}
    text, href = hidden(html)
    assert text == "3 children held until others end Show"
    held = board(many, href)
    assert listed(held) == ids("waiting_on ->> 'kind' = 'limit'")
    assert 'id="lane-held"' in held
    assert 't-wait"' not in held[held.index('id="lane-held"') : held.index("</tbody>")]
    assert counted(held) == {"queued": 1}


def add_children(many: Many, n: int) -> None:
    """Copies of a reader under the same lead."""
    rows("SET LOCAL session_replication_role = replica")
    columns = ", ".join(
        name
        for (name,) in rows(
            "SELECT attname FROM pg_attribute WHERE attrelid = 'gp_thread'::regclass "
            "AND attnum > 0 AND NOT attisdropped AND attgenerated = '' "
            "AND attname NOT IN ('id', 'name', 'chain_id')"
        )
    )
    rows(
        f"INSERT INTO gp_thread (id, chain_id, {columns}) SELECT gen_random_uuid(), "
        f"gen_random_uuid(), {columns} FROM gp_thread, generate_series(1, %s) WHERE id = "
        "(SELECT id FROM gp_thread WHERE parent = %s LIMIT 1)",
        (n, many.lead),
    )
    rows("SET LOCAL session_replication_role = DEFAULT")
    # Without the dead rows of tests before: the planner costs an index by its pages.
    rows("REINDEX INDEX gp_thread_top")
    rows("ANALYZE gp_thread")


@pytest.mark.slow
def test_an_index_knows_what_the_board_shows_first(many: Many) -> None:
    add_children(many, 30_000)
    workspace = many.fleet.workspace
    top = queries.Selection(tree=queries.TreeFilter(top=True))
    sent: list[tuple[str, Any]] = []

    def keep(execute: Any, sql: str, params: Any, several: bool, context: Any) -> Any:
        sent.append((sql, params))
        return execute(sql, params, several, context)

    with connection.execute_wrapper(keep):
        queries.lanes(top, workspace=workspace, statuses=list(queries.FIRST))
        queries.counts(top, workspace=workspace)
    assert len(sent) == 2
    for sql, params in sent:
        plan = "\n".join(row[0] for row in rows(f"EXPLAIN {sql}", params))
        assert "gp_thread_top" in plan, plan
        assert "Seq Scan on gp_thread" not in plan, plan
