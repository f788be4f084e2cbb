"""Every limit at every entry that takes values: 4xx with the place, and the thread as it was.

What a node, a tool or an edge gives is tried in tests/unit/workers/step/test_limits.py.
"""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from checkpoints import queries, store
from checkpoints.state.deltas import LIMITS
from tests.contract.written import everything
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import CHANNELS, drive
from tests.unit.workers.graphs.beyond import BEYOND, MIB

pytestmark = pytest.mark.django_db

V1 = "/api/v1/threads/"
# {limit: JSON text of a value beyond it}; NaN, Infinity and halves as Python writes them.
TEXTS = {name: json.dumps(value) for name, value in BEYOND.items() if "type" not in name}
# {entry point: (the end of its address, its body, where in it the value stands)}
ENTRIES = {
    "start": ("", '{"agent": "any", "input": {"facts": {"here": %s}}}', "$.input.facts.here"),
    "edit": (
        "THREAD/edit/",
        '{"reason": "r", "changes": {"facts": {"here": %s}}}',
        "$.changes.facts.here",
    ),
    "fork": (
        "THREAD/fork/",
        '{"checkpoint": "HEAD", "changes": {"facts": {"here": %s}}}',
        "$.changes.facts.here",
    ),
    "config": (
        "THREAD/fork/",
        '{"checkpoint": "HEAD", "config": {"here": %s}}',
        "$.config.here",
    ),
    "input": ("THREAD/input/", '{"message": {"here": %s}}', "$.message.here"),
}


@pytest.fixture
def operator(cast: Cast) -> Client:
    client: Client = cast.client("operator")
    return client


@pytest.fixture
def thread(cast: Cast) -> UUID:
    """A paused one, which can be edited, forked and written to."""
    agent = store.announce_version(
        agent="any",
        version=1,
        fingerprint="f",
        label="Any",
        description="",
        schema_version=1,
        schema={"type": "object"},
        channels=CHANNELS,
        graph={"entry": ["work"], "nodes": [{"name": "work", "then": ["work"]}], "inbox": "log"},
        tools={},
        queue="gatepost",
    )
    store.announce_worker(
        "worker:1:boot", host="h", pid=1, slots=1, queues=["gatepost"], agents=[agent]
    )
    made = store.start(agent, input={}, workspace=cast.workspace, actor="user:1", title="t")
    store.pause(made, actor="user:1")
    return made


def send(client: Client, cast: Cast, thread: UUID, entry: str, value: str) -> Any:
    end, body, _ = ENTRIES[entry]
    head = str(queries.thread(thread, workspace=cast.workspace).head)
    return client.post(
        V1 + end.replace("THREAD", str(thread)),
        (body.replace("HEAD", head) % value).encode(),
        content_type="application/json",
    )


@pytest.mark.slow
@pytest.mark.parametrize("limit", TEXTS)
@pytest.mark.parametrize("entry", ENTRIES)
def test_a_value_beyond_a_limit_is_refused_with_its_path(
    operator: Client, cast: Cast, thread: UUID, entry: str, limit: str
) -> None:
    before = everything()
    answer = send(operator, cast, thread, entry, TEXTS[limit])
    assert answer.status_code in (400, 422), answer.content[:300]
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["path"].startswith(ENTRIES[entry][2])
    assert everything() == before
    # The same entry point takes what is within the limits, and the thread continues.
    assert send(operator, cast, thread, entry, '"fine"').status_code in (200, 201, 202)
    store.resume(thread, actor="user:1")
    drive(thread, 1)


@pytest.mark.parametrize("entry", ENTRIES)
def test_what_is_too_large_is_refused(
    operator: Client, cast: Cast, thread: UUID, entry: str
) -> None:
    before = everything()
    answer = send(operator, cast, thread, entry, json.dumps("x" * (LIMITS.request_bytes + 1)))
    assert answer.status_code == 413
    assert everything() == before
    assert send(operator, cast, thread, entry, '"fine"').status_code in (200, 201, 202)


def test_a_state_that_grows_beyond_its_limit_is_refused(
    operator: Client, cast: Cast, thread: UUID
) -> None:
    """Each request is small enough, the state would not be."""
    large = json.dumps("x" * (LIMITS.request_bytes - MIB))
    assert send(operator, cast, thread, "edit", large).status_code == 200
    at = f"{V1}{thread}/edit/"
    body = f'{{"reason": "r", "changes": {{"goal": {large}}}}}'.encode()
    before = everything()
    for path, refused in ((at, body), (f"{at}?preview=1", body)):
        answer = operator.post(path, refused, content_type="application/json")
        assert answer.status_code == 422
        assert "at most 8,388,608 are taken" in answer.json()["detail"]
        assert answer.json()["path"] == "$.changes.goal"
    assert everything() == before
    store.resume(thread, actor="user:1")
    drive(thread, 1)
