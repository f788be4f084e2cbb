"""The family tree on a thread's page, and lists by a place in it: as plain SQL says, bounded."""

from __future__ import annotations

import html as escaping
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection

from checkpoints import queries, store
from checkpoints.queries import COUNT_CAP
from checkpoints.queries.tree.families import SQL
from checkpoints.states import EventKind
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import one, rows
from tests.unit.workers.tree.agents import GRAPHS
from tests.unit.workers.tree.conftest import Fleet
from workers.authoring.graph import END, Graph, State
from workers.code.registry import announce
from workers.node.context import Context

pytestmark = pytest.mark.django_db

chief = Graph("chief", State)


@chief.node(then=END)
def delegate(state: State, ctx: Context) -> dict[str, Any]:
    """Start a lead of its own, and readers without waiting for them."""
    ctx.spawn("mapping", {"files": ["x", "y"], "at_most": 1}, title="Read two files")
    for file in ("p", "q", "r"):
        ctx.spawn("reader", {"file": file, "fails": file == "q"}, title=f"Read {file}")
    ctx.join([ctx.spawn("lead", {"files": ["a", "b", "c"], "bad": ["b"], "failures": "list"})])
    return {}


@dataclass
class Tree:
    """A tree of real agents: chief > mapping > 2 readers; > 3 readers; > lead > 3 readers."""

    fleet: Fleet
    chief: UUID
    mapping: UUID
    lead: UUID


def _deliver(fleet: Fleet) -> None:
    """Bring what would be brought after each commit; a test's transaction has none."""
    for (parent,) in rows("SELECT DISTINCT parent FROM gp_child"):
        store.deliver(parent, actor="worker:test")


@pytest.fixture
def tree(cast: Cast) -> Tree:
    agents = {graph.name: announce(graph, {}, ()) for graph in (*GRAPHS, chief)}
    fleet = Fleet(agents, cast.workspace)
    top = fleet.start("chief")
    fleet.work_on(top)
    (mapping,) = [r[0] for r in rows("SELECT id FROM gp_thread WHERE agent = 'mapping'")]
    (lead,) = [r[0] for r in rows("SELECT id FROM gp_thread WHERE agent = 'lead'")]
    return Tree(fleet, top, mapping, lead)


def finish(tree: Tree) -> None:
    """Let all of them work to the end."""
    for _ in range(30):
        _deliver(tree.fleet)
        if not tree.fleet.queued():
            return
        tree.fleet.work()


def region(cast: Cast, thread: object, name: str = "thread-family") -> str:
    """One region of a thread's page, as a poll gets it."""
    answer = cast.client("operator").get(
        f"/threads/{thread}/", headers={"X-Gatepost-Regions": name, "Accept": "application/json"}
    )
    assert answer.status_code == 200, answer.content
    return str(answer.json()["regions"][name])


def words(html: str) -> str:
    return " ".join(escaping.unescape(re.sub(r"<[^>]+>", " ", html)).split())


def lines(html: str) -> list[str]:
    """(role and text) of each line of the tree."""
    return [
        f"{role}: {words(body)}"
        for role, body in re.findall(
            r'<li id="kin-[^"]+"[^>]* data-role="(\w+)">(.*?)<span class="took', html, re.S
        )
    ]


