"""Edits of a proposal: a preview shows what differs and decides nothing; schemas of all kinds."""

from __future__ import annotations

import html
import json
from typing import Any

import pytest
from django.test import Client

from approvals import queries as gates
from approvals.queries import ApprovalRow
from approvals.rules.terms import Seat, Terms
from tests.support.cast import Cast
from tests.unit.dashboard import scene


@pytest.fixture
def row(cast: Cast) -> ApprovalRow:
    return scene.waiting(cast.workspace, scene.make_agent())


def send(client: Client, row: ApprovalRow, args: Any, **form: str) -> Any:
    fields = {"verdict": "edit", "as": "json", "args": json.dumps(args), "comment": "fewer"}
    posted = {"proposal_hash": row.standing_hash, **fields, **form}
    return client.post(f"/approvals/{row.id}/decide/", posted)


def now(cast: Cast, row: ApprovalRow) -> ApprovalRow:
    return gates.approval(row.id, workspace=cast.workspace)


def test_it_shows_paths_and_values_and_decides_nothing(cast: Cast, row: ApprovalRow) -> None:
    client = cast.client("manager")
    args = {**row.shown_args, "report": "a shorter one", "copies": 3}
    answer = send(client, row, args, act="preview")
    text = html.unescape(answer.content.decode())
    assert answer.status_code == 200
    assert "What your edit changes" in text
    assert 'data-path="/report"' in text
    assert 'data-path="/copies"' in text
    assert "~ 1 changed" in text
    assert "+ 1 added" in text
    assert "a shorter one" in text
    assert 'value="fewer"' in text
    after = now(cast, row)
    assert (after.open, after.shown_args, after.revision) == (True, row.shown_args, row.revision)
    assert send(client, row, args).status_code == 303
    assert now(cast, row).shown_args == args


def test_equal_arguments_are_said_to_be_equal(cast: Cast, row: ApprovalRow) -> None:
    answer = send(cast.client("manager"), row, row.shown_args, act="preview")
    assert "The arguments stay as they are." in answer.content.decode()


def test_a_fault_comes_before_the_preview(cast: Cast, row: ApprovalRow) -> None:
    answer = send(cast.client("manager"), row, [], act="preview")
    assert answer.status_code == 422
    assert "What your edit changes" not in answer.content.decode()


def test_after_anothers_edit_both_changes_come_back_before_a_preview(cast: Cast) -> None:
    both = Terms(stages=(Seat(count=2),))
    row = scene.waiting(cast.workspace, scene.make_agent(), terms=both)
    theirs = {**row.shown_args, "copies": 2}
    assert send(cast.client("second_manager"), row, theirs).status_code == 303
    mine = {**row.shown_args, "report": "mine"}
    answer = send(cast.client("manager"), row, mine, act="preview")
    text = html.unescape(answer.content.decode())
    assert answer.status_code == 409
    assert "Someone edited it in the meantime." in text
    assert '"copies": 2' in text
    assert '"report": "mine"' in text


def test_a_request_that_was_decided_meanwhile_has_no_preview(cast: Cast, row: ApprovalRow) -> None:
    assert send(cast.client("second_manager"), row, {**row.shown_args, "copies": 2})
    answer = send(cast.client("manager"), row, {"report": "mine"}, act="preview")
    assert answer.status_code == 409
    assert "there is nothing left to edit" in answer.content.decode()


def test_who_may_not_decide_sees_no_preview(cast: Cast, row: ApprovalRow) -> None:
    answer = send(cast.client("operator"), row, {"report": "x"}, act="preview")
    assert answer.status_code == 403


# Definitions stand in the argument that brought them, as in the schema of a tool of ours.
LINES: dict[str, Any] = {
    "type": "object",
    "properties": {
        "note": {"type": "string"},
        "lines": {
            "type": "array",
            "items": {"$ref": "#/$defs/Line"},
            "$defs": {"Line": {"type": "object", "properties": {"to": {"type": "string"}}}},
        },
    },
}
# Schemas that an agent elsewhere or an MCP server may bring, for the argument `note` or for all.
BROKEN: dict[str, dict[str, Any]] = {
    "dangling": {"note": {"$ref": "#/$defs/Line"}},
    "elsewhere": {"note": {"$ref": "https://schemas.example/line"}},
    "endless": {"note": {"$ref": "#/properties/note"}},
    "reference": {"note": {"$ref": 7}},
    "type": {"note": {"type": 5}},
    "unknown type": {"note": {"type": "text"}},
    "pattern": {"note": {"pattern": "("}},
    "length": {"note": {"minLength": "x"}},
    "choices": {"note": {"enum": 3}},
    "items": {"note": {"type": "string"}, "lines": {"type": "array", "items": 3}},
    "definitions": {"note": {"type": "string", "$defs": 3, "allOf": 7}},
}
ARGS = {"note": "first", "lines": [{"to": "Ada"}]}


def by_form(client: Client, row: ApprovalRow, **form: str) -> Any:
    fields = {"f-note": "second", "f-lines": '[{"to": "Bea"}]', "as": "form", "verdict": "edit"}
    posted = {"proposal_hash": row.standing_hash, "comment": "", **fields, **form}
    return client.post(f"/approvals/{row.id}/decide/", posted)


def by_json(client: Client, row: ApprovalRow, **form: str) -> Any:
    return send(client, row, {"note": "second", "lines": [{"to": "Bea"}]}, **form)


@pytest.mark.parametrize("edit", [by_form, by_json])
def test_arguments_of_named_types_are_edited(cast: Cast, edit: Any) -> None:
    row = scene.waiting(cast.workspace, scene.make_agent(), args=ARGS, schema=LINES)
    client = cast.client("manager")
    assert 'data-path="/lines/0/to"' in edit(client, row, act="preview").content.decode()
    assert edit(client, row).status_code == 303
    assert now(cast, row).shown_args == {"note": "second", "lines": [{"to": "Bea"}]}


@pytest.mark.parametrize("schema", BROKEN.values(), ids=BROKEN)
def test_a_broken_schema_is_named_wherever_arguments_are_edited(
    cast: Cast, schema: dict[str, Any]
) -> None:
    whole = {"type": "object", "properties": schema}
    row = scene.waiting(cast.workspace, scene.make_agent(), args=ARGS, schema=whole)
    client = cast.client("manager")
    for page in ("", "edit/"):
        assert client.get(f"/approvals/{row.id}/{page}").status_code == 200
    for edit in (by_form, by_json):
        for act in ("preview", ""):
            answer = edit(client, row, act=act, **{"f-note": '"second"'})
            assert answer.status_code == 422
            assert "its schema is broken" in answer.content.decode()
    body = {"verdict": "edit", "proposal_hash": row.standing_hash, "args": {"note": "second"}}
    answer = client.post(
        f"/api/v1/approvals/{row.id}/decide/", json.dumps(body), content_type="application/json"
    )
    assert answer.status_code == 422
    assert now(cast, row).open
