"""Each agent of a tree asks the model that was deployed for it when its thread began."""

from __future__ import annotations

from typing import Any

import pytest

from checkpoints import queries, store
from gatepost import END, Context, Graph, State
from tests.unit.workers.language.model_server import Say, serving_models
from workers.code.registry import announce
from workers.language.configuration import models_of

from .conftest import Fleet


class Plan(State):
    goal: str = "delays"
    text: str = ""


def scout_and_author() -> tuple[Graph, Graph]:
    """One asks and hands over, the other asks and ends."""
    scout, author = Graph("scout", Plan), Graph("author", Plan)

    @scout.node(then=END)
    def look(state: Plan, ctx: Context) -> dict[str, Any]:
        ctx.hand_off("author", {"text": ctx.model("Look at", state.goal)})
        return {}

    @author.node(then=END)
    def write(state: Plan, ctx: Context) -> dict[str, Any]:
        return {"text": ctx.model("Write about", state.text)}

    return scout, author


@pytest.mark.requirement("B33")
def test_the_model_of_one_agent_is_upgraded_without_touching_the_others(
    settings: Any, real_db: str
) -> None:
    with serving_models(Say("fine")) as server:

        def deploy_models(**models: str) -> None:
            pairs = [f"{agent}=openai:{name}@{server.url}" for agent, name in models.items()]
            settings.GATEPOST_AGENT_MODELS = pairs
            store.announce_worker(
                "-".join(models.values()),
                host="h",
                pid=1,
                slots=1,
                queues=["gatepost"],
                agents=[agent.version_id for agent in fleet.agents.values()],
                models={name: models_of(agent.model) for name, agent in fleet.agents.items()},
            )

        agents = {graph.name: announce(graph, {}, ()) for graph in scout_and_author()}
        fleet = Fleet(agents, store.create_workspace("Authors", actor="user:0"))
        deploy_models(scout="small", author="medium")
        first = fleet.start("scout")
        fleet.work_on(first)
        before = fleet.row(first), queries.events_after(first, 0), queries.config_of(first)
        deploy_models(scout="small", author="large")
        fleet.work()  # this author was started before
        second = fleet.start("scout")
        fleet.work()
        now = fleet.row(first), queries.events_after(first, 0), queries.config_of(first)
        assert now == before
        assert queries.config_of(second) == queries.config_of(first)
        assert fleet.row(second).agent_version_id == fleet.row(first).agent_version_id
        assert [body["model"] for body in server.bodies] == ["small", "medium", "small", "large"]
    fleet.verify()
