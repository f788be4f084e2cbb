"""Forms of a thread with children: pause, resume, cancel and rollback reach them by choice."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from tests.support.cast import Cast
from tests.unit.checkpoints.builders import one, rows
from tests.unit.workers.tree.agents import GRAPHS
from tests.unit.workers.tree.conftest import Fleet
from workers.authoring.graph import END, Graph, State
from workers.code.registry import announce
from workers.node.context import Context
from workers.slot import reached

pytestmark = pytest.mark.django_db

starter, patient = Graph("starter", State), Graph("patient", State)


@starter.node(then=END)
def leave_behind(state: State, ctx: Context) -> dict[str, Any]:
    """Start a reader and end without it."""
    ctx.spawn("reader", {"file": "left"})
    return {}


@patient.node(then="delegate")
def begin(state: State, ctx: Context) -> dict[str, Any]:
    return {}


@patient.node(then=END)
def delegate(state: State, ctx: Context) -> dict[str, Any]:
    ctx.spawn("starter", {})
    ctx.join([ctx.spawn("reader", {"file": "a"})])
    return {}


@dataclass
class Tree:
    """A patient thread that waits for a reader; the starter has ended, its own reader has not."""

    fleet: Fleet
    top: UUID
    client: Client

    @property
    def url(self) -> str:
        return f"/threads/{self.top}/"

    def statuses(self) -> list[str]:
        """Of the thread and of the two below it that can still be reached."""
        result = rows(
            "SELECT status FROM gp_thread WHERE agent <> 'starter' AND workspace_id = %s "
            "ORDER BY depth, id",
            (self.fleet.workspace,),
        )
        return [status for (status,) in result]


@pytest.fixture
def tree(cast: Cast) -> Tree:
    agents = {graph.name: announce(graph, {}, ()) for graph in (*GRAPHS, starter, patient)}
    fleet = Fleet(agents, cast.workspace)
    top = fleet.start("patient")
    fleet.work_on(top)
    [born] = [r[0] for r in rows("SELECT id FROM gp_thread WHERE agent = 'starter'")]
    fleet.work_on(born)
    return Tree(fleet, top, cast.client("operator"))


def carry_out() -> None:
    while reached.carry_out():
        pass


def unfinished_below(thread: UUID) -> int:
    """Counted by plain SQL: `root` names all threads of the tree."""
    return int(
        one(
            "SELECT count(*) FROM gp_thread WHERE root = %s AND status NOT IN "
            "('succeeded', 'failed', 'cancelled')",
            (thread,),
        )
    )


def choice(html: str) -> str:
    """What the checkbox says, and whether it is ticked."""
    [label] = re.findall(r'<label class="check" id="reach">(.*?)</label>', html, re.S)
    ticked = "[x] " if re.search(r'name="children"[^>]* checked', label) else "[ ] "
    return ticked + " ".join(re.sub(r"<[^>]+>", " ", label).split())


def test_pause_and_resume_ask_about_children_and_reach_them(tree: Tree) -> None:
    client, url = tree.client, tree.url
    assert unfinished_below(tree.top) == 2
    redirect = client.post(f"{url}pause/", {"next": "/?status=waiting"})
    assert redirect["Location"] == f"{url}pause/?next=%2F%3Fstatus%3Dwaiting"
    assert tree.statuses() == ["waiting", "queued", "queued"]
    html = client.get(redirect["Location"]).content.decode()
    assert choice(html).startswith("[ ] Also 2 children, all queued. ")
    [version] = re.findall(r'name="version" value="(\d+)"', html)
    posted = {"version": version, "chosen": "1", "next": "/?status=waiting", "children": "1"}
    answer = client.post(f"{url}pause/", posted)
    assert answer["Location"] == "/?status=waiting"
    carry_out()
    assert tree.statuses() == ["paused"] * 3

    html = client.get(f"{url}resume/").content.decode()
    assert choice(html).startswith("[ ] Also 2 children, all paused. ")
    answer = client.post(f"{url}resume/", {"chosen": "1"}, follow=True)
    assert "Resumed: it continues" in answer.content.decode()
    assert "So do its children" not in answer.content.decode()
    carry_out()
    assert tree.statuses() == ["queued", "paused", "paused"]
    client.post(f"{url}pause/", {"chosen": "1"})  # all children are paused: nobody is asked about
    client.post(f"{url}resume/", {"chosen": "1", "children": "1"})
    carry_out()
    assert tree.statuses() == ["queued"] * 3


def test_held_children_are_counted_apart(tree: Tree) -> None:
    thread = tree.fleet.start("mapping", files=["p", "q", "r"], at_most=1)
    tree.fleet.work_on(thread)
    html = tree.client.get(f"/threads/{thread}/pause/").content.decode()
    assert choice(html).startswith("[ ] Also 3 children: 1 queued, 2 held. ")
    tree.client.post(f"/threads/{thread}/pause/", {"chosen": "1", "children": "1"})
    carry_out()
    # Those that are held stay so: a pause is kept for each until it may begin.
    paused = "SELECT count(*) FROM gp_thread WHERE root = %s AND status = 'paused'"
    for_later = "SELECT count(*) FROM gp_wake WHERE kind = 'reach' AND ref LIKE 'pause %%'"
    assert (one(paused, (thread,)), one(for_later)) == (1, 2)


def test_nobody_is_asked_where_no_child_would_be_reached(tree: Tree) -> None:
    client, url = tree.client, tree.url
    assert 'id="reach"' not in client.get(f"{url}resume/", follow=True).content.decode()
    tree.fleet.work()
    assert unfinished_below(tree.top) == 0
    other = tree.fleet.start("patient")
    answer = client.post(f"/threads/{other}/pause/")
    assert answer["Location"] == f"/threads/{other}/"
    assert tree.fleet.row(other).status == "paused"
    assert 'id="reach"' not in client.get(f"/threads/{other}/cancel/").content.decode()


def test_who_may_not_pause_is_refused_as_ever(tree: Tree, cast: Cast) -> None:
    assert cast.client("auditor").post(f"{tree.url}pause/").status_code == 403
    assert cast.client("auditor").get(f"{tree.url}pause/")["Location"] == tree.url
    past = tree.client.post(f"{tree.url}pause/", {"past": "0"})
    assert past.status_code == 409
    ahead = tree.client.post(f"{tree.url}pause/", {"before_node": "delegate"})
    assert ahead["Location"] == tree.url


def test_a_cancel_reaches_children_of_children_that_ended(tree: Tree) -> None:
    html = tree.client.get(f"{tree.url}cancel/").content.decode()
    assert choice(html).startswith("[ ] Also 2 children, all queued. ")
    refused = tree.client.post(f"{tree.url}cancel/", {"children": "1", "version": "999"})
    assert choice(refused.content.decode()).startswith("[x] ")
    answer = tree.client.post(f"{tree.url}cancel/", {"children": "1"}, follow=True)
    assert "Its children are cancelled one after the other." in answer.content.decode()
    carry_out()
    assert tree.statuses() == ["cancelled"] * 3


def test_a_cancel_without_the_choice_leaves_children_alone(tree: Tree) -> None:
    tree.client.post(f"{tree.url}cancel/")
    carry_out()
    assert tree.statuses() == ["cancelled", "queued", "queued"]


@pytest.mark.parametrize("chosen", [False, True], ids=["alone", "with-children"])
def test_a_rollback_cancels_what_was_started_since_where_it_is_chosen(
    tree: Tree, chosen: bool
) -> None:
    first = one("SELECT id FROM gp_checkpoint WHERE thread_id = %s AND number = 0", (tree.top,))
    dialog = f"{tree.url}rollback/?checkpoint={first}"
    html = tree.client.get(dialog).content.decode()
    assert choice(html).startswith("[ ] Also 2 children, all queued. It started them after this ")
    form = {"reason": "wrong data"} | ({"children": "1"} if chosen else {})
    assert tree.client.post(dialog, form).status_code == 303
    carry_out()
    below = ["cancelled", "cancelled"] if chosen else ["queued", "queued"]
    assert tree.statuses()[1:] == below


def test_a_cap_says_that_it_counts_the_tree(cast: Cast) -> None:
    html = cast.client("admin").get("/admin/policies/").content.decode()
    assert "Each thread with its family tree" in html
    assert "What children spend counts for the thread that started them." in html
