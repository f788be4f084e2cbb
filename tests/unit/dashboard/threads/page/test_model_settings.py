"""A thread's page shows its recorded model settings and flags what is deployed otherwise."""

from __future__ import annotations

import html
import json
import re
from typing import Any
from uuid import UUID

import pytest

from checkpoints import queries, store
from dashboard.wording.model_settings import ConfigFact, config_facts
from tests.support.cast import Cast
from tests.unit.dashboard import scene

FLAG = "differs from the deployed configuration"


def deploy(agent: UUID, model: str) -> None:
    """A worker with this model."""
    store.announce_worker(
        model,
        host="h",
        pid=1,
        slots=1,
        queues=["gatepost"],
        agents=[agent],
        models={"research": {"": model}},
    )


def facts_of(client: Any, thread: UUID) -> str:
    page = client.get(f"/threads/{thread}/").content.decode()
    facts = re.search(r'(?s)<dl id="thread-facts".*?</dl>', page)
    assert facts is not None
    return " ".join(html.unescape(re.sub("<[^>]+>", " ", facts[0])).split())


@pytest.mark.django_db
@pytest.mark.requirement("B22")
def test_the_page_flags_what_differs_from_the_deployed(cast: Cast) -> None:
    client, agent = cast.client("operator"), scene.make_agent()

    def start(**config: Any) -> UUID:
        return store.start(
            agent,
            input={"goal": "delays"},
            workspace=cast.workspace,
            actor="user:1",
            config=config,
        )

    deploy(agent, "openai:small")
    thread = start(temperature=0.2, prompts={"brief": "Be <brief>."})
    facts = facts_of(client, thread)
    assert "model openai:small" in facts
    assert "prompt brief Be <brief>." in facts
    assert FLAG not in facts
    deploy(agent, "openai:large")
    assert f"model openai:small {FLAG} deployed: openai:large" in facts_of(client, thread)
    assert FLAG not in facts_of(client, start())


@pytest.mark.django_db
@pytest.mark.requirement("C42")
def test_the_form_of_a_fork_changes_one_prompt(cast: Cast) -> None:
    client = cast.client("operator")
    thread = store.start(
        scene.make_agent(),
        input={"goal": "delays"},
        workspace=cast.workspace,
        actor="user:1",
        config={"model": "a", "prompts": {"brief": "Be brief.", "tone": "Be kind."}},
    )
    config = {"model": "a", "prompts": {"brief": "In verse.", "tone": "Be kind."}}
    head = queries.checkpoint_by_number(thread, 0).id
    values = {"checkpoint": str(head), "as_it_is": "1", "config": json.dumps(config)}
    answer = client.post(f"/threads/{thread}/fork/", values)
    assert answer.status_code == 303
    fork = UUID(answer["Location"].rstrip("/").rpartition("/")[2])
    assert queries.config_of(fork) == config
    assert queries.events_after(fork, 0)[0].data["config"] == {"prompts": {"brief": "In verse."}}


def test_facts_of_any_configuration() -> None:
    recorded = {"model": "a", "prompts": {"x": "1", "y": "2"}, "tools": [1]}
    deployed = {"model": "a", "temperature": 1, "prompts": {"x": "3"}}
    assert config_facts(recorded, deployed) == [
        ConfigFact("model", "a", False, "a"),
        ConfigFact("prompt x", "1", True, "3"),
        ConfigFact("prompt y", "2"),
        ConfigFact("tools", [1]),
    ]
    assert config_facts({"prompts": "x"}, {}) == []
