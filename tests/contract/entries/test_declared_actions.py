"""D06: each declared action has its call, its command and its event on record."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings
from django.core.management import call_command
from django.urls import get_resolver

from approvals import queries as requests
from checkpoints import queries
from checkpoints.states import EventKind, WorkspaceEventKind
from dashboard.approvals.target import APPROVAL
from dashboard.errors import Invalid
from dashboard.kit.action import ACTIONS, read
from dashboard.kit.inputs import from_texts
from tests.contract.calls import example, send
from tests.contract.operations import operations
from tests.contract.world import World

from . import commands
from .declared import pages, verbs
from .outside_the_kit import OUTSIDE

pytestmark = pytest.mark.requirement("D06")
import_module(settings.ROOT_URLCONF)  # declares all of them
NAMES = sorted(ACTIONS)
# What is recorded with an action's own event, in the same transaction.
FOLLOWED: dict[str, list[EventKind | WorkspaceEventKind]] = {
    "thread.settle": [EventKind.THREAD_RETRIED],
    "policy.change": [WorkspaceEventKind.POLICY_SWITCHED],
}
# The change that somebody else asked for is theirs, and comes first.
ON_BEHALF = {"access.confirm"}


def declared(patterns: Any) -> list[str]:
    """The names of the actions that the views of these addresses were made from."""
    views = (one.callback for one in patterns)
    return [view.action.name for view in views if hasattr(view, "action")]


def calls() -> list[Any]:
    """Every address of the API."""
    left: list[Any] = [get_resolver("dashboard.api_urls")]
    results: list[Any] = []
    while left:
        for one in left.pop().url_patterns:
            (left if hasattr(one, "url_patterns") else results).append(one)
    return results


def test_what_is_written_outside_the_kit_is_listed_with_its_reason() -> None:
    """The lists may only become shorter: what is new is declared, or says here why not."""
    made = {action.operation_id for action in ACTIONS.values()}
    changes = {name for name, one in operations().items() if one.method == "post"}
    listed = [name for names in OUTSIDE.values() for name in names]
    assert len(listed) == len(set(listed))
    assert {*listed} == changes - made


def test_each_action_has_one_call_and_a_command() -> None:
    assert sorted(declared(calls())) == NAMES
    assert sorted(verbs()) == NAMES
    for action in ACTIONS.values():
        spec = operations()[action.operation_id].spec
        assert spec["summary"] == action.summary
        assert ("preview" in operations()[action.operation_id].query) is bool(action.preview)
        assert ("412" in spec["responses"]) is (action.versioned or 412 in action.refused)
        waits = bool(action.operation) or action.second_admin or action.status == 202
        waits = waits or action.buffered is not None
        assert ("202" in spec["responses"]) is waits


def test_each_page_of_an_action_has_its_call() -> None:
    """The pairs are in the registry; that the functions are the same is watched elsewhere."""
    made = [action.name for action in pages().values()]
    assert {*made} <= {*declared(calls())}
    assert len(made) >= 2


@pytest.mark.parametrize("name", NAMES)
def test_what_is_done_is_on_record(world: World, name: str) -> None:
    """One event of a kind that is declared, by the person who called."""
    action = ACTIONS[name]
    operation = operations()[action.operation_id]
    call = example(world, operation)
    who = world.cast.actor(call.who[0])

    def events() -> list[Any]:
        if isinstance(action.events[0], EventKind):
            [target] = [UUID(one) for one in call.params.values()]
            requested = action.target is APPROVAL
            thread = (
                requests.approval(target, workspace=who.workspace).thread if requested else target
            )
            return list(queries.events_after(thread, 0, limit=1_000))
        return list(reversed(queries.workspace_events(who.workspace).rows))

    seen = {event.seq for event in events()}
    response = send(world.cast.client(call.who[0]), operation, call)
    assert response.status_code == action.status
    new = [event for event in events() if event.seq not in seen]
    if name in ON_BEHALF:
        assert new.pop(0).actor == response.json()["asked_by"]
    assert {event.actor for event in new} == {who.id}
    assert new[0].kind in action.events
    assert [event.kind for event in new[1:]] == FOLLOWED.get(name, [])
    if action.versioned:
        row = response.json()
        assert response["ETag"] == f'"{row["version"]}"'
        others = {"name"} if name == "thread.signal" else set()  # not the thread's own
        texts = {k: v for k, v in call.body.items() if k in row.keys() - others}
        texts = {k: v for k, v in texts.items() if isinstance(v, str)}
        assert {k: row[k] for k in texts} == texts, "a text that was written is answered"


@pytest.mark.parametrize("name", [name for name in NAMES if ACTIONS[name].versioned])
def test_a_versioned_action_refuses_what_has_moved(world: World, name: str) -> None:
    """By its call with If-Match, and by its command with --version: nothing is on record."""
    operation = operations()[ACTIONS[name].operation_id]
    call = example(world, operation)
    [thread] = [UUID(one) for one in call.params.values()]
    row = queries.thread(thread, workspace=world.cast.workspace)
    later = str(row.version + 1)
    client = world.cast.client(call.who[0])
    response = send(client, operation, call, **{"If-Match": f'"{later}"'})
    assert response.status_code == 412
    assert response.json()["version"] == row.version
    words = [str(word) for word in commands.COMMANDS[verbs()[name]](world)]
    with pytest.raises(SystemExit) as ended:
        call_command(*verbs()[name].split(), *words, "--version", later, "--as", call.who[0])
    assert ended.value.code == 1
    assert queries.thread(thread, workspace=world.cast.workspace) == row


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
            read(takes, from_texts(takes, {name: text}) | {"reason": "because"})
        assert refused.value.path == f"$.{name}"
    with pytest.raises(Invalid) as refused:
        read(takes, {"root": "x", "reason": " "})
    assert {fault.path for fault in refused.value.faults} == {"$.root", "$.reason"}
