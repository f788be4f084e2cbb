"""Pages show what a mark in a record stands for, wherever a recorded value is drawn."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.template import Context, Template

from checkpoints.state import marked
from dashboard.html import conversation, model_calls, trees
from dashboard.html.comparison import endings
from dashboard.threads.descriptions import short
from workers.step import rules

pytestmark = pytest.mark.requirement("F03")
FORM = marked.mark({"big": 2**80, "raw": b"\0\xff", "price": Decimal("1.10"), "half": "x\ud83d"})
WORDS = ("1208925819614629174706176", "2 bytes: 00 ff", "1.10", "x\ufffd")


def template(text: str) -> Callable[[Any], str]:
    return lambda value: Template("{% load gatepost decision %}" + text).render(
        Context({"value": value})
    )


DRAWN: dict[str, Callable[[Any], str]] = {
    "call list": template("{{ value|message_text }}"),
    "tree": template("{% json_tree value %}"),
    "comparison": template("{% json_tree value value.other compare=True %}"),
    "whole tree": template("{% whole_tree value %}"),
    "paper": template("{{ value|json_lines }}"),
    "terminal": lambda value: short(value, 1_000),
    "compared endings": endings._text,
    "repeat": rules._short,
    "message": conversation._text,
    "answer of a model": lambda value: model_calls._part("answer", value).text,
}


@pytest.mark.parametrize("region", DRAWN)
def test_a_value_is_shown_and_not_its_mark(region: str) -> None:
    text = DRAWN[region](FORM)
    assert marked.MARK not in text
    for words in WORDS:
        assert words in text, words


def test_a_text_that_json_cannot_hold_is_text() -> None:
    form = marked.mark("nul \0")
    for region in ("call list", "compared endings", "message", "answer of a model", "terminal"):
        assert DRAWN[region](form) == "nul \u2400"


def test_a_changed_value_is_one_line() -> None:
    html = trees.render({"n": marked.mark(2**80)}, {"n": marked.mark(2**81)})
    assert "<del>" in html
    assert marked.MARK not in html
    assert "2417851639229258349412352" in html


def test_a_large_value_is_a_link_to_its_file() -> None:
    file = {"$artifact": "a" * 64, "name": "look_up result.json", "media_type": "application/json"}
    html = trees.render({"result": marked.large(b"[1,2]", {**file, "size": 9_000_000})})
    assert "look_up result.json" in html
    assert "[1,2]" in html
    assert marked.MARK not in html
