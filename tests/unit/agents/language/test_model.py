"""Whether there is a model is recorded: a restart with another one changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from checkpoints import store
from checkpoints.states import Status
from gatepost_agents.language.model import ask_model
from tests.unit.workers.conftest import Bench
from tests.unit.workers.graphs import asking
from workers.authoring.graph import END, Graph, State
from workers.authoring.language_models import missing
from workers.code.registry import announce
from workers.language.configuration import configured, is_configured
from workers.node.context import Context
from workers.testing.harness import Harness


class Note(State):
    text: str = "none"


graph = Graph("note-of-a-model", Note)


@graph.node(then="publish")
def write(state: Note, ctx: Context) -> dict[str, Any]:
    return {"text": ask_model(ctx, "Say thanks", system="Be brief.")}


@graph.node(then=END)
def publish(state: Note, ctx: Context) -> dict[str, Any]:
    return {}


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize(
    ("named", "text"),
    [("", ""), (f"{asking.__name__}:plainly", "answer to Say thanks")],
    ids=["none", "named"],
)
def test_the_model_that_the_settings_name_is_asked(settings: Any, named: str, text: str) -> None:
    settings.GATEPOST_MODEL = named
    workspace = store.create_workspace("models", actor="user:0")
    bench = Bench(announce(graph, {}, []), workspace)
    thread = bench.start()
    row = bench.advance(thread)
    assert row.status is Status.SUCCEEDED, row.status_reason
    assert bench.state(thread)["text"] == text
    kinds = [a.kind for a in bench.activities(thread)]
    assert kinds.count("model") == bool(named)


@pytest.mark.parametrize(("name", "there"), [("", False), ("gpt-5", False), ("openai:gpt-5", True)])
def test_a_thread_may_name_a_model_where_the_settings_name_none(
    settings: Any, name: str, there: bool
) -> None:
    settings.GATEPOST_MODEL = ""
    assert is_configured(configured, name) is there
    assert is_configured(missing, name) is False


@pytest.mark.parametrize("n", range(1, 7))
def test_a_lost_worker_does_not_look_for_a_model_again(n: int) -> None:
    thread = Harness(graph, stop_after=n).play(model=["Thanks."])
    assert (thread.status, thread.state["text"]) == ("succeeded", "Thanks.")
    assert [a.attempts for a in thread.activities if a.tool == "find_model"] == [1]
