"""ctx.model: asked once, recorded with tokens and cost, by whom settings, graph or play name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from checkpoints.state import marked
from checkpoints.state.deltas import canonical
from checkpoints.states import Status
from tests.unit.workers.conftest import Bench, bench_of
from tests.unit.workers.graphs import asking, bare
from tests.unit.workers.graphs.asking import answering, graph, plainly
from workers.authoring import language_models
from workers.authoring.errors import GraphError, StepFailed
from workers.authoring.graph import END, Graph
from workers.authoring.language_models import Reply, Request, used
from workers.node.context import Context
from workers.testing.harness import Harness, Scripted


@pytest.fixture(autouse=True)
def _emptied() -> Iterator[None]:
    answering.requests.clear()
    yield
    answering.then = plainly


@pytest.fixture
def bench(make_bench: Callable[[Any], Bench]) -> Bench:
    return make_bench(asking)


# ---- on the database and in memory ---------------------------------------------------------------


@pytest.mark.requirement("A22")
def test_a_call_is_a_save_point_with_what_it_took(bench: Bench) -> None:
    thread = bench.start(goal="thanks")
    assert bench.advance(thread).status is Status.WAITING
    calls = [a for a in bench.activities(thread) if a.kind == "model"]
    assert [(a.node, a.key, a.tool, a.state) for a in calls] == [
        ("draft", "model#0", "model", "done"),
        ("draft", "model#1", "model", "done"),
        ("send", "model#0", "model", "done"),
    ]
    assert calls[0].args == {
        "parts": ["Summarise", [{"gift": 2, "guest": "Ada"}]],
        "system": "You are brief.",
    }
    assert calls[1].args == {
        "max_tokens": 100,
        "parts": ["Write a letter: answer to Summarise"],
        "temperature": 0.5,
    }
    assert calls[0].result == "answer to Summarise"
    usage = {k: v for k, v in calls[0].usage.items() if k != "milliseconds"}
    assert usage == {
        "cost": "0.0125", "model": "tiny-1", "tokens": 5, "tokens_in": 2, "tokens_out": 3,
    }  # fmt: skip
    messages = [e for e in bench.events(thread) if e.kind == "model.answered"]
    assert [e.data["usage"]["model"] for e in messages] == ["tiny-1"] * 3
    row = bench.row(thread)
    assert row.tokens == sum(a.usage["tokens"] for a in calls) > 15
    assert row.cost == "0.0375"
    assert bench.state(thread)["notes"][0] == "answer to Summarise"
    assert bench.intact(thread)


def test_what_was_answered_is_not_asked_again(bench: Bench) -> None:
    thread = bench.start()
    bench.advance(thread)
    assert len(answering.requests) == 3
    spent = bench.row(thread).tokens
    bench.decide(thread, "approve")
    row = bench.advance(thread)  # the node begins again, and the record answers
    assert row.status is Status.SUCCEEDED
    assert bench.state(thread)["sent"] == "sent answer to Shorten"
    assert len(answering.requests) == 3
    assert row.tokens == spent
    # A fork that asks the same is answered from there and pays nothing.
    same = bench.fork(thread, 0, {})
    bench.advance(same)
    assert len(answering.requests) == 3
    assert (bench.row(same).cost, bench.row(thread).cost) == ("0", "0.0375")


def test_an_error_of_the_model_fails_the_step_and_a_retry_asks_again(
    bench: Bench,
) -> None:
    def overloaded(request: Request) -> Reply:
        if request.parts[0] == "Summarise":
            return plainly(request)
        raise RuntimeError("overloaded, come back later")

    answering.then = overloaded
    thread = bench.start()
    row = bench.advance(thread)
    assert row.status is Status.FAILED
    assert "overloaded, come back later" in row.status_reason
    assert [a.state for a in bench.activities(thread)] == ["done", "failed"]
    kinds = [e.kind for e in bench.events(thread)]
    assert [k for k in kinds if k.startswith("model.")] == ["model.answered", "model.failed"]
    assert row.cost == "0.0125"
    answering.then = plainly
    bench.retry(thread)
    assert bench.advance(thread).status is Status.WAITING
    assert [r.parts[0] for r in answering.requests].count("Summarise") == 1
    assert bench.row(thread).cost == "0.0375"


def test_an_answer_that_json_cannot_hold_is_kept_and_paid_for_once(
    bench: Bench,
) -> None:
    answering.then = lambda request: Reply("half of \ud83d", "tiny-1", 7, 1, "0.5")
    thread = bench.start()
    row = bench.advance(thread)
    assert row.status is Status.FAILED
    assert "What the model is asked cannot be kept: $.parts[0]" in row.status_reason
    assert (row.tokens, row.cost) == (8, "0.5")
    (done,) = bench.activities(thread)
    assert (done.state, done.usage["cost"]) == ("done", "0.5")
    assert marked.marks(done.result) == [("$", "text")]
    bench.retry(thread)
    assert bench.advance(thread).cost == "0.5"
    assert bench.intact(thread)


def test_the_threads_config_names_model_and_temperature(bench: Bench) -> None:
    thread = bench.start(config={"model": "large-2", "temperature": 0, "prompt": "x"})
    bench.advance(thread)
    assert [(r.model, r.temperature) for r in answering.requests] == [
        ("large-2", 0),
        ("large-2", 0.5),  # what the call itself says holds
        ("large-2", 0),
    ]
    fork = bench.fork(thread, 0, {}, config={"model": "small-3"})
    bench.advance(fork)
    assert {r.model for r in answering.requests[3:]} == {"small-3"}
    assert bench.activities(fork)[0].args["model"] == "small-3"


def test_without_a_model_the_step_says_what_to_do(
    make_bench: Callable[[Any], Bench], settings: Any
) -> None:
    settings.GATEPOST_MODEL = ""
    bench = make_bench(bare)
    thread = bench.start()
    row = bench.advance(thread)
    assert row.status is Status.FAILED
    assert row.status_reason.startswith("ask: There is no model to ask. Name one: GATEPOST_MODEL=")
    assert row.tokens == 0


HERE = "tests.unit.workers.graphs.bare"


@pytest.mark.django_db
def test_the_settings_name_the_model_of_all_agents(settings: Any) -> None:
    settings.GATEPOST_MODEL = f"{HERE}:answer"
    bench = bench_of(bare)
    thread = bench.start()
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert bench.state(thread)["said"] == "nobody on Say something"
    for named, message in {
        HERE: f"GATEPOST_MODEL is '{HERE}': write package.module:function.",
        f"{HERE}:nobody": "which cannot be imported: module",
        "nowhere.at_all:x": "which cannot be imported: No module named 'nowhere'",
        f"{HERE}:graph": "which is not a function",
    }.items():
        settings.GATEPOST_MODEL = named
        thread = bench.start()
        assert message in bench.advance(thread).status_reason
    # An agent with a model of its own is not asked about it.
    own = bench_of(asking)
    assert own.advance(own.start()).status is Status.WAITING


# ---- in a play -----------------------------------------------------------------------------------


def test_a_play_is_given_its_answers() -> None:
    thread = Harness(graph).play(decide="approve", model=["one", Reply("two", "m", 5, 6), "three"])
    assert thread.state["notes"] == ["one", "two"]
    assert thread.state["sent"] == "sent three"
    assert (thread.tokens, thread.cost) == (11, "0")
    assert [a.usage["model"] for a in thread.activities if a.kind == "model"] == [
        "scripted", "m", "scripted",
    ]  # fmt: skip
    assert answering.requests == []
    assert thread.verify()


def test_a_function_answers_what_it_is_asked() -> None:
    seen: list[Request] = []

    async def answer(request: Request) -> str:
        seen.append(request)
        return request.text.upper()

    thread = Harness(graph).play(model=answer)
    assert thread.status == "waiting"
    assert seen[0].messages == [
        {"role": "system", "content": "You are brief."},
        {"role": "user", "content": 'Summarise\n\n[{"gift":2,"guest":"Ada"}]'},
    ]
    assert seen[1].messages[0]["role"] == "user"
    # Who answers stays with the thread and its forks, and with no other one.
    assert thread.decide("approve").state["sent"].startswith("sent SHORTEN")
    assert thread.fork(0).state["notes"][0].startswith("SUMMARISE")
    assert answering.requests == []
    harness = thread._harness
    assert harness.play().state["notes"][0] == "answer to Summarise"


def test_a_script_that_ends_too_early_and_one_that_fails_say_so() -> None:
    thread = Harness(graph).play(model=["one"])
    assert "Call 2 of a script with 1 answers" in thread.reason
    thread = Harness(graph).play(model=Scripted(RuntimeError("429, wait"), "a", "b", "c"))
    assert "429, wait" in thread.reason
    assert thread.retry().status == "waiting"
    with pytest.raises(TypeError, match="is one answer: give a list of them"):
        Harness(graph).play(model="one")


def test_a_lost_worker_asks_no_answered_question_again() -> None:
    lost = 0
    for n in range(1, 12):
        answering.requests.clear()
        thread = Harness(graph, stop_after=n).play(decide="approve")
        assert thread.status == "succeeded", f"{n}: {thread}"
        assert len(answering.requests) == 3
        assert thread.cost == "0.0375"
        lost += thread.kinds.count("lease.taken_over")
    assert lost >= 6


def test_a_play_without_a_model_pretends_nothing(settings: Any) -> None:
    settings.GATEPOST_MODEL = f"{HERE}:answer"  # a play asks nobody outside
    thread = Harness(bare.graph).play()
    assert thread.status == "failed"
    assert "In a test: Harness(graph).play(model=...)" in thread.reason


# ---- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("text", "The model answered with str: return Reply(text"),
        (None, "The model answered with NoneType"),
        (Reply(b"x"), "must be text, not bytes"),  # type: ignore[arg-type]
        (Reply("x", model=3), "model of a Reply must be text"),  # type: ignore[arg-type]
        (Reply("x", tokens_in=-1), "tokens_in of a Reply must be a whole number from 0, not -1"),
        (Reply("x", tokens_out=1.5), "tokens_out of"),  # type: ignore[arg-type]
        (Reply("x", tokens_out=True), "not True"),
        (Reply("x", cost=0.1), "as text, such as '0.0125', not 0.1"),  # type: ignore[arg-type]
        (Reply("x", cost="many"), "not 'many'"),
        (Reply("x", cost="NaN"), "not 'NaN'"),
        (Reply("x", cost="-1"), "not '-1'"),
        (Reply("x", cost="1000000"), "not '1000000'"),
        (Reply("x", cost="0.0000001"), "has at most 6 places"),
    ],
)
def test_a_reply_is_what_it_should_be(reply: Any, text: str) -> None:
    with pytest.raises(StepFailed, match=re.escape(text)):
        used(reply)


@pytest.mark.parametrize(
    ("cost", "stored"),
    [("0", "0"), ("-0", "0"), (0, "0"), (Decimal("1.500000"), "1.5"), ("1E+2", "100"), (7, "7")],
)
def test_costs_are_kept_as_plain_text(cost: Any, stored: str) -> None:
    assert used(Reply("x", cost=cost))[1]["cost"] == stored


def test_a_request_is_what_it_should_be() -> None:
    def reason(call: Callable[[Context], Any], **config: Any) -> str:
        asks = Graph("asks", bare.Bare)
        asks.node("ask", then=END)(lambda state, ctx: {"said": call(ctx)})
        return Harness(asks).play(model=lambda r: "fine", config=config).reason

    assert reason(lambda ctx: ctx.model("x")) == ""
    assert "ctx.model takes what to ask" in reason(lambda ctx: ctx.model())
    assert "temperature must be a number" in reason(lambda ctx: ctx.model("x"), temperature="hot")
    assert "name must be text" in reason(lambda ctx: ctx.model("x", model="m" * 201))
    assert "What the model is asked cannot be kept: $.parts[0]" in reason(
        lambda ctx: ctx.model(Path("x"))
    )
    assert "$.temperature" in reason(lambda ctx: ctx.model("x", temperature=float("nan")))
    with pytest.raises(GraphError, match="model='gpt' is not a function"):
        Graph("asks", bare.Bare, model="gpt")  # type: ignore[arg-type]
    with pytest.raises(StepFailed, match="There is no model"):
        language_models.missing(Request(("x",)))
    assert canonical(Request(("x",)).to_json()) == b'{"parts":["x"]}'
