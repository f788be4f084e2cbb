"""A thread's page says which steps are finished, by name, and which response is awaited."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.utils.html import strip_tags

from approvals import gates
from checkpoints import store
from checkpoints.states import EventKind, Status
from dashboard.html import graphs
from dashboard.html.summary import LISTED, response_awaited, summarise
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import new_activity
from tests.unit.dashboard import scene

GRAPH: dict[str, Any] = {
    "entry": ["collect"],
    "nodes": [
        {"name": "collect", "then": ["clean"], "label": "Collection"},
        {"name": "clean", "then": ["analyse"], "label": "Data cleaning"},
        {"name": "analyse", "then": ["publish"], "label": "Market analysis"},
        {"name": "publish", "then": [], "label": "Publish"},
    ],
}


def summary_of(cast: Cast, thread: object, query: str = "") -> str:
    """The sentence on the page, as it is read."""
    html = cast.client("operator").get(f"/threads/{thread}/{query}").content.decode()
    match = re.search(r'<p id="thread-summary".*?</p>', html, re.S)
    assert match
    return " ".join(strip_tags(match[0]).split())


@pytest.mark.django_db
@pytest.mark.requirement("A12")
def test_the_page_names_what_is_finished_and_what_is_awaited(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scene, "GRAPH", GRAPH)
    agent = scene.make_agent("market")
    thread = scene.start(cast.workspace, agent)
    assert summary_of(cast, thread).startswith("No step done yet. Waiting for 1 Collection")
    loop = scene.lease(scene.start(cast.workspace, agent))
    for _ in range(3):
        scene.step(loop, nodes=("collect",), next_nodes=("collect",), report="a")
    assert summary_of(cast, loop.thread) == "3 steps done. Waiting for 1 Collection."
    assert summary_of(cast, loop.thread, "?cp=2").startswith("2 steps done. Next was 1 Collection")
    page = cast.client("operator").get(f"/threads/{loop.thread}/").content.decode()
    assert "3 steps done</span>" in page.partition('id="plan-title"')[2][:200], "the plan agrees"
    work = scene.lease(thread)
    scene.step(work, nodes=("collect",), next_nodes=("clean",), report="a")
    scene.step(work, nodes=("clean",), next_nodes=("analyse",), report="b")
    assert summary_of(cast, thread) == (
        "Finished 1 Collection, 2 Data cleaning. Waiting for 3 Market analysis."
    )
    scene.effect(work, done=False)
    assert summary_of(cast, thread) == (
        "Finished 1 Collection, 2 Data cleaning. "
        "Waiting for 3 Market analysis: the answer of publish."
    )
    assert summary_of(cast, thread, "?cp=1") == "Finished 1 Collection. Next was 2 Data cleaning."


@pytest.mark.django_db
@pytest.mark.requirement("A12")
def test_a_request_is_the_response_that_is_awaited(cast: Cast) -> None:
    row = scene.waiting(cast.workspace, scene.make_agent())
    words = summary_of(cast, row.thread)
    assert words.endswith(": a decision.")
    assert row.headline not in words  # the note below names it
    gates.withdraw_open(row.thread, reason="enough", actor="user:1")
    store.cancel(row.thread, reason="enough", actor="user:1")
    assert "Cancelled before" in summary_of(cast, row.thread)


def plan_of(done: int, total: int) -> list[graphs.PlanStep]:
    """A plan of `total` steps of which `done` are finished and the next one is now."""
    state = lambda n: "done" if n < done else "now" if n == done else "todo"  # noqa: E731
    return [graphs.PlanStep(f"n{n}", f"Step {n}", state(n), 1, None, False) for n in range(total)]


@pytest.mark.parametrize("status", list(Status))
def test_every_status_says_what_it_does_about_the_next_step(status: Status) -> None:
    made = summarise(plan_of(2, 4), status=status, response="an answer")
    assert [step.number for step in made.finished] == [1, 2]
    assert [step.number for step in made.awaited] == [3]
    assert made.verb


def test_of_many_steps_the_newest_are_named() -> None:
    made = summarise(plan_of(20, 30), status=Status.RUNNING)
    assert (len(made.finished), made.before) == (LISTED, 20 - LISTED)
    assert made.finished[-1].number == 20


def test_a_node_beyond_the_plan_is_named_without_a_number() -> None:
    made = summarise([], status=Status.RUNNING, current=("elsewhere",))
    assert [(step.number, step.label) for step in made.awaited] == [(0, "elsewhere")]


def test_requests_come_before_calls_and_calls_before_the_rest() -> None:
    ask = lambda **more: response_awaited((), branch=0, step=1, **more)  # noqa: E731
    assert ask(requests=1, why="queue") == "a decision"
    assert ask(requests=2, why="queue") == "2 decisions"
    assert ask(why="queue") == "a free worker"
    assert ask(why="gate") == ""


@pytest.mark.django_db
@pytest.mark.rubric(17)
def test_each_step_says_what_it_took_and_the_head_the_sum(cast: Cast) -> None:
    work = scene.lease(scene.start(cast.workspace, scene.make_agent()))

    def ask(key: str) -> None:
        call = new_activity(work, key, kind="model", tool="model")
        store.record_activity(work, call, result="x", usage={"tokens": 12, "cost": "0.25"})

    ask("model#0")
    ask("model#1")
    one = scene.step(work, report="one")
    two = scene.step(work, report="two")
    ask("model#0")
    three = scene.step(work, report="three")
    html = cast.client("viewer").get(f"/threads/{work.thread}/").content.decode()
    rows = {
        ident: " ".join(strip_tags(body).split())
        for ident, body in re.findall(r'<li id="checkpoint-([0-9a-f-]+)"(.*?)</li>', html, re.S)
    }
    # The time of each step, its tokens and its cost; those of all steps stand at the top.
    assert rows[str(one)].endswith("· 24 tokens, $0.5")
    assert "tokens" not in rows[str(two)]
    assert "· 12 tokens, $0.25" in rows[str(three)]
    assert all(re.search(r"\d m?s · ", rows[str(step)]) for step in (one, two, three))
    facts = " ".join(
        strip_tags(html.partition('id="thread-facts"')[2].partition("</dl>")[0]).split()
    )
    assert "Tokens36" in facts
    assert "Cost$0.75" in facts


@pytest.mark.django_db
@pytest.mark.parametrize("kind", [EventKind.THREAD_PARKED, EventKind.THREAD_FAILED])
def test_the_lineage_says_finished_of_finished_threads_only(cast: Cast, kind: EventKind) -> None:
    agent = scene.make_agent()
    work = scene.lease(scene.start(cast.workspace, agent))
    scene.step(work, nodes=("read",), next_nodes=(), report="a")
    store.leave(work, kind, reason="Look at it.")
    page = cast.client("operator").get(f"/threads/{work.thread}/").content.decode()
    now = page.partition('id="lineage-now"')[2].partition("</li>")[0]
    assert "no next step" in now
    assert "finished" not in now
