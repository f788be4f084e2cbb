"""Changes of a fork or an edit are judged without the state where that says the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Never
from uuid import UUID

import pytest

from checkpoints import queries, store
from checkpoints.queries.states import materialized
from checkpoints.state import deltas
from checkpoints.views import AgentRow
from dashboard.errors import Invalid
from dashboard.fields.validation import check_changes, resulting_state
from dashboard.threads.edit import edit
from dashboard.threads.fork import fork
from dashboard.threads.start import start_or_continue
from tests.support.cast import Cast

STATE = {"goal": "tea", "limit": 3, "findings": ["one"], "file": None, "report": ""}
CHANGES: list[Any] = [
    {},
    {"goal": "coffee"},
    {"goal": 5},
    {"limit": "many", "goal": None},
    {"limit": None, "findings": [1, "x", None]},
    {"nobody": 1},
    {"goal": "a\0b"},
    {"limit": float("nan")},
    {"report": {"$artifact": "0" * 64}},
    {"file": {"$artifact": "0" * 64}},
    {"findings": {}},
    {"goal": "x" * deltas.LIMITS.state_bytes},
    ["goal"],
    None,
]
WITH = {
    "as it is": {},
    "at most one": {"maxProperties": 1},
    "all of": {"allOf": [{"properties": {"goal": {"minLength": 4}}}]},
    "together": {"dependentRequired": {"goal": ["nobody"]}},
    "closed": {"additionalProperties": False},
    "to itself": {"$defs": {"X": {"$ref": "#"}}},
}


def faults(check: Any) -> list[tuple[str, str]]:
    """What a check refuses, with paths."""
    try:
        check()
    except Invalid as error:
        return [(fault.path, fault.message) for fault in error.faults]
    return []


def with_more(agent: UUID, more: Mapping[str, Any]) -> AgentRow:
    row = queries.agent_version(agent)
    return replace(row, schema={**row.schema, **more})


@pytest.mark.slow
@pytest.mark.parametrize("more", WITH.values(), ids=WITH.keys())
def test_the_same_is_refused_with_and_without_the_state(
    cast: Cast, agent: UUID, more: Mapping[str, Any]
) -> None:
    version = with_more(agent, more)
    read = []

    def state() -> dict[str, Any]:
        read.append(1)
        return dict(STATE)

    payload: dict[str, Any] = {"workspace": cast.workspace, "within": "changes"}
    size = len(deltas.canonical(STATE))
    refused = 0
    for changes in CHANGES:
        whole = faults(lambda: resulting_state(version, STATE, changes, **payload))  # noqa: B023
        result = faults(
            lambda: check_changes(version, changes, state_bytes=size, state=state, **payload)  # noqa: B023
        )
        if changes:
            assert result == whole, changes
            refused += bool(result)
        else:  # nothing is new
            assert result in ([], whole)
    assert refused >= 8
    # A schema that speaks of channels together needs them together.
    assert bool(len(read) > 1) == (more.keys() not in (set(), {"additionalProperties"}))


def never(*_: Any, **__: Any) -> Never:
    raise AssertionError("the state was read")


def test_a_changed_fork_and_an_edit_read_no_state(
    cast: Cast, agent: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    who = cast.actor("operator")
    thread, _ = start_or_continue(who, agent="research", input={"goal": "delays"})
    head = queries.thread(thread, workspace=cast.workspace).head
    store.pause(thread, actor=who.id)
    with monkeypatch.context() as patched:
        patched.setattr(materialized, "materialise", never)
        patched.setattr(queries, "state_at", never)
        plain = fork(who, thread, head)
        changed = fork(who, thread, head, {"limit": 7})
        edited = edit(who, thread, {"limit": 9}, "too few")
        with pytest.raises(Invalid) as caught:
            fork(who, thread, head, {"limit": "many"})
    assert [fault.path for fault in caught.value.faults] == ["$.limit"]
    limits = [
        queries.state_at(which, at or queries.thread(which, workspace=cast.workspace).head)["limit"]
        for which, at in ((plain, None), (changed, None), (thread, edited))
    ]
    assert limits == [None, 7, 9]


@pytest.mark.slow
def test_where_there_is_no_room_left_the_state_is_asked(cast: Cast, agent: UUID) -> None:
    """What is replaced gives its room back."""
    who = cast.actor("operator")
    most = "x" * (deltas.LIMITS.state_bytes - 1_000)
    thread, _ = start_or_continue(who, agent="research", input={"goal": most})
    head = queries.thread(thread, workspace=cast.workspace).head
    assert fork(who, thread, head, {"goal": most[::-1]})
    with pytest.raises(Invalid) as caught:
        fork(who, thread, head, {"report": most})
    assert [fault.path for fault in caught.value.faults] == ["$.report"]
