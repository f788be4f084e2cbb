"""What a call of an agent elsewhere returned is kept whatever it is; all else stays strict."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest

from approvals.verification.proof import verify
from checkpoints import queries
from checkpoints.state import marked

from .entry import Agent

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
    for more in ('"usage":{"tokens":NaN},', '"state":"done",'):
        assert settled(more) == 400, more
    assert settled("") == 200
    (row,) = queries.step_activities(UUID(agent.thread), branch=0, step=1)
    assert row.state == "done"
    assert marked.marks(row.result)
    assert agent.begin("charge#0", args={"n": 1})["result"] == row.result
    assert verify(UUID(agent.thread)).intact


RECORD = {"node": "work", "kind": "value"}


def test_one_record_that_json_cannot_hold_loses_no_other(agent: Agent) -> None:
    agent.start(nodes=["work"])
    agent.take()

    def recorded(*spelled: str) -> Any:
        rows = [json.dumps(RECORD | {"key": f"k{n}"})[:-1] for n in range(len(spelled))]
        body = ",".join(f"{row},{more}}}" for row, more in zip(rows, spelled, strict=True))
        return agent.call("POST", "activities/record/", f'{{"records":[{body}]}}')

    odd = [f'"result":{result}' for result in RESULTS]
    strange = ['"args":{"n":NaN},"result":1', '"args":1.2345678901234567890,"result":"]}\\""']
    answer = recorded('"result":[1]', *odd, '"result":"last"', *strange)
    assert answer.status == 200, answer.body
    rows = {row["key"]: row for row in answer.body["activities"]}
    assert [rows[f"k{n}"]["result"] for n in (0, len(RESULTS) + 1)] == [[1], "last"]
    assert all(marked.marks(rows[f"k{n}"]["result"]) for n in range(1, len(RESULTS) + 1))
    assert marked.marks(rows[f"k{len(RESULTS) + 2}"]["args"]) == [("$.n", "float")]
    assert rows[f"k{len(RESULTS) + 3}"]["args"] == {"$exact": {"raw": "1.2345678901234567890"}}
    # What names a record is as strict as ever, and its path is the one that was sent.
    for bad, path in (
        ('"index":NaN', "$.records[1].index"),
        ('"poison":1e999', "$.records[1].poison"),
    ):
        answer = recorded('"result":NaN', bad)
        assert (answer.status, answer.body["path"]) == (400, path)
    assert verify(UUID(agent.thread)).intact


def test_the_error_of_a_call_is_kept_whatever_its_text_is(agent: Agent) -> None:
    agent.start(nodes=["work"])
    agent.take()
    agent.begin("charge#0", args={})
    body = {
        "node": "work",
        "key": "charge#0",
        "kind": "effect",
        "tool": "charge",
        "state": "failed",
    }
    spelled = f'{json.dumps(body)[:-1]},"error":"no \\u0000 \\ud83d {"x" * 20_000}"}}'
    assert agent.call("POST", "activities/settle/", spelled).status == 200
    (row,) = queries.step_activities(UUID(agent.thread), branch=0, step=1)
    assert row.state == "failed"
    assert row.error.startswith("no \\x00 \\ud83d xxx")
    assert len(row.error) == 10_001


def test_the_arguments_of_a_call_that_was_made_are_kept(agent: Agent) -> None:
    agent.start(nodes=["work"])
    agent.take()
    body = {
        "node": "work",
        "key": "charge#0",
        "kind": "activity",
        "tool": "charge",
        "state": "done",
    }
    spelled = f'{json.dumps(body)[:-1]},"args":{{"n":NaN}},"result":1}}'
    assert agent.call("POST", "activities/settle/", spelled).status == 200
    (row,) = queries.step_activities(UUID(agent.thread), branch=0, step=1)
    assert marked.unmark(row.args)["n"] != marked.unmark(row.args)["n"]  # NaN
    assert row.result == 1
    # Before the call they are refused: people decide about them.
    text = json.dumps({"node": "work", "key": "charge#1", "kind": "effect", "tool": "charge"})
    begin = f'{text[:-1]},"args":{{"n":NaN}}}}'
    assert agent.call("POST", "activities/begin/", begin).status == 400


def test_an_effect_whose_result_holds_a_credential_is_done(agent: Agent) -> None:
    agent.start(nodes=["work"])
    agent.take()
    agent.begin("charge#0", args={})
    settled = agent.settle("charge#0", result={"token": "ghp_" + "a1B2" * 9})
    assert settled["state"] == "done"
    assert settled["result"] == {"withheld": "$.token holds what looks like a GitHub token."}
    # A pure call can be made again without it, and its next step must not get another value.
    body = {"node": "work", "key": "k", "kind": "activity", "tool": "charge", "state": "done"}
    answer = agent.call("POST", "activities/settle/", {**body, "result": "ghp_" + "a1B2" * 9})
    assert answer.status == 422


def test_a_report_that_is_too_large_says_what_to_send_instead(agent: Agent) -> None:
    agent.start(nodes=["work"])
    agent.take()
    agent.begin("charge#0", args={})
    body = {"node": "work", "key": "charge#0", "kind": "effect", "tool": "charge", "state": "done"}
    answer = agent.call("POST", "activities/settle/", {**body, "result": "x" * (5 << 20)})
    assert answer.status == 413
    assert '{"$exact": {"large":' in answer.body["detail"]
    large = {"bytes": 5 << 20, "sha256": "0" * 64, "start": "xxx", "file": None}
    settled = agent.settle("charge#0", result={"$exact": {"large": large}})
    assert settled["state"] == "done"
    assert marked.large_part(settled["result"]) == large
