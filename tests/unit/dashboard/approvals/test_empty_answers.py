"""Forms on their pages: what nobody filled in is no answer, an edit keeps what it did not touch."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

import pytest

from approvals import queries as requests
from approvals.queries import ApprovalRow
from approvals.rules.verdicts import silent
from tests.support.cast import Cast
from tests.unit.dashboard import scene

pytestmark = pytest.mark.requirement("F02")

FORM: dict[str, Any] = {
    "type": "object",
    "required": ["when", "role", "count"],
    "x-order": ["when", "day", "role", "count", "rate", "agree", "sure", "tags", "note"],
    "properties": {
        "note": {"type": "string", "maxLength": 20},
        "day": {"type": "string", "format": "date"},
        "when": {"type": "string", "format": "date-time", "title": "When"},
        "role": {"enum": ["Creator", "Explorer"]},
        "count": {"type": "integer", "minimum": 3, "maximum": 90},
        "rate": {"type": "number"},
        "agree": {"type": "boolean", "title": "I agree to the transfer"},
        "sure": {"type": "boolean", "default": True},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
}
NEEDED = {"f-when": "2026-11-30T09:30", "z-when": "+01:00", "f-role": "Explorer", "f-count": "5"}
EMPTY = dict.fromkeys(("f-day", "f-rate", "f-agree", "f-sure", "f-tags", "f-note"), "")


@pytest.fixture
def agent(cast: Cast) -> UUID:
    return scene.make_agent()


def _question(cast: Cast, agent: UUID, schema: Any = FORM) -> ApprovalRow:
    return scene.waiting(
        cast.workspace,
        agent,
        kind="question",
        tool="",
        args={"prompt": "Fill this in"},
        title="Fill this in",
        schema=schema,
    )


def _answered(cast: Cast, row: ApprovalRow, texts: dict[str, str]) -> Any:
    seen = {"proposal_hash": row.proposal_hash, "verdict": "respond"}
    answer = cast.client("manager").post(f"/approvals/{row.id}/decide/", seen | texts)
    assert answer.status_code == 303, answer.content.decode()
    return requests.approval(row.id, workspace=cast.workspace).decided_args


def test_what_nobody_filled_in_is_not_in_the_answer(cast: Cast, agent: UUID) -> None:
    expected = {"when": "2026-11-30T09:30:00+01:00", "role": "Explorer", "count": 5}
    assert _answered(cast, _question(cast, agent), NEEDED | EMPTY) == expected


def test_an_empty_text_and_an_empty_list_are_answers_where_the_person_says_so(
    cast: Cast, agent: UUID
) -> None:
    readings = {"e-note": "text", "e-tags": "list", "f-agree": "false"}
    answer = _answered(cast, _question(cast, agent), NEEDED | EMPTY | readings)
    assert {name: answer[name] for name in ("agree", "tags", "note")} == {
        "agree": False, "tags": [], "note": "",
    }  # fmt: skip


def test_the_form_asks_in_the_author_s_order_with_inputs_of_their_kind(
    cast: Cast, agent: UUID
) -> None:
    row = _question(cast, agent)
    html = cast.client("manager").get(f"/approvals/{row.id}/").content.decode()
    assert re.findall(r'name="f-(\w+)"', html) == FORM["x-order"]
    kinds = dict(re.findall(r'<input id="f-(\w+)" name="f-\w+"\s+type="([\w-]+)"', html))
    assert kinds["when"] == "datetime-local"
    assert kinds["day"] == "date"
    agree = re.search(r'<select id="f-agree".*?</select>', html, re.S)
    assert agree is not None
    assert re.findall(r'value="(\w*)"( selected)?', agree[0]) == [
        ("", " selected"), ("true", ""), ("false", ""),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("texts", "name", "words"),
    [
        ({"f-role": ""}, "role", "Choose one."),
        ({"f-count": ""}, "count", "This is required."),
        ({"z-when": ""}, "when", "Choose the time zone."),
        ({"f-when": ""}, "when", "This is required."),
    ],
)
def test_what_is_required_is_asked_for(
    cast: Cast, agent: UUID, texts: dict[str, str], name: str, words: str
) -> None:
    row = _question(cast, agent)
    seen = {"proposal_hash": row.proposal_hash, "verdict": "respond"}
    answer = cast.client("manager").post(
        f"/approvals/{row.id}/decide/", seen | NEEDED | EMPTY | texts
    )
    html = answer.content.decode()
    assert answer.status_code == 422
    assert words in html[html.index(f'name="f-{name}"') :].partition("</div>")[0]


def test_a_yes_or_no_question_has_no_answer_before_one_is_chosen(cast: Cast, agent: UUID) -> None:
    row = _question(cast, agent, {"type": "boolean"})
    client, url = cast.client("manager"), f"/approvals/{row.id}/"
    assert re.search(r'<select id="answer" name="answer"', client.get(url).content.decode())
    seen = {"proposal_hash": row.proposal_hash, "verdict": "respond"}
    assert client.post(f"{url}decide/", seen | {"answer": ""}).status_code == 422
    assert _answered(cast, row, {"answer": "false"}) is False


def test_an_edit_keeps_empty_arguments_and_lets_them_be_sent(cast: Cast, agent: UUID) -> None:
    schema = {
        "type": "object",
        "required": ["to", "cc", "amount", "rate"],
        "properties": {
            "to": {"type": "string"},
            "cc": {"type": "string"},
            "amount": {"type": "string"},
            "rate": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        },
    }
    args = {"to": "ada@example.org", "cc": "", "amount": "10.00", "rate": None}
    row = scene.waiting(cast.workspace, agent, args=args, schema=schema)
    client = cast.client("manager")
    html = client.get(f"/approvals/{row.id}/edit/").content.decode()
    for name in ("cc", "rate"):
        tag = re.search(rf'<input id="f-{name}"[^>]*>', html)
        assert tag is not None
        assert "required" not in tag[0]
    texts = {"f-to": args["to"], "f-cc": "", "f-amount": "12.00", "f-rate": "", "as": "form"}
    seen = {"proposal_hash": row.proposal_hash, "verdict": "edit", "confirmed": "edit"}
    answer = client.post(f"/approvals/{row.id}/decide/", seen | texts)
    assert answer.status_code == 303, answer.content.decode()
    decided = requests.approval(row.id, workspace=cast.workspace)
    assert decided.decided_args == args | {"amount": "12.00"}


@pytest.mark.rubric(28)
def test_a_question_is_offered_only_where_the_agent_answers_it(cast: Cast, agent: UUID) -> None:
    schema = {"type": "object", "properties": {"to": {"type": "string"}}}
    client = cast.client("manager")
    for given_schema, is_offered in ((schema, True), (silent(schema), False)):
        row = scene.waiting(cast.workspace, agent, args={"to": "ada"}, schema=given_schema)
        html = client.get(f"/approvals/{row.id}/").content.decode()
        assert ("Ask the agent" in html) == is_offered
        assert "Edit first" in html
