"""A thread keeps the model, temperature and prompts that were deployed when it started."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

import pytest
from django.db import connection

from checkpoints import queries, store
from checkpoints.state.model_configuration import joined_config, prompt_hash
from checkpoints.states import Status
from gatepost import END, Append, Context, Graph, Harness, State
from tests.unit.workers.conftest import Bench
from tests.unit.workers.graphs import bare
from workers.authoring.errors import GraphError
from workers.code.registry import announce
from workers.language.configuration import models_of

from .model_server import ModelServer, Say, serving_models

pytestmark = pytest.mark.django_db


class Brief(State):
    goal: str = "delays"
    notes: Annotated[list[str], Append()] = []


def briefed(prompt: str, temperature: float, version: int = 1) -> Graph:
    """The agent, as a release has it; its second node asks after a pause."""
    graph = Graph(
        "briefed",
        Brief,
        version=version,
        temperature=temperature,
        prompts={"brief": prompt, "tone": "Be kind."},
        on_code_change="go_on",
    )

    @graph.node(then="ask")
    def begin(state: Brief, ctx: Context) -> dict[str, Any]:
        return {"notes": ["begun"]}

    @graph.node(then=END)
    def ask(state: Brief, ctx: Context) -> dict[str, Any]:
        return {
            "notes": [ctx.model(state.goal, system=f"{ctx.prompt('brief')} {ctx.prompt('tone')}")]
        }

    return graph


def deploy(bench: Bench | None, graph: Graph) -> Bench:
    """Announce a release and a worker with it, as a worker's start does."""
    if bench is None:
        workspace = store.create_workspace("Bench of briefs", actor="user:0")
        bench = Bench(announce(graph, {}, [bare]), workspace)
    else:
        bench.install(graph, {}, bare)
    store.announce_worker(
        f"w{graph.version}-{graph.temperature}",
        host="h",
        pid=1,
        slots=1,
        queues=["gatepost"],
        agents=[bench.agent.version_id],
        models={graph.name: models_of(bench.agent.model)},
    )
    return bench


def begin(bench: Bench, **config: Any) -> UUID:
    """A thread that stands before its call."""
    return store.start(
        bench.agent.version_id,
        input={},
        workspace=bench.workspace,
        actor="user:1",
        pause_at="ask",
        config=config,
    )


def asked_with(server: ModelServer) -> tuple[str, float, str]:
    body = server.bodies[-1]
    return body["model"], body["temperature"], body["messages"][0]["content"]


@pytest.mark.requirement("B22")
def test_a_resumed_thread_sends_what_was_recorded(settings: Any) -> None:
    with serving_models(Say("fine")) as server:
        settings.GATEPOST_MODEL = f"openai:small@{server.url}"
        bench = deploy(None, briefed("Be brief.", 0.2))
        thread = begin(bench)
        assert bench.advance(thread).status is Status.PAUSED
        settings.GATEPOST_MODEL = f"openai:large@{server.url}"
        deploy(bench, briefed("Be long.", 0.9, version=2))
        store.resume(thread, actor="user:1")
        assert bench.advance(thread).status is Status.SUCCEEDED
        assert asked_with(server) == ("small", 0.2, "Be brief. Be kind.")
        # A thread of now gets what is deployed now.
        other = begin(bench)
        bench.advance(other)
        store.resume(other, actor="user:1")
        bench.advance(other)
        assert asked_with(server) == ("large", 0.9, "Be long. Be kind.")
        assert bench.intact(thread)
    recorded = queries.config_of(thread)
    deployed = queries.deployed_config("briefed", workspace=bench.workspace)
    assert recorded["prompts"] == {"brief": "Be brief.", "tone": "Be kind."}
    assert deployed["prompts"]["brief"] == "Be long."
    assert (recorded["temperature"], deployed["temperature"]) == (0.2, 0.9)
    assert (recorded["model"], deployed["model"]) == (
        f"openai:small@{server.url}", f"openai:large@{server.url}",
    )  # fmt: skip


