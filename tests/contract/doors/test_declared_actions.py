"""D06: each declared action has its call, its command and its event on record."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest
from django.conf import settings
from django.urls import get_resolver

from checkpoints import queries
from dashboard.errors import Invalid
from dashboard.kit.action import ACTIONS, read
from dashboard.kit.inputs import from_texts
from tests.contract.calls import example, send
from tests.contract.operations import operations
from tests.contract.world import World

from .commands import verbs
from .test_pages_and_calls import named

pytestmark = pytest.mark.requirement("D06")
import_module(settings.ROOT_URLCONF)  # declares all of them
NAMES = sorted(ACTIONS)


def declared(patterns: Any) -> list[str]:
    """The names of the actions that the views of these addresses were made from."""
    views = (one.callback for one in patterns)
    return [view.action.name for view in views if hasattr(view, "action")]


def calls() -> list[Any]:
    """Every address of the API."""
    left: list[Any] = [get_resolver("dashboard.api.urls")]
    results: list[Any] = []
    while left:
        for one in left.pop().url_patterns:
            (left if hasattr(one, "url_patterns") else results).append(one)
    return results


def test_each_action_has_one_call_and_a_command() -> None:
    assert sorted(declared(calls())) == NAMES
    assert {name.replace(".", " ") for name in NAMES} <= verbs()
    for action in ACTIONS.values():
        spec = operations()[action.operation_id].spec
        assert spec["summary"] == action.summary
        assert ("preview" in operations()[action.operation_id].query) is bool(action.preview)


def test_each_page_of_an_action_has_its_call() -> None:
    """The pairs are in the registry; that the functions are the same is watched elsewhere."""
    pages = declared(named(get_resolver().url_patterns))
    assert {*pages} <= {*declared(calls())}
    assert len(pages) >= 2


@pytest.mark.parametrize("name", NAMES)
def test_what_is_done_is_on_record(world: World, name: str) -> None:
    """One event of the kind that is declared, by the person who called."""
    action = ACTIONS[name]
    operation = operations()[action.operation_id]
    call = example(world, operation)
    who = world.cast.actor(call.who[0])
    before = queries.workspace_events(who.workspace, limit=1).rows
    assert send(world.cast.client(call.who[0]), operation, call).status_code == action.status
    seq = before[0].seq if before else 0
    newest = queries.workspace_events(who.workspace).rows
    events = [event for event in newest if event.seq > seq]
    assert [(event.kind, event.actor) for event in events] == [(action.event, who.id)]


def test_a_declaration_has_a_name_of_its_own_and_a_right_of_the_table() -> None:
    action = ACTIONS["breaker.release"]
    with pytest.raises(ValueError, match=r"breaker\.release is declared twice"):
        replace(action)
    with pytest.raises(ValueError, match="unknown right"):
        replace(action, name="breaker.other", right="nothing")
    assert sorted(ACTIONS) == NAMES


def test_texts_are_read_by_the_types_of_the_input() -> None:
    takes = ACTIONS["breaker.trip"].takes
    texts = {"agent": " payments ", "depth": "2", "label": "team:eu", "damaged": "1", "q": ""}
    values = from_texts(takes, texts | {"status": "failed"})
    assert values == {"agent": "payments", "depth": 2, "labels": {"team": "eu"}, "damaged": True}
    for name, text in (("depth", "two"), ("depth", "-1"), ("label", "team"), ("label", ":eu")):
        with pytest.raises(Invalid) as refused:
            from_texts(takes, {name: text})
        assert refused.value.path == f"$.{name}"
    with pytest.raises(Invalid) as refused:
        read(takes, {"root": "x", "reason": " "})
    assert {fault.path for fault in refused.value.faults} == {"$.root", "$.reason"}
