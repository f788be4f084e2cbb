"""What a call of an agent elsewhere returned is kept whatever it is; all else stays strict."""

from __future__ import annotations

import json
from uuid import UUID

import pytest

from checkpoints import queries
from checkpoints.state import marked
from dashboard.operating.proof import verify

from .door import Agent

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("F03")]
RESULTS = [
    r'{"text":"a\u0000b"}',
    r'"half \ud83d"',
    '{"n":NaN,"m":-Infinity}',
    "123456789012345678901234567890",
    '{"a":1,"a":2}',
    "[1e999]",
    "[" * 300 + "]" * 300,
]


@pytest.mark.parametrize("spelled", RESULTS, ids=map(str, range(len(RESULTS))))
def test_a_result_is_kept_in_its_marked_form(agent: Agent, spelled: str) -> None:
    agent.start(nodes=["work"])
    agent.take()
    assert agent.begin("charge#0", args={"n": 1})["do"] == "call"

    def settled(more: str) -> int:
        return agent.call("POST", "activities/settle/", f'{text},{more}"result":{spelled}}}').status

    body = {"node": "work", "key": "charge#0", "kind": "effect", "tool": "charge"}
    text = json.dumps(body | {"args": {"n": 1}, "state": "done"})[:-1]
    for more in ('"error":"\\u0000",', '"usage":{"tokens":NaN},', '"state":"done",'):
        assert settled(more) == 400, more
    assert settled("") == 200
    (row,) = queries.step_activities(UUID(agent.thread), branch=0, step=1)
    assert row.state == "done"
    assert marked.marks(row.result)
    assert agent.begin("charge#0", args={"n": 1})["result"] == row.result
    assert verify(UUID(agent.thread)).intact
