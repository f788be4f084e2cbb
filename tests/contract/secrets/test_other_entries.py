"""Canaries at the entries beside the API: forms of pages, files, webhooks, MCP gateway, spans."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from checkpoints.state import marked
from dashboard.gateway import calls
from tests.contract.entries.test_pages_and_calls import FORMS, QUERY
from tests.contract.world import World
from tests.contract.written import taken_back
from tests.unit.dashboard import hooking
from tests.unit.dashboard.carried import run

from . import grep

pytestmark = pytest.mark.slow
CANARY = "ghp_C4n4ryC4n4ryC4n4ryC4n4ryC4n4ryC4n4ry"
# Fields that forms may have beside those of the examples.
MORE = {
    "thread_new": ("title",),
    "thread_fork": ("title", "reason"),
    "thread_cancel": ("reason",),
    "approval_decide": ("comment",),
    "approvals_decide": ("comment",),
}


def test_no_form_of_a_page_stores_a_credential(world: World) -> None:
    tried = 0
    stored: dict[str, set[str]] = {}
    for name, form in FORMS.items():
        who, ids, values = form(world)
        client = world.cast.client(who)
        for field in (*values, *MORE.get(name, ())):
            with taken_back():
                url = reverse(name, args=ids) + QUERY.get(name, "")
                answer = client.post(url, values | {field: f"{values.get(field, '')} {CANARY}"})
                tried += 1
                assert answer.status_code < 500, (name, field)
                if at := grep.in_database(CANARY):
                    stored[f"{name} {field}"] = at
    assert not stored, stored
    assert tried > 25
    assert grep.everywhere(CANARY) == set()


def test_a_refused_form_says_where_and_writes_nothing(world: World) -> None:
    client = world.cast.client("operator")
    form = {"agent": "research", "f-goal": f"use {CANARY}"}
    answer = client.post(reverse("thread_new"), form)
    assert answer.status_code == 422
    assert "what looks like a GitHub token" in answer.content.decode()


def test_a_file_is_not_named_after_one(world: World) -> None:
    client = world.cast.client("operator")
    file = SimpleUploadedFile(f"{CANARY}.csv", b"1,2")
    answer = client.post("/api/v1/artifacts/", {"file": file})
    assert answer.status_code == 422
    assert grep.everywhere(CANARY) == set()


def test_a_webhook_decides_nothing_with_one(world: World) -> None:
    hook, secret = hooking.made(world.cast, "canary", U1="manager")
    body = hooking.verdict(world.gate, comment=f"as {CANARY} says")
    answer = hooking.send(Client(), hook, body, secret=secret)
    assert answer.status_code == 422
    assert "comment" in answer.content.decode()
    assert grep.everywhere(CANARY) == set()


def test_the_gateway_withholds_a_result_with_one() -> None:
    result = {"content": [{"type": "text", "text": f"the key is {CANARY}"}]}
    why = calls.secret_in(marked.mark(result), set())
    assert why == "The result holds what looks like a GitHub token at $.content[0].text."
    assert calls.secret_in(marked.mark({"content": []}), set()) == ""


def test_a_span_is_recorded_without_it(world: World) -> None:
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps([{"role": "user", "content": f"use {CANARY}"}]),
    }
    span: dict[str, Any] = {
        "traceId": "5b8efff798038103d269b633813fc60d",
        "spanId": "eee19b7ec3c1b175",
        "name": f"chat {CANARY}",
        "attributes": [{"key": k, "value": {"stringValue": v}} for k, v in attributes.items()],
    }
    body = {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}
    client = world.cast.client("operator")
    answer = client.post("/api/v1/otlp/v1/traces", body, content_type="application/json")
    assert answer.status_code == 200, answer.content
    assert grep.everywhere(CANARY) == set()
    assert "gp_activity" in grep.in_database("withheld")


def test_an_exported_capsule_has_none(world: World, tmp_path: Path) -> None:
    """After an edit that was refused: the folder of the export is looked through as bytes."""
    client = world.cast.client("operator")
    path = f"/api/v1/threads/{world.gate.thread}/edit/"
    body = {"changes": {"goal": CANARY}, "reason": "typo"}
    answer = client.post(path, body, content_type="application/json")
    assert answer.status_code == 422
    assert "$.changes.goal" in answer.content.decode() or "goal" in answer.content.decode()
    code, _, errors = run(
        "export", str(world.gate.thread), "--to", str(tmp_path / "c.zip"), "--as", "auditor"
    )
    assert code == 0, errors
    assert CANARY.encode() not in (tmp_path / "c.zip").read_bytes()
