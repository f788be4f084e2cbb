"""docs/howto/board.md: queries find what they name; columns, views, stuck threads."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

import pytest

from checkpoints import store
from checkpoints.states import EventKind
from tests.docs.performing import Performance
from tests.docs.units import QUERY
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import new_activity, rows
from tests.unit.dashboard import scene

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
CHANNELS = {
    "customer": {"reducer": "last_value", "default": None, "searchable": True},
    "order": {"reducer": "last_value", "default": None, "searchable": True},
}


def searchable() -> UUID:
    """An agent whose customer and order can be searched."""
    return store.announce_version(
        agent="orders",
        version=1,
        fingerprint="a" * 64,
        label="Orders",
        description="",
        schema_version=1,
        schema=scene.SCHEMA,
        channels=scene.CHANNELS | CHANNELS,
        graph=scene.GRAPH,
        tools={},
        queue="gatepost",
    )


def hours_ago(thread: UUID, hours: int) -> None:
    rows(
        "UPDATE gp_thread SET created_at = created_at - make_interval(hours => %s), "
        "status_since = status_since - make_interval(hours => %s), "
        "last_at = last_at - make_interval(hours => %s) WHERE id = %s",
        [hours, hours, hours, thread],
    )


@pytest.fixture
def threads(cast: Cast) -> dict[str, UUID]:
    """One for each filter of the page, and one that none of them fits."""
    payments, research = scene.make_agent("payments"), scene.make_agent("research")

    def started(agent: UUID, title: str, **more: Any) -> UUID:
        return store.start(
            agent,
            input={"goal": "delays"} | more.pop("input", {}),
            workspace=cast.workspace,
            actor="user:1",
            title=title,
            **more,
        )

    failed = started(payments, "Invoice 4711, once more")
    store.leave(scene.lease(failed), EventKind.THREAD_FAILED, reason="HTTP 503")
    hours_ago(failed, 3)
    silent = scene.lease(started(payments, "Silent"))
    scene.step(silent)
    hours_ago(silent.thread, 1)
    dear = scene.lease(started(research, "Dear"))
    call = new_activity(dear, "model#0", kind="model")
    store.record_activity(dear, call, result="yes", usage={"tokens": 12, "cost": "0.75"})
    scene.step(dear, report="x", leave_by=EventKind.THREAD_SUCCEEDED)
    made = {
        "failed": failed,
        "silent": silent.thread,
        "dear": dear.thread,
        "label": started(research, "Labelled", labels={"team": "finance"}),
        "order": started(
            searchable(), "Ordered", input={"customer": "acme", "order": {"id": "4711"}}
        ),
        "plain": started(research, "Plain"),
    }
    store.note_stuck()
    return made


def test_each_query_of_the_page_finds_what_it_names(cast: Cast, threads: dict[str, UUID]) -> None:
    page = Performance("board", cast)
    client = cast.client("operator")

    def matches(query: str) -> set[str]:
        """Names of the threads that the board and the call list for a query; they agree."""
        ids = {str(ident): name for name, ident in threads.items()}
        answer = client.get("/api/v1/threads/", {"q": query})
        assert answer.status_code == 200, (query, answer.content)
        called = {ids[one["id"]] for one in answer.json()["results"]}
        html = client.get("/", {"q": query}).content.decode()
        board = set(re.findall(r'<tr id="thread-([0-9a-f-]{36})"', html))
        assert {ids[one] for one in board} == called, query
        return called

    expected = {
        "status:failed,paused": {"failed"},
        "agent:payments": {"failed", "silent"},
        "node:publish": {"silent"},
        "stuck:publish": {"silent"},
        "age:>2h": {"failed"},
        "idle:>30m": {"failed", "silent"},
        "cost:>0.50": {"dear"},
        "label:team=finance": {"label"},
        "state.customer:acme": {"order"},
        "state.order.id:4711": {"order"},
        "has:stuck": {"silent"},
    }
    block = page.code("status:failed,attention").strip()
    assert matches(block) == {"failed"}
    table = page.text.partition("| filter |")[2].partition("\n\n")[0]
    examples = [code for code in re.findall(r"`([^`]+)`", table) if QUERY.fullmatch(code)]
    assert set(examples) == set(expected)
    for query in examples:
        assert matches(page.unit(query)) == expected[query], query
        assert matches(f"-{query}").isdisjoint(expected[query]), query
    for word in re.search(r"`has:` \| (.+?) \|", table)[1].split(", "):  # type: ignore[index]
        matches(f"has:{word.split('`')[1]}")
    # Titles from the beginning of a word; ids by their beginning.
    assert matches("inv") == matches("4711") == {"failed"}
    assert matches("voice") == set()
    # Its milliseconds alone may be those of another thread.
    assert matches(str(threads["plain"])[:23]) == {"plain"}
    # What is compared row by row is taken as well, beside a status or an agent.
    assert matches(page.unit("idle:<") + "30m agent:orders") == {"order"}
    assert matches(page.unit("age:>") + "2h status:failed") == {"failed"}
    # A mistake is 422 with its word.
    wrong = client.get("/api/v1/threads/", {"q": "stauts:failed"})
    assert (wrong.status_code, "stauts" in wrong.json()["detail"]) == (422, True)
    other = client.get("/api/v1/threads/", {"q": "state.goal:delays agent:orders"})
    assert (other.status_code, "customer" in other.json()["detail"]) == (422, True)

    listed = page.run('./manage.py threads list -q "has:stuck agent:payments"', "operator")
    assert [one["id"] for one in listed["results"]] == [str(threads["silent"])]
    page.unit("GET /threads/?q=")  # each query above was put to it

    # Columns and density are part of the address.
    columns = re.search(r"^\| `columns=` \| (.*) \|$", page.text, re.MULTILINE)[1]  # type: ignore[index]
    for name in re.findall(r"`([a-z]+)`", columns.partition(";")[0]):
        assert client.get("/", {"columns": name}).status_code == 200, name
    plain = client.get("/", {"density": "comfortable"}).content
    assert client.get("/", {"density": "compact"}).content != plain

    # Views by command and call; another name for a thread; who is stuck.
    by_command = page.run("./manage.py view save", "operator")
    assert by_command["shared"]
    assert "My failed" in cast.client("manager").get("/").content.decode()
    page.client("operator", ("views",)).post(
        f"/api/v1/views/{by_command['id']}/change/",
        {"name": "Former"},
        content_type="application/json",
    )
    scope = {"scopes": ("read", "views")}
    made = page.call("curl ", "operator", status=201, **scope)
    assert (made["name"], made["shared"]) == ("My failed", True)
    assert len(page.call("GET /views/", "operator")["results"]) == 2
    assert page.call("GET /views/{id}/", "operator", ID=made["id"])["address"] == made["address"]
    change = {"name": "Failed", "address": made["address"], "shared": False}
    changed = page.call("POST /views/{id}/change/", "operator", change, ID=made["id"], **scope)
    assert (changed["name"], changed["shared"]) == ("Failed", False)
    page.call("POST /views/{id}/remove/", "operator", {}, ID=made["id"], **scope)
    assert len(page.client("operator").get("/api/v1/views/").json()["results"]) == 1

    plain_thread = threads["plain"]
    start = "POST /threads/{id}/rename/"
    renamed = page.call(start, "operator", {"title": "October"}, ID=plain_thread)
    assert renamed["title"] == "October"
    page.run("threads rename", "operator", more=f"{plain_thread} November")
    events = client.get(f"/api/v1/threads/{plain_thread}/events/").json()["results"]
    assert [one["kind"] for one in events[-2:]] == ["thread.renamed"] * 2

    stuck = page.call("GET /threads/stuck/?agent=payments&node=publish", "operator")
    (one,) = stuck["results"]
    assert one["thread"] == str(threads["silent"]), one
    assert one["reason"]
    assert one["next_action"]
    why = client.get(f"/api/v1/threads/{threads['silent']}/").json()["why_waiting"]
    rules = re.findall(r"^\| `([a-z]+)` \| (?:it|its|no) ", page.text, re.MULTILINE)
    assert why["facts"]["stuck"] in rules
    assert len(rules) == 6
    explained = page.run("./manage.py doctor", more=str(threads["silent"]))
    assert one["reason"] in str(explained)
    page.complete()