def test_a_parent_says_for_how_many_children_it_waits(cast: Cast, tree: Tree) -> None:
    html = region(cast, tree.chief, "thread-children")
    assert "Waiting for 1 of 1 child." in words(html)
    tree.fleet.work_on(tree.lead)
    html = region(cast, tree.lead, "thread-children")
    assert words(html) == "Waiting for 3 of 3 children. 3 queued Show children"
    readers = [r[0] for r in rows("SELECT id FROM gp_thread WHERE parent = %s", (tree.lead,))]
    tree.fleet.work_on(readers[0])
    assert "Waiting for 2 of 3 children." in words(region(cast, tree.lead, "thread-children"))
    # The same sentence through the API, and only where it stands.
    client = cast.client("operator")
    why = client.get(f"/api/v1/threads/{tree.lead}/").json()["why_waiting"]
    assert (why["kind"], why["sentence"]) == ("children", "Waiting for 2 of 3 children.")
    assert why["facts"] == {"open": 2, "of": 3, "succeeded": 1, "statuses": {"queued": 2}}
    page = client.get(f"/threads/{tree.lead}/").content.decode()
    assert page.count("Waiting for 2 of 3 children.") == 1
    # Its links lead to boards with exactly so many threads.
    for href, n in re.findall(r'<a class="st [^"]+" href="([^"]+)">.*?(\d+) \w+</a>', html, re.S):
        board = client.get(escaping.unescape(href)).content.decode()
        assert len(re.findall(r'<tr id="thread-', board)) == int(n) - 1


def test_some_of_many_are_enough(cast: Cast, tree: Tree) -> None:
    some = tree.fleet.start("mapping", files=["a", "b", "c"], need=2, at_most=None)
    tree.fleet.work_on(some)
    text = words(region(cast, some, "thread-children"))
    assert text.startswith("Waiting until 2 of 3 children succeed: 0 have. 3 queued")


@pytest.mark.requirement("C38")
def test_the_tree_of_each_thread(cast: Cast, tree: Tree) -> None:
    tree.fleet.work_on(tree.lead)
    top = lines(region(cast, tree.chief))
    assert [line.partition(" ")[0] for line in top] == ["self:", "child:", "child:", "child:"]
    assert "A test chief this thread Waiting" in top[0]
    assert "Read two files mapping Queued" in top[1]
    assert top[2] == "child: reader 3 threads 3 queued"
    assert "3 children Waiting" in top[3]

    middle = lines(region(cast, tree.lead))
    assert [line.split(":")[0] for line in middle] == ["ancestor", "self", "child"]
    assert middle[2] == "child: reader 3 threads 3 queued"
    finish(tree)
    assert lines(region(cast, tree.lead))[2] == "child: reader 3 threads 1 failed 2 succeeded"

    (leaf,) = [
        r[0]
        for r in rows("SELECT id FROM gp_thread WHERE parent = %s AND title = 'b'", (tree.lead,))
    ]
    html = region(cast, leaf)
    assert [line.split(":")[0] for line in lines(html)] == ["ancestor", "ancestor", "self"]
    assert re.findall(r'class="in-(\d)', html) == ["0", "1", "2"]
    # A thread without relatives has no tree.
    alone = region(cast, tree.fleet.start("reader", file="alone"))
    assert "hidden" in alone
    assert "kin-" not in alone


def test_every_number_of_the_tree_by_sql(cast: Cast, tree: Tree) -> None:
    finish(tree)
    rows("UPDATE gp_thread SET tokens = 1200, cost = 0.25 WHERE title LIKE 'Read %%'")
    totals = rows(
        "SELECT count(*) || ' threads, ' || sum(n_steps) || ' steps, ' || "
        "to_char(sum(tokens), 'FM999,999') || ' tokens, $' || trim_scale(sum(cost)) "
        "FROM gp_thread WHERE id = %s OR root = %s",
        (tree.chief, tree.chief),
    )[0][0]
    many = (
        "SELECT agent, count(*) || ' threads', sum(n_steps) || ' steps' || "
        "CASE WHEN sum(tokens) > 0 THEN ', ' || to_char(sum(tokens), 'FM999,999') || "
        "' tokens, $' || trim_scale(sum(cost)) ELSE '' END FROM gp_thread WHERE parent = %s "
        "GROUP BY agent HAVING count(*) > 1"
    )
    n_blocks = 0
    for thread in (tree.chief, tree.mapping, tree.lead):
        html = region(cast, thread)
        shown = re.search(r'id="family-totals">(.*?)</span>', html, re.S)
        assert shown
        assert words(shown[1]) == totals
        for agent, number, took in rows(many, (thread,)):
            block = html.partition(f'id="kin-{agent}"')[2].partition("<details>")[0]
            assert f" {number} " in words(block)
            assert words(block).endswith(took), (words(block), took)
            counts = re.findall(r'data-count="(\w+)">.*?<b class="num">(\d+)</b>', block, re.S)
            assert {status: int(n) for status, n in counts} == dict(
                rows(
                    "SELECT status, count(*) FROM gp_thread WHERE parent = %s AND agent = %s "
                    "GROUP BY status",
                    (thread, agent),
                )
            )
            n_blocks += 1
        for ident, body in re.findall(r'<li id="kin-([0-9a-f-]{36})"[^>]*>(.*?)</li>', html, re.S):
            own = one("SELECT n_steps FROM gp_thread WHERE id = %s", (ident,))
            below = one("SELECT count(*) FROM gp_thread WHERE parent = %s", (ident,))
            assert f"{own} step" in words(body)
            if thread == tree.chief and ident != str(thread):
                assert (f"{below} child" in words(body)) == bool(below)
    assert n_blocks == 3


