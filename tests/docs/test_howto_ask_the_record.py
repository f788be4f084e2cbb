"""The how-to of questions to the record: its commands and its call are performed and answer."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.support.cast import Cast
from tests.unit.dashboard.people.test_people_as_code import answer
from tests.unit.dashboard.questions.test_asking import ask, record
from tests.unit.dashboard.records.exports.population import populate

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("B41")]
PAGE = (Path(__file__).parents[2] / "docs/howto/ask-the-record.md").read_text()
COMMAND = re.compile(r"^\./manage\.py ((?:record|index).*)$", re.MULTILINE)
MODEL = re.compile(r"^GATEPOST_ANSWER_MODEL=(\S+)", re.MULTILINE)
BODY = re.compile(r"-d '(\{.*\})'")


def test_each_command_and_the_call_of_the_page_answer(cast: Cast) -> None:
    populate(cast)
    texts = ("Read 138 lines.", "Line 8, BOE/61, is set aside. Its order is another one.")
    thread = record(cast, *texts, agent="payments")
    lines = COMMAND.findall(PAGE)
    assert len(lines) >= 6
    for line in lines:
        words = shlex.split(line.replace("0198c5f2-6d1e-7a30-9b51-4f0b5a3c2d10", str(thread)))
        if words[0] == "index":
            assert answer(*words)["seconds"] >= 0
            continue
        words = ["2020-01-01T00:00:00Z" if word.startswith("2026-") else word for word in words]
        result: Any = answer(*words, "--as", "auditor")
        assert result["in_record"], line
    (body,) = BODY.findall(PAGE)
    made = cast.client("viewer").post(
        "/api/v1/records/questions/", body, content_type="application/json"
    )
    assert made.json()["in_record"], json.loads(body)


def test_each_model_of_the_page_is_understood(cast: Cast, settings: Any) -> None:
    record(cast, "Read 138 lines.", agent="payments")
    values = MODEL.findall(PAGE)
    assert len(values) == 3
    for value in values:
        settings.GATEPOST_ANSWER_MODEL = value
        estimate = ask(cast, "viewer", "How many lines were read?")["estimate"]
        assert value.startswith(estimate["model"])
        assert (estimate["cost"] is None) == ("@" in value), value
