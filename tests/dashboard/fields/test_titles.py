"""A thread without a title gets one from the input, where the agent says from what."""

from __future__ import annotations

from typing import Any

import pytest

from agents.deep_research.state import DeepResearch
from agents.market_research.agent import Research
from agents.outreach.state import Outreach
from dashboard.fields.titles import LONGEST, title_from

SCHEMA = {
    "properties": {
        "limit": {"type": "integer", "x-title": True},
        "question": {"type": "string", "x-title": True},
        "secret": {"type": "string"},
    }
}


@pytest.mark.parametrize(
    ("value", "title"),
    [
        ({"question": "Why is  the\nsky blue?"}, "Why is the sky blue?"),
        ({"question": "   ", "secret": "not this"}, ""),
        ({"limit": 3, "secret": "not this"}, ""),
        ({"question": "a" * 500}, "a" * (LONGEST - 1) + "…"),
        ({"question": "word " * 50}, "word " * 22 + "word…"),
        ({}, ""),
    ],
)
def test_the_title_is_the_text_that_the_agent_names(value: dict[str, Any], title: str) -> None:
    assert title_from(SCHEMA, value) == title
    assert len(title) <= LONGEST


@pytest.mark.parametrize(
    ("state", "channel"),
    [(Research, "question"), (DeepResearch, "question"), (Outreach, "looking_for")],
)
def test_agents_that_ship_name_one(state: Any, channel: str) -> None:
    text = "How does Celery retry a task?"
    assert title_from(state.model_json_schema(), {channel: text}) == text
