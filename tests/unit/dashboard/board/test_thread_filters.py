"""Each filter of threads lists the same wherever it can be given, and a breaker stops those."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command

from checkpoints import queries, store
from checkpoints.breakers.rule import STOPPED_BY
from checkpoints.chain.verify import ChainReport
from dashboard.board.breaker_actions import TRIP, Selection
from dashboard.fields.filters import CALL, COMMAND, PAGE, PAIR, TOOL
from dashboard.fields.thread_filters import THREADS, ThreadFilter
from dashboard.gateway.server.tools.arguments import ListThreads
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import CHANNELS, OPERATOR, make_agent, make_thread, rows
from tests.unit.dashboard.board.test_board_children import listed

pytestmark = pytest.mark.django_db
GRAPH = {"entry": ["work"], "nodes": [{"name": "work", "then": ["work"]}]}
BY_NAME = {one.name: one for one in THREADS}


@dataclass
class Few:
    """A thread, its child and one of another agent; `values` select some of them."""

    cast: Cast
    values: dict[str, str]
    expected: dict[str, set[str]]


@pytest.fixture
def few(cast: Cast) -> Few:
    ours, other = make_agent("counting"), make_agent("paying")
    make = {"workspace": cast.workspace}
    lead = make_thread(agent=ours, name="monday", labels={"team": "a:b"}, **make)
    child = make_thread(agent=ours, title="Tea for two", **make)
    alone = make_thread(agent=other, **make)
    rows(
        "UPDATE gp_thread SET parent = %s, root = %s, depth = 1 WHERE id = %s", (lead, lead, child)
    )
    rows("UPDATE gp_thread SET status = 'paused' WHERE id = %s", (alone,))
    elsewhere = store.announce_version(
        agent="elsewhere",
        version=1,
        fingerprint="f",
        label="Elsewhere",
        description="",
        schema_version=1,
        schema={"type": "object"},
        channels=CHANNELS,
        graph=GRAPH | {"external": {"framework": "crewai", "can": [], "open": False}},
        tools={},
        queue="gatepost",
    )
    crew = make_thread(agent=elsewhere, **make)
    report = ChainReport(crew, False, 1, 1, "an event was altered")
    store.note_verification(report, actor=OPERATOR)
    four = {str(lead): "lead", str(child): "child", str(alone): "alone", str(crew): "crew"}
    names = {name: ident for ident, name in four.items()}
    chosen: dict[str, tuple[str, str]] = {
        "status": ("paused", "alone"),
        "agent": ("paying", "alone"),
        "framework": ("crewai", "crew"),
        "name": ("monday", "lead"),
        "label": ("team:a:b", "lead"),
        "q": ("tea", "child"),
        "stuck": ("1", ""),
        "parent": (str(lead), "child"),
        "root": (str(lead), "lead child"),
        "depth": ("1", "child"),
        "damaged": ("1", "crew"),
        "children": ("1", "lead child alone crew"),
        "held": ("1", ""),
    }
    return Few(
        cast,
        {name: value for name, (value, _) in chosen.items()},
        {name: {names[one] for one in which.split()} for name, (_, which) in chosen.items()},
    )


def of_call(few: Few, **texts: str) -> set[str]:
    answer = few.cast.client("viewer").get("/api/v1/threads/", texts)
    assert answer.status_code == 200, answer.content
    return {row["id"] for row in answer.json()["results"]}


def of_command(one: ThreadFilter, value: str) -> set[str]:
    words = [f"-{one.name}" if one.name == "q" else f"--{one.name}"]
    if one.kind.type is not bool:
        words.append(value.replace(":", "=", 1) if one.kind is PAIR else value)
    out = io.StringIO()
    call_command("threads", "list", *words, "--as", "viewer", "--json", stdout=out)
    return {row["id"] for row in json.loads(out.getvalue())["results"]}


@pytest.mark.parametrize("name", BY_NAME)
def test_a_filter_lists_the_same_on_page_call_command_and_tool(few: Few, name: str) -> None:
    one, value, expected = BY_NAME[name], few.values[name], few.expected[name]
    seen: dict[str, set[str]] = {}
    if PAGE in one.endpoints:
        html = few.cast.client("viewer").get("/", {name: value}).content.decode()
        seen[PAGE] = listed(html)
        if one.label:
            assert one.label in html
    if CALL in one.endpoints:
        seen[CALL] = of_call(few, **{name: value})
    if COMMAND in one.endpoints:
        seen[COMMAND] = of_command(one, value)
    if TOOL in one.endpoints:
        args = ListThreads.model_validate({name: read(one, value)})
        seen[TOOL] = of_call(few, **{k: str(v).lower() for k, v in args.body().items()})
    assert seen == dict.fromkeys(one.endpoints, expected)


def read(one: ThreadFilter, value: str) -> Any:
    """The value as JSON has it."""
    value_in_json = one.kind.value(value)
    return value_in_json if one.kind.type in (bool, int) else value


@pytest.mark.requirement("G01")
@pytest.mark.parametrize("name", [one.name for one in THREADS if one.stopped])
def test_a_breaker_stops_what_the_list_shows(few: Few, name: str) -> None:
    one, value = BY_NAME[name], few.values[name]
    wanted = Selection.model_validate({name: read(one, value)})
    who = few.cast.actor("operator")
    shown = {UUID(ident) for ident in few.expected[name]}
    live = {t.id for t in queries.threads(workspace=few.cast.workspace, limit=9).rows if t.live}
    assert TRIP.plan(who, wanted).model_dump()["total"] == len(shown & live)
    store.trip_breaker(few.cast.workspace, wanted.stored(), reason="why", actor=OPERATOR)
    stopped = rows(
        f"SELECT th.id FROM gp_thread th WHERE th.workspace_id = %s AND EXISTS ({STOPPED_BY})",
        (few.cast.workspace,),
    )
    assert {ident for (ident,) in stopped} == shown


@pytest.mark.requirement("G01")
def test_a_breaker_of_depth_0_leaves_children_alone(few: Few) -> None:
    wanted = Selection.model_validate({"depth": 0})
    assert wanted.stored() == {"depth": 0}
    assert TRIP.plan(few.cast.actor("operator"), wanted).model_dump()["total"] == 3


def test_each_field_is_a_filter(few: Few) -> None:
    assert few.values.keys() == BY_NAME.keys()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("status", "faild"),
        ("status", "failed,late"),
        ("label", "team"),
        ("label", ":a"),
        ("parent", "7"),
        ("depth", "-1"),
        ("depth", str(10**9)),
        ("damaged", "perhaps"),
        ("nobody", "6281e7b9-ac93-42b1-9133-8228c0ee9bbc"),
    ],
)
def test_a_wrong_value_is_refused_everywhere(cast: Cast, name: str, value: str) -> None:
    client = cast.client("viewer")
    answer = client.get("/api/v1/threads/", {name: value})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["path"] == name
    if name != "label":
        assert client.get("/", {name: value}).status_code == 422
    with pytest.raises((SystemExit, CommandError)) as caught:
        call_command("threads", "list", f"--{name}={value}", "--as", "viewer")
    assert getattr(caught.value, "code", 2) == 2
