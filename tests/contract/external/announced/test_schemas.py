"""Schemas that an agent elsewhere brings: a broken one is refused at the entry, with its path.

One that got in some other way neither fetches an address nor lets anybody wait.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest
from django.db import connection

from tests.support.cast import Cast
from tests.unit.dashboard import scene
from tests.unit.dashboard.approvals.test_edit_preview import BROKEN

from ..entry import Agent, Answer

pytestmark = pytest.mark.django_db
SECONDS = 120.0  # without bounds it takes years


def started(a: Agent, **external: Any) -> Answer:
    return a.send("POST", "/threads/", {"agent": a.agent, "external": external}, {})


def announced(a: Agent) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM gp_agent_version WHERE agent = %s", [a.agent])
        return int(cursor.fetchone()[0])


@pytest.mark.parametrize("properties", BROKEN.values(), ids=BROKEN)
def test_a_broken_one_is_refused_with_its_path_and_nothing_is_announced(
    agent: Agent, properties: dict[str, Any]
) -> None:
    schema = {"type": "object", "properties": properties}
    refused = started(agent, schema=schema)
    assert (refused.status, refused.code) == (422, "invalid")
    assert refused.body["path"].startswith("$.external.schema.properties."), refused.body
    refused = started(agent, tools={"pay": {}, "the bank": {"schema": schema}})
    assert refused.status == 422
    assert refused.body["path"].startswith('$.external.tools["the bank"].schema.'), refused.body
    assert announced(agent) == 0
    assert started(agent).status == 201
    assert announced(agent) == 1


@pytest.mark.parametrize("properties", BROKEN.values(), ids=BROKEN)
def test_a_question_with_a_broken_one_is_not_asked(
    agent: Agent, properties: dict[str, Any]
) -> None:
    agent.start()
    agent.take()
    question = {"question": "How many?", "schema": {"type": "object", "properties": properties}}
    ask = [
        {"node": "work", "key": "q#0", "question": {"question": "How many?"}},
        {"node": "work", "key": "q#1", "question": question},
    ]
    refused = agent.call("POST", "approvals/", {"ask": ask})
    assert refused.status == 422
    assert refused.body["path"].startswith("$.ask[1].question.schema."), refused.body
    assert agent.get("next/").get("approvals", []) == []


def test_tools_with_definitions_of_their_own_are_taken(agent: Agent) -> None:
    line = {"type": "object", "properties": {"to": {"type": "string"}}}
    lines = {"$defs": {"Line": line}, "type": "array", "items": {"$ref": "#/$defs/Line"}}
    made = started(agent, tools={"pay": {"schema": {"properties": {"lines": lines}}}})
    assert made.status == 201, made.body


def test_an_expression_of_an_agent_keeps_nobody_waiting(agent: Agent) -> None:
    """Twenty-six characters held a whole web process for seven seconds, each more twice as long."""
    schema = {"properties": {"a": {"pattern": "^(a+)+$", "examples": ["a" * 59 + "!"]}}}
    agent.start(schema=schema, tools={"charge": {"schema": schema}}, input={"a": "aaa"})
    agent.take()
    began = time.perf_counter()
    hostile = "a" * 60 + "!"
    refused = agent.call("POST", "checkpoints/", {"step": 1, "delta": {"set": {"a": hostile}}})
    assert refused.status == 422
    body = {
        "node": "work",
        "key": "c#0",
        "kind": "effect",
        "tool": "charge",
        "args": {"a": hostile},
    }
    assert agent.call("POST", "activities/begin/", body).status == 422
    assert time.perf_counter() - began < SECONDS


@pytest.fixture
def elsewhere() -> Iterator[tuple[str, list[str]]]:
    """(address of a service, what was fetched there)."""
    fetched: list[str] = []

    class Service(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            fetched.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"type": "string"}')

        def log_message(self, *args: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Service) as server:
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/latest/meta-data", fetched
        server.shutdown()


def test_no_schema_makes_the_gate_fetch_an_address(
    cast: Cast, elsewhere: tuple[str, list[str]]
) -> None:
    address, fetched = elsewhere
    schema = {"type": "object", "properties": {"note": {"$ref": address}}}
    row = scene.waiting(cast.workspace, scene.make_agent(), args={"note": "a"}, schema=schema)
    body = {"verdict": "edit", "proposal_hash": row.standing_hash, "args": {"note": "b"}}
    answer = cast.client("manager").post(
        f"/api/v1/approvals/{row.id}/decide/", body, content_type="application/json"
    )
    assert answer.status_code == 422
    assert "schema is broken" in answer.json()["detail"]
    assert fetched == []