def _filters(tree: Tree) -> Iterator[dict[str, str]]:
    ids = ["", str(tree.chief), str(tree.lead), str(tree.mapping), str(uuid4())]
    for parent, root, depth in itertools.product(ids, ids, ["", "0", "1", "2", "3"]):
        query = {"parent": parent, "root": root, "depth": depth}
        yield {name: value for name, value in query.items() if value}


def _by_sql(narrow: dict[str, str], agent: str) -> set[str]:
    values = {name: narrow.get(name) for name in ("parent", "root", "depth")} | {"agent": agent}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id::text FROM gp_thread WHERE (%(parent)s::text IS NULL "
            "OR parent::text = %(parent)s) AND (%(root)s::text IS NULL OR root::text = %(root)s "
            "OR id::text = %(root)s) AND (%(depth)s::text IS NULL OR depth::text = %(depth)s) "
            "AND (%(agent)s = '' OR agent = %(agent)s)",
            values,
        )
        return {row[0] for row in cursor.fetchall()}


@pytest.mark.slow
def test_lists_by_every_place_are_those_of_sql(cast: Cast, tree: Tree) -> None:
    """API and board over every combination of root, parent and depth."""
    tree.fleet.work_on(tree.lead)
    client = cast.client("operator")
    n, hits = 0, 0
    for narrow, agent in itertools.product(_filters(tree), ("", "reader")):
        query = narrow | ({"agent": agent} if agent else {})
        wanted = _by_sql(narrow, agent)
        answer = client.get("/api/v1/threads/", query | {"limit": 200})
        assert answer.status_code == 200, (query, answer.content)
        assert {row["id"] for row in answer.json()["results"]} == wanted, query
        if n % 5 == 0:
            # Children are on a board that is not narrowed where it is asked for them.
            query |= {} if query else {"children": "1"}
            board = client.get("/", query | {"status": "queued,waiting"}).content.decode()
            assert set(re.findall(r'<tr id="thread-([0-9a-f-]{36})', board)) == wanted, query
            total = client.get("/", query).content.decode()
            counted = re.findall(r'data-count="\w+">([\d,]+)<', total)
            assert sum(int(count) for count in counted) == len(wanted)
        n, hits = n + 1, hits + bool(wanted)
    assert n == 250
    assert hits > 30
    row = client.get("/api/v1/threads/", {"root": str(tree.chief), "depth": "1"}).json()["results"]
    assert {(r["parent"], r["root"], r["depth"]) for r in row} == {
        (str(tree.chief), str(tree.chief), 1)
    }


def test_the_board_names_the_place_and_drops_it(cast: Cast, tree: Tree) -> None:
    client = cast.client("operator")
    page = client.get(f"/?parent={tree.chief}&depth=1&agent=reader").content.decode()
    assert "Children of A test" in words(page)
    assert f'href="?agent=reader&amp;parent={tree.chief}"' in page
    empty = words(client.get(f"/?root={tree.chief}&depth=9").content.decode())
    assert "No thread in the family tree of “A test” at depth 9." in empty
    # A stranger's thread is not named.
    other = store.create_workspace("other", actor="user:1")
    secret = store.start(
        tree.fleet.agents["reader"].version_id,
        input={},
        workspace=other,
        actor="user:1",
        title="secret plans",
    )
    assert "secret plans" not in client.get(f"/?parent={secret}").content.decode()
    assert "secret plans" not in client.get(f"/?root={secret}").content.decode()
    assert queries.family(secret, workspace=cast.workspace) is None