@pytest.mark.requirement("C42")
def test_a_fork_injects_prompt_model_and_temperature(settings: Any) -> None:
    with serving_models(Say("fine")) as server:
        settings.GATEPOST_MODEL = f"openai:small@{server.url}"
        bench = deploy(None, briefed("Be brief.", 0.2))
        thread = begin(bench)
        bench.advance(thread)
        row = bench.row(thread)
        for config, expected in (
            ({"prompts": {"brief": "In verse."}}, ("small", 0.2, "In verse. Be kind.")),
            ({"model": "medium"}, ("medium", 0.2, "Be brief. Be kind.")),
            ({"temperature": 1.0}, ("small", 1.0, "Be brief. Be kind.")),
        ):
            fork = store.fork(
                thread, checkpoint=row.head, changes={}, actor="user:1", config=config
            )
            assert bench.advance(fork).status is Status.SUCCEEDED
            assert asked_with(server) == expected
            (call,) = [a for a in bench.activities(fork) if a.kind == "model"]
            assert call.args["model"].startswith(("openai:small", "medium"))
            assert bench.intact(fork)


def test_a_prompt_stands_once_by_its_content_hash(settings: Any) -> None:
    prompt = "A long prompt. " * 500
    settings.GATEPOST_MODEL = ""
    bench = deploy(None, briefed(prompt, 0.2))
    threads = [begin(bench) for _ in range(3)]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT config::text FROM gp_checkpoint WHERE thread_id = ANY(%s::uuid[])", (threads,)
        )
        texts = [text for (text,) in cursor.fetchall() if text]
        cursor.execute(
            "SELECT count(*) FROM gp_agent_version WHERE graph::text LIKE %s", ["%A long prompt.%"]
        )
        assert cursor.fetchone() == (1,)
    assert len(texts) == 3
    assert all(prompt_hash(prompt) in text and "A long" not in text for text in texts)
    assert queries.config_of(threads[0])["prompts"]["brief"] == prompt


def test_a_workspace_has_a_model_of_its_own(settings: Any) -> None:
    settings.GATEPOST_MODEL = "openai:all"
    settings.GATEPOST_WORKSPACE_MODELS = ["Bench of briefs=anthropic:theirs"]
    bench = deploy(None, briefed("x", 0.1))
    assert queries.config_of(begin(bench))["model"] == "anthropic:theirs"
    bench.workspace = store.create_workspace("Others", actor="user:0")
    assert queries.config_of(begin(bench))["model"] == "openai:all"
    settings.GATEPOST_AGENT_MODELS = ["briefed=openai:own"]
    deploy(bench, briefed("x", 0.3))
    assert queries.config_of(begin(bench))["model"] == "openai:own"
    assert queries.config_of(begin(bench, model="openai:given"))["model"] == "openai:given"


def test_a_play_has_the_declared_prompts_and_forks_change_them() -> None:
    seen: list[Any] = []

    def answer(request: Any) -> str:
        seen.append((request.temperature, request.system))
        return "ok"

    played = Harness(briefed("Be brief.", 0.2)).play(model=answer)
    played.fork(0, config={"prompts": {"tone": "Be stern."}, "temperature": 0.5})
    assert seen == [(0.2, "Be brief. Be kind."), (0.5, "Be brief. Be stern.")]


def test_what_is_no_prompt_is_refused() -> None:
    for more in ({"prompts": ["x"]}, {"prompts": {"a": 1}}, {"temperature": "warm"}):
        with pytest.raises(GraphError, match=r"prompts is a dict|isn't a number"):
            Graph("g", Brief, **more)
    graph = Graph("g", Brief)
    graph.node("ask", then=END)(lambda state, ctx: {"notes": [ctx.prompt("brief")]})
    assert "There is no prompt 'brief'" in Harness(graph).play().reason


def test_prompts_are_joined_one_by_one() -> None:
    base = {"model": "a", "prompts": {"x": "1", "y": "2"}}
    assert joined_config(base, {"prompts": {"x": "3"}})["prompts"] == {"x": "3", "y": "2"}
    assert joined_config(base, {"prompts": {"x": None}})["prompts"] == {"y": "2"}
    assert "prompts" not in joined_config(base, {"prompts": None})
    assert joined_config(base, {"model": None}) == {"prompts": base["prompts"]}
