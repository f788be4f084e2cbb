"""A node that runs an event loop uses the context inside it: on both ledgers, and in a worker."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.faults.agents import loop_agents
from tests.unit.workers.conftest import Bench, bench_of
from workers.authoring.graph import END, Graph
from workers.node.context import Context
from workers.testing.harness import Harness

OUT = ["tea!", "fetched a", "read b", "none", "20", "32", "tea", "hello"]


@pytest.fixture(autouse=True)
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DJANGO_ALLOW_ASYNC_UNSAFE", raising=False)


@pytest.fixture
def bench(real_db: str) -> Bench:
    """On a database that commits for real: the calls come over several connections."""
    return bench_of(loop_agents)


def test_everything_of_the_context_works_there(bench: Bench) -> None:
    thread = bench.start()
    assert bench.advance(thread).status == "waiting", bench.row(thread).status_reason
    bench.decide(thread, "approve")
    row = bench.advance(thread)
    assert row.status == "succeeded", row.status_reason
    assert bench.state(thread)["out"] == [*OUT, "read 3", "read 7", "read 11"]
    assert row.tokens == 7
    assert [a.attempts for a in bench.activities(thread) if a.tool == "fetch"] == [1]
    assert bench.intact(thread)


def test_in_a_harness_as_well() -> None:
    thread = Harness(loop_agents.graph).play(decide="approve")
    assert thread.status == "succeeded", thread.reason
    assert thread.state["out"][: len(OUT)] == OUT


@pytest.mark.slow
@pytest.mark.parametrize("n", range(1, 12))
def test_a_lost_worker_asks_nothing_again(n: int) -> None:
    thread = Harness(loop_agents.graph, stop_after=n).play(decide="approve")
    assert thread.status == "succeeded"
    assert all(a.attempts == 1 for a in thread.activities if a.kind == "model")


def test_what_the_author_does_wrong_there_is_said_as_everywhere() -> None:
    graph = Graph("wrong", loop_agents.Looped)

    async def fails() -> str:
        raise LookupError("no such tea")

    @graph.node(then=END)
    def node(state: Any, ctx: Context) -> dict[str, Any]:
        async def inner() -> str:
            answer: str = ctx.activity(fails)
            return answer

        return {"out": [asyncio.run(inner())]}

    thread = Harness(graph).play()
    assert thread.status == "failed"
    assert "LookupError: no such tea" in thread.reason


@pytest.mark.nightly
@pytest.mark.hazard
@pytest.mark.parametrize("pool", ["prefork", "threads"])
def test_a_real_slot_does_so_too(tmp_path: Path, real_db: str, pool: str) -> None:
    from checkpoints import store
    from tests.faults.bench import Field, Worker, workers

    shutil.copy(Path(loop_agents.__file__), tmp_path)
    name = f"loop-{pool}"
    own = {"HAZARD_QUEUE": name, "HAZARD_AGENT": name, "GATEPOST_AGENTS": "loop_agents"}
    field = Field(tmp_path, store.create_workspace(name, actor="user:0"))
    with workers(Worker(tmp_path, name, slots=1, pool=pool, queues=name, environment=own)):
        case = field.start(name)
        case.wait_status("waiting")
        case.decide("approve")
        row = case.wait_status("succeeded")
        assert case.state()["out"] == [*OUT, "read 3", "read 7", "read 11"]
        assert row.tokens == 7
