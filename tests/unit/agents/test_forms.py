"""Each agent that ships is started from the page, with its form."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any
from uuid import UUID

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from checkpoints import queries
from tests.support.cast import make_cast
from workers.code.registry import SHIPPED_AGENTS, load

pytestmark = pytest.mark.django_db
# module: (the agent, what a person types, words of the form)
FORMS: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "gatepost_agents.deep_research": (
        "deep-research",
        {"question": "How long does tea steep?", "packages": "celery\r\nkombu", "at_most": "9"},
        ("Question", "Packages", "Your own text", "Sources to read"),
    ),
    "gatepost_agents.dependency_audit": (
        "dependency-audit",
        {"ignore": "pip\r\nsetuptools", "years": "6", "at_most": "4"},
        ("Your lock file", "Ignore", "Refused licences", "Old after years", "At a time"),
    ),
    "gatepost_agents.outreach": (
        "outreach",
        {"looking_for": "bakeries", "offer": "Paper bags", "most": "2"},
        ("Looking for", "Your offer", "Your companies", "Never write to"),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("module", FORMS)
def test_a_thread_is_started_from_the_form(module: str) -> None:
    agent, typed, words = FORMS[module]
    load([module])
    cast = make_cast()
    client = cast.client("operator")
    form = client.get(f"/threads/new/?agent={agent}").content.decode()
    for word in words:
        assert word in form
    for channel, schema in queries.agent(agent).schema["properties"].items():
        assert (f'name="f-{channel}"' in form) == (not schema.get("readOnly")), channel
    upload = SimpleUploadedFile("mine.txt", b"Green tea steeps for two minutes.")
    posted = {f"f-{name}": value for name, value in typed.items()}
    answer = client.post("/threads/new/", {"agent": agent, **posted, "f-file": upload})
    assert answer.status_code == 303, answer.content.decode()
    thread = UUID(answer["Location"].split("/")[2])
    state = queries.state_at(thread, queries.thread(thread, workspace=cast.workspace).head)
    assert state["file"]["name"] == "mine.txt"
    for name, value in typed.items():
        expected = value.split("\r\n") if "\r\n" in value else value
        assert state[name] == (int(value) if value.isdigit() else expected)


@pytest.mark.slow
@pytest.mark.usefixtures("hot_server")
def test_every_agent_that_ships_has_a_label_and_a_description() -> None:
    for name, agent in load(e.module for e in entry_points(group=SHIPPED_AGENTS)).items():
        assert agent.graph.label, name
        assert agent.graph.description.endswith("."), name
        for node in agent.graph.nodes.values():
            assert node.label, (name, node.name)
            assert node.call.__doc__, (name, node.name)
