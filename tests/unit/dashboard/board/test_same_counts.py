"""Board, overview, warning and API count the same threads; children are named apart everywhere."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

import pytest

from approvals import gates
from checkpoints import store
from checkpoints.states import EventKind
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import drive, make_agent, make_thread, rows
from tests.unit.dashboard import scene

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("G05")]
ENDS = {
    "succeeded": EventKind.THREAD_SUCCEEDED,
    "failed": EventKind.THREAD_FAILED,
    "cancelled": EventKind.THREAD_CANCELLED,
}
# A fan-out whose children nearly all succeed, beside threads of which half failed.
TOP = {"succeeded": 3, "failed": 4, "cancelled": 1, "queued": 2}
CHILDREN = {"succeeded": 21, "failed": 2, "cancelled": 1, "queued": 5}


def ended(cast: Cast, agent: UUID, status: str) -> UUID:
    thread = make_thread(workspace=cast.workspace, agent=agent)
    if status == "cancelled":
        store.cancel(thread, actor="user:1")
    elif status in ENDS:
        driver = drive(thread)
        driver.step()
        store.leave(driver.work, ENDS[status], reason="so")
    return thread


@pytest.fixture
def fan_out(cast: Cast) -> None:
    agent = make_agent("auditor")
    first, *_ = [ended(cast, agent, status) for status, n in TOP.items() for _ in range(n)]
    below = [ended(cast, agent, status) for status, n in CHILDREN.items() for _ in range(n)]
    # As if the first had started them.
    rows("SET session_replication_role = replica")
    rows(
        "UPDATE gp_thread SET parent = %s, root = %s, depth = 1 WHERE id = ANY(%s)",
        (first, first, below),
    )
    rows("SET session_replication_role = DEFAULT")


def figure(cast: Cast, name: str) -> list[dict[str, Any]]:
    answer = cast.client("viewer").get("/api/v1/overview/", {"figure": name})
    listed: list[dict[str, Any]] = answer.json()["figures"][name]["rows"]
    return listed


def board(cast: Cast, query: str = "") -> tuple[dict[str, int], str]:
    html = cast.client("viewer").get(f"/{query}").content.decode()
    pairs = re.findall(r'data-count="(\w+)">([\d,]+)<', html)
    return {status: int(n) for status, n in pairs if n != "0"}, html


@pytest.mark.parametrize("is_added_up", [False, True])
@pytest.mark.usefixtures("fan_out")
def test_all_pages_count_the_same_threads(cast: Cast, is_added_up: bool) -> None:
    if is_added_up:
        # Yesterday is added up by the sweep; by the very statement that counts today.
        rows("SET session_replication_role = replica")
        rows(
            "UPDATE gp_thread SET created_at = created_at - interval '1 day', "
            "status_since = status_since - interval '1 day'"
        )
        rows("SET session_replication_role = DEFAULT")
        while store.fold_due():
            pass
        assert rows("SELECT count(*) FROM gp_figure") != [(0,)]
    counts, html = board(cast)
    assert counts == TOP
    assert f"{sum(CHILDREN.values())} children not listed" in html
    over_time = figure(cast, "throughput")
    for status in ENDS:
        assert sum(row[status] for row in over_time) == TOP[status]
    assert sum(row["started"] for row in over_time) == sum(TOP.values())
    assert sum(row["children"] for row in over_time) == sum(CHILDREN.values())
    (auditor,) = figure(cast, "outcomes")
    assert (auditor["succeeded"], auditor["children"]) == (3, 21)
    assert [(row["failed"], row["children"]) for row in figure(cast, "failures")] == [(4, 2)]
    page = cast.client("viewer").get("/overview/").content.decode()
    for words in (
        "8 ended; + 29 children",
        "4 failed, 1 cancelled; + 21 children",
        "2 queued; + 5 children",
        "2\n              thread",  # No worker is running
        "and 5\n              children of others",
    ):
        assert words in page
    tiles = dict(
        re.findall(r'<span class="muted sm">([\w ]+)</span>\s*<b class="num">(.*?)</b>', page)
    )
    assert (tiles["Started"], tiles["Succeeded"]) == ("10", "38%")
    by_api = cast.client("viewer").get("/api/v1/threads/counts/").json()
    assert {status: n for status, n in by_api["counts"].items() if n} == TOP
    assert by_api["children"] == sum(CHILDREN.values())


@pytest.mark.parametrize("through", ["/token:abcd1234", "/script:demo"])
def test_waits_are_those_for_people(cast: Cast, through: str) -> None:
    """Neither a script that fills a demo nor a program with a token says how long people take."""
    manager = cast.actor("manager")
    for actor in (manager.id, f"{manager.id}{through}"):
        work = scene.lease(scene.start(cast.workspace, scene.make_agent()))
        scene.effect(work, key="publish:1")
        row = scene.gate(work)
        gates.decide(
            row.id,
            workspace=cast.workspace,
            reviewer=gates.Reviewer(actor, "manager"),
            verdict="approve",
            proposal_hash=row.proposal_hash,
        )
    assert sum(row["decisions"] for row in figure(cast, "waiting")) == 1
    assert sum(row["approve"] for row in figure(cast, "decisions")) == 2
    assert [row["decisions"] for row in figure(cast, "reviewers")] == [1]
    page = cast.client("viewer").get("/overview/").content.decode()
    assert "median of 1 verdict by people" in page
    assert "verdicts of scripts and API tokens aren&#x27;t included" in page