@pytest.mark.requirement("C38")
def test_who_takes_over_stands_beside_whom_it_took_over_from(cast: Cast, tree: Tree) -> None:
    researcher = tree.fleet.start("researcher", goal="tides")
    tree.fleet.work_on(researcher)
    ((writer,),) = rows("SELECT id FROM gp_thread WHERE base = %s", (researcher,))
    head = one("SELECT head FROM gp_thread WHERE id = %s", (researcher,))
    fork = store.fork(researcher, checkpoint=head, changes={}, actor="user:1")
    html = region(cast, researcher)
    assert [line.split(" ")[0] for line in lines(html)] == ["self:", "heir:"]
    assert "took over from this thread" in words(html)
    assert "2 threads, " in words(html)
    html = region(cast, writer)
    assert [line.split(" ")[0] for line in lines(html)] == ["giver:", "self:"]
    assert "handed over to this thread" in words(html)
    # It is in the tree and no fork; a fork is a fork and not in the tree.
    forks = region(cast, researcher, "thread-forks")
    assert str(fork) in forks
    assert str(writer) not in forks
    assert "hidden" in region(cast, fork)


@pytest.mark.nightly
def test_ten_thousand_children_are_one_line(cast: Cast, tree: Tree) -> None:
    rows("SET LOCAL session_replication_role = replica")
    columns = ", ".join(
        name
        for (name,) in rows(
            "SELECT attname FROM pg_attribute WHERE attrelid = 'gp_thread'::regclass "
            "AND attnum > 0 AND NOT attisdropped AND attgenerated = '' "
            "AND attname NOT IN ('id', 'parent', 'name', 'chain_id')"
        )
    )
    rows(
        f"INSERT INTO gp_thread (id, parent, chain_id, {columns}) SELECT gen_random_uuid(), %s, "
        f"gen_random_uuid(), {columns} FROM gp_thread, generate_series(1, %s) "
        "WHERE id = (SELECT id FROM gp_thread WHERE agent = 'reader' AND root IS NOT NULL LIMIT 1)",
        (tree.mapping, COUNT_CAP + 500),
    )
    rows("SET LOCAL session_replication_role = DEFAULT")
    rows("ANALYZE gp_thread")
    family = queries.family(tree.mapping, workspace=cast.workspace)
    assert family is not None
    assert (family.n_children, family.capped, family.totals.capped) == (COUNT_CAP + 1, True, True)
    html = region(cast, tree.mapping)
    assert len(re.findall(r'<li id="kin-[0-9a-f-]{36}"', html)) <= 20 + 2
    assert len(html) < 40_000
    assert "It has more than 10,000 children" in html
    # One lookup of an index for each statement that counts or lists, no walk over the table.
    for sql, params in (
        (SQL.fan_outs, (tree.mapping, cast.workspace)),
        (SQL.totals, (tree.chief, tree.chief)),
        (SQL.mark, (tree.mapping, cast.workspace)),
    ):
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute(f"EXPLAIN (ANALYZE, FORMAT TEXT) {sql}", params)
            plan = "\n".join(row[0] for row in cursor.fetchall())
        assert "Seq Scan" not in plan, plan
        assert re.search("gp_thread_(children|tree)", plan), plan


def test_events_of_a_tree_have_words(cast: Cast, tree: Tree) -> None:
    finish(tree)
    page = words(cast.client("operator").get(f"/threads/{tree.lead}/").content.decode())
    assert "Joined 3 children: 2 succeeded, 1 failed" in page
    assert EventKind.CHILD_JOINED in page
