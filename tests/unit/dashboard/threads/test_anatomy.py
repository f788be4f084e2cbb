"""The anatomy of a checkpoint: four layers from what is on record, by page, API and capsule."""

from __future__ import annotations

import json
import platform
import random
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any
from uuid import UUID

import pytest

from checkpoints import queries
from checkpoints.queries.anatomy import around
from dashboard.documents.answer_json import json_value
from dashboard.documents.state_document import HISTORY
from dashboard.threads.page.anatomy import anatomy_of
from dashboard.threads.page.anatomy_shape import Anatomy
from gatepost_command import __version__
from tests.support.cast import Cast
from tests.unit.dashboard.calls import V1
from tests.unit.dashboard.carried import export
from tests.unit.workers.conftest import Bench, bench_of
from workers.authoring.graph import END, Append, Graph, Retry, State, Way
from workers.authoring.language_models import Reply, Request
from workers.node.context import Context, current, cursor, progress

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("B20")]


class Round(State):
    goal: str
    rounds: int = 3
    seen: Annotated[list[int], Append()] = []
    file: dict[str, Any] = {}


class Falls:
    """In which call the next one fails, and what each call was."""

    at: int = -1
    calls: list[str] = []


def look(number: int) -> dict[str, Any]:
    Falls.calls.append(f"look {number}")
    data = f"row {number}".encode()
    return {"row": number, "file": current().artifact(f"{number}.txt", data, "text/plain")}


def crawl(number: int) -> list[int]:
    pages: list[int] = (cursor() or {"pages": []})["pages"]
    for page in range(len(pages), 3):
        if Falls.at == number and page == 2:
            Falls.at = -1
            raise RuntimeError("the site is away")
        Falls.calls.append(f"crawl {number}.{page}")
        pages.append(page)
        progress(page, 3, cursor={"pages": pages}, every=1)
    return pages


def answer(request: Request) -> Reply:
    return Reply(f"on {request.parts[-1]}", model="small-1", tokens_in=3, tokens_out=4, cost="0.5")


graph = Graph("rounds", Round, retry=Retry(attempts=1), model=answer)


def again(state: Round) -> Way:
    return Way("collect" if len(state.seen) < state.rounds else "report")


@graph.node(then=again, ways=("collect", "report"))
def collect(state: Round, ctx: Context) -> dict[str, Any]:
    number = len(state.seen)
    ctx.think(f"round {number}", so_far=number)
    result = ctx.activity(look, number)
    ctx.activity(crawl, number)
    return {"seen": [number], "file": result["file"]}


@graph.node(then=END)
def report(state: Round, ctx: Context) -> dict[str, Any]:
    ctx.model("Sum up", state.seen, system="You are brief.", temperature=0.25)
    return {}


MODULE = SimpleNamespace(graph=graph, __name__=__name__, __file__=__file__)


@pytest.fixture
def bench(cast: Cast) -> Bench:
    Falls.at, Falls.calls = -1, []
    made = bench_of(MODULE)
    made.workspace = cast.workspace
    return made


def at(bench: Bench, thread: UUID, number: int | None = None) -> Anatomy:
    row = bench.row(thread)
    point = queries.checkpoint_by_number(thread, row.number if number is None else number)
    return anatomy_of(row, point, queries.state_at(thread, point.id))


def looked(anatomy: Anatomy) -> list[int]:
    """What the calls of `look` on the way saw, oldest first."""
    return [one.result["row"] for one in anatomy.tools.results[::-1] if one.tool == "look"]


@pytest.mark.requirement("B21")
def test_a_finished_thread_has_all_four_layers(bench: Bench) -> None:
    config = {"model": "small", "temperature": 0.7, "prompt": "Be kind."}
    thread = bench.start(goal="count the rows", config=config)
    assert bench.advance(thread).status == "succeeded"
    end = at(bench, thread)

    mission = end.mission
    assert mission.goal == "count the rows"
    assert [[*step.nodes] for step in mission.finished] == [[]] + [["collect"]] * 3 + [["report"]]
    assert (mission.n_earlier, mission.next_nodes, mission.remaining) == (0, [], [])
    assert [t.text for t in mission.reasoning] == ["round 0", "round 1", "round 2"]
    assert mission.reasoning[2].facts == {"so_far": 2}

    tools = [(one.tool, one.state) for one in end.tools.results[::-1]]
    assert tools == [("look", "done"), ("crawl", "done")] * 3 + [("model", "done")]
    assert end.tools.since == []
    assert [(f.name, f.named_by) for f in end.tools.files] == [
        ("2.txt", "state"), ("1.txt", "collect: look"), ("0.txt", "collect: look"),
    ]  # fmt: skip

    assert end.model.config == config
    (use,) = end.model.uses
    assert (use.model, use.temperature, use.system) == ("small-1", 0.25, "You are brief.")
    assert (use.calls, use.tokens, use.cost) == (1, 7, "0.5")

    environment = end.environment
    assert (environment.agent, environment.agent_version) == ("rounds", 1)
    assert environment.fingerprint == bench.agent.fingerprint
    code = queries.code_of_version(bench.agent.version_id)
    assert environment.packages == (code or {})["packages"]
    assert (environment.python, environment.gatepost) == (platform.python_version(), __version__)
    assert environment.worker == environment.written_by == "worker:test"
    assert environment.host == "test"


