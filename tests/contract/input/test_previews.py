"""A preview refuses what the change would refuse: each call that has one, with many bodies.

The other way round is not asked for: a change may still be refused by what happens in between.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from tests.contract.calls import example, send
from tests.contract.example_calls import Call
from tests.contract.operations import Operation, operations
from tests.contract.world import World
from tests.contract.written import taken_back

from .bounds import dropped, inside, members, outside, put, resolved

PREVIEWED = sorted(name for name, one in operations().items() if "preview" in one.query)
KEY = "sk_" + "live_" + "4eC39HqLyjWDarjtT1zdp7dc"
SOME_TEXTS = ("", " ", KEY, "tool ==", "nobody")
# (call, status): what a preview is asked before anybody can answer it.
ANSWERED_BY_THE_PREVIEW = {
    ("policies_change", 409): "what becomes of requests that the preview counts",
    ("threads_erase", 409): "`obstacle` of the preview",
}
# Required of the change alone; a reason that is given is checked by both.
OPTIONAL_IN_A_PREVIEW = ("threads_edit", "threads_roll_back", "threads_many")
MORE: dict[str, tuple[dict[str, Any], ...]] = {
    "policies_change": (
        {"active": False, "number": 1},
        {"active": False, "waiting": "keep"},
        {"position": 1, "number": 1},
        {"position": 2},
        {"active": True},
        {},
    ),
    "threads_cancel": ({"undo": False, "undo_unknown": True}, {"undo": True}, {}),
    "threads_edit": ({"changes": {}, "reason": "r"}, {"changes": {"goal": 7}, "reason": "r"}),
    "threads_many": tuple(
        {"action": action, "threads": [str(UUID(int=1))], "reason": "r", **more}
        for action in ("pause", "cancel", "roll_back")
        for more in ({}, {"to": 0}, {"undo": True}, {"to": 99})
    ),
}


def bodies(operation: Operation, call: Call) -> Iterator[Any]:
    """The good body, and those with one member left out, or with another value."""
    yield call.body
    yield from MORE.get(operation.id, ())
    (content,) = operation.spec["requestBody"]["content"].values()
    for member in members(resolved(content["schema"])[0]):
        yield dropped(call.body, member.keys)
        values = itertools.chain(
            itertools.islice(inside(member), 4), itertools.islice(outside(member), 4)
        )
        if member.schema.get("type") == "string":
            values = itertools.chain(SOME_TEXTS, values)
        for value in values:
            yield put(call.body, member.keys, value)


def threads(w: World) -> list[UUID]:
    """One in each condition, one of another workspace, and none at all."""
    of_all = (w.queued, w.paused, w.failed, w.changed, w.ended, w.gate.thread, w.asking[0])
    elsewhere = (
        w.elsewhere,
        w.reporting[0],
        w.settled[0],
        w.undoing[0],
        w.on_hold,
        w.encrypted,
        w.foreign,
    )
    return [*of_all, *elsewhere, UUID(int=1)]


def calls(world: World, operation: Operation) -> Iterator[Call]:
    """Every body, then the good one to every thread, and under a version of before."""
    call = example(world, operation)
    for body in bodies(operation, call):
        yield call.but(body=body)
    if "thread_id" in call.params:
        for thread in threads(world):
            yield call.but(params={"thread_id": str(thread)})
    if any(one["name"] == "If-Match" for one in operation.spec["parameters"]):
        for version in ('"0"', '"999999"', "x"):
            yield call.but(headers={"If-Match": version})


def problem(answer: Any) -> tuple[int, str | None]:
    """Status, and the path of the fault."""
    return (answer.status_code, answer.json().get("path") if answer.status_code >= 400 else None)


@pytest.mark.slow
@pytest.mark.parametrize("name", PREVIEWED)
def test_it_refuses_what_the_change_refuses(world: World, name: str) -> None:
    operation = operations()[name]
    counts, wrong = {"done": 0, "refused": 0}, []
    client = world.cast.client(example(world, operation).who[0])
    for call in calls(world, operation):
        with taken_back():
            change = send(client, operation, call)
        if (name, change.status_code) in ANSWERED_BY_THE_PREVIEW:
            continue
        with taken_back():
            preview = send(client, operation, call.but(query={"preview": "1"}))
        was, now = problem(change), problem(preview)
        counts["done" if was[0] < 400 else "refused"] += 1
        unsaid = name in OPTIONAL_IN_A_PREVIEW and not str(call.body.get("reason") or "").strip()
        if unsaid and was == (422, "$.reason"):
            continue
        if was != now if was[0] >= 400 else now[0] != 200:
            wrong.append((was, now, call.params, call.headers, repr(call.body)[:200]))
    assert not wrong, "\n".join(map(str, wrong))
    assert min(counts.values()) >= 1, counts
    assert sum(counts.values()) >= 12, counts