@pytest.mark.requirement("B21")
def test_a_checkpoint_of_the_past_is_told_as_it_was_with_what_came_after_it(bench: Bench) -> None:
    thread = bench.start(goal="count")
    bench.advance(thread)
    first = at(bench, thread, 1)
    assert [t.text for t in first.mission.reasoning] == ["round 0"]
    assert looked(first) == [0]
    assert sorted(one.tool for one in first.tools.since) == ["crawl", "look"]
    assert first.mission.next_nodes == ["collect"]
    assert first.mission.remaining == ["collect", "report"]
    assert first.model.uses == []
    begin = at(bench, thread, 0)
    assert (begin.mission.reasoning, begin.tools.results) == ([], [])
    assert begin.environment.worker == ""
    assert begin.environment.written_by == "user:1"


@pytest.mark.requirement("B21")
def test_a_call_that_failed_shows_its_cursor_and_goes_on_from_it(bench: Bench) -> None:
    thread = bench.start(goal="crawl")
    Falls.at = 1
    assert bench.advance(thread).status == "failed"
    failed = at(bench, thread)
    (look_call, crawl_call) = sorted(failed.tools.since, key=lambda one: one.tool, reverse=True)
    assert (look_call.state, look_call.result["row"]) == ("done", 1)
    assert (crawl_call.state, crawl_call.cursor) == ("failed", {"pages": [0, 1]})
    assert "the site is away" in crawl_call.error
    assert {f.name for f in failed.tools.files} == {"0.txt", "1.txt"}
    Falls.calls.clear()
    bench.retry(thread)
    assert bench.advance(thread).status == "succeeded"
    # Neither the call that was done nor a page that was fetched is asked for again.
    assert Falls.calls[:2] == ["crawl 1.2", "look 2"]


def test_random_courses_with_rollbacks_forks_and_edits(bench: Bench) -> None:
    """The state, which only what lies on the way has grown, says what must stand at each one."""
    dice = random.Random(18)
    threads = [bench.start(goal="wander", rounds=4)]
    for turn in range(12):
        thread = dice.choice(threads)
        if bench.row(thread).status == "queued":
            bench.advance(thread)
        points = [c.number for c in bench.checkpoints(thread) if not c.abandoned]
        if turn % 2 or not points[1:]:
            number = dice.choice(points)
            threads.append(bench.fork(thread, number, {"goal": f"fork {number}"}))
        else:
            bench.roll_back(thread, dice.choice(points[1:]))
            bench.edit(thread, {"rounds": 3}, "shorter")
            bench.resume(thread)
    for thread in threads:
        if bench.row(thread).status == "queued":
            bench.advance(thread)
    looks = 0
    for thread in threads:
        for point in bench.checkpoints(thread):
            state = bench.state_at(thread, point.id)
            shown = anatomy_of(bench.row(thread), point, state)
            wanted = [f"round {number}" for number in state["seen"]]
            assert [t.text for t in shown.mission.reasoning] == wanted, point.number
            assert looked(shown) == state["seen"], point.number
            assert {one.tool for one in shown.tools.since} <= {"look", "crawl", "model"}
            assert shown.mission.goal == state["goal"]
            steps = shown.mission.finished
            assert sum(s.nodes == ("collect",) for s in steps) == len(state["seen"])
            looks += 1
    assert sum(bench.row(thread).branch for thread in threads) >= 4
    assert len(threads) >= 6
    assert looks >= 30


def test_it_is_bounded_and_says_so(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(around, "SHOWN_CHARACTERS", 10)
    thread = bench.start(goal="long", rounds=HISTORY + 3)
    bench.advance(thread)
    end = at(bench, thread)
    assert len(end.mission.finished) == HISTORY
    assert end.mission.n_earlier == bench.row(thread).number + 1 - HISTORY
    newest = next(one for one in end.tools.results if one.tool == "look")
    assert newest.result is None
    assert newest.result_bytes > 100
    # Files are told of results that are too long to show.
    assert {f.name for f in end.tools.files} >= {f"{HISTORY}.txt"}


@pytest.mark.requirement("B21")
def test_page_api_and_capsule_show_the_same(bench: Bench, cast: Cast, tmp_path: Path) -> None:
    thread = bench.start(goal="<b>count</b> the rows")
    Falls.at = 2
    bench.advance(thread)
    client = cast.client("operator")
    answered = client.get(f"{V1}/threads/{thread}/anatomy/").json()
    assert answered == json_value(at(bench, thread))
    with zipfile.ZipFile(export(thread, tmp_path / "head.zip", who="operator")) as packed:
        assert json.loads(packed.read("anatomy.json")) == answered
    page = client.get(f"/threads/{thread}/?tab=anatomy").content.decode()
    assert "&lt;b&gt;count&lt;/b&gt; the rows" in page
    for text in ("round 2", "crawl", "report", "Recorded after this checkpoint"):
        assert text in page, text
    assert platform.python_version() in page

    first = queries.checkpoint_by_number(thread, 1)
    past = client.get(f"{V1}/threads/{thread}/anatomy/?checkpoint={first.id}").json()
    assert past == json_value(at(bench, thread, 1))
    old = client.get(f"/threads/{thread}/?cp=1&tab=anatomy").content.decode()
    shown = old[old.index('id="anatomy"') : old.index('id="thread-activities"')]
    assert "round 0" in shown
    assert "round 1" not in shown
    capsule = export(thread, tmp_path / "one.zip", "--checkpoint", "1", who="operator")
    with zipfile.ZipFile(capsule) as packed:
        assert json.loads(packed.read("anatomy.json")) == past


def test_the_other_tabs_read_no_anatomy(bench: Bench, cast: Cast) -> None:
    thread = bench.start(goal="count")
    bench.advance(thread)
    client = cast.client("operator")
    page = client.get(f"/threads/{thread}/").content.decode()
    assert 'id="anatomy"' not in page
    assert "tab=anatomy" in page
