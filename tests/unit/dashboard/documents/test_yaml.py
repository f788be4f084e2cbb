"""A state read as YAML is the state: no text becomes a number, a date, a truth or nothing."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from checkpoints import queries, store
from dashboard.documents.yaml_text import yaml_of
from tests.support.cast import Cast
from tests.unit.dashboard import scene

V1 = "/api/v1"
LOADERS = [yaml.SafeLoader] + ([yaml.CSafeLoader] if hasattr(yaml, "CSafeLoader") else [])
HOSTILE = [
    "no", "NO", "yes", "on", "off", "y", "N", "true", "False", "null", "Null", "~", "",
    "1", "1e3", "1E3", "-1.5e-7", ".5", "0x1F", "0o17", "017", "0b1", "1_000", "12:30:45", "+1",
    ".inf", "-.Inf", ".nan", "NaN", "2001-01-01", "2001-12-14t21:59:43.10-05:00", "=", "<<",
    "- a", "a: b", "a #b", "#", "&x", "*x", "!x", "!!python/object:os.system", "%TAG", "@", "`",
    "|", ">", "{a}", "[a]", "'", '"', "\\", " lead", "trail ", "\ttab", "a\tb", "---", "...",
    "line\nline", "line\n", "\nline", "a\n\n\nb\n\n", "  indented\nless", "a \n b", "crlf\r\nend",
    "\r", "\x07bell", "\x7f", "\x85", "\u2028", "\ufeff", "\u200b", "日本語", "🚚", "e\u0301",
    "\u202eright to left", "x" * 200 + " " + "y" * 200, "word " * 60, "? key", "key:",
]  # fmt: skip


def assert_same(value: Any) -> str:
    raw = yaml_of({"value": value})
    for loader in LOADERS:
        result = yaml.load(raw, Loader=loader)["value"]
        # repr as well: 1 == 1.0 == True.
        assert (result, repr(result)) == (value, repr(value)), raw
    return raw.decode()


@pytest.mark.parametrize("text", HOSTILE, ids=repr)
def test_hostile_texts_stay_texts(text: str) -> None:
    assert_same(text)
    assert_same({text: [text, {text: text}]})


@pytest.mark.parametrize("text", ["1e3", "0o17", "1_000", "y", "N", "1.", ".5", "+12e1"])
def test_what_other_readers_take_for_something_else_is_quoted(text: str) -> None:
    assert re.search(rf"value: '{re.escape(text)}'", assert_same(text))


@pytest.mark.parametrize(
    "number", [0, -1, 2**53, -(2**53), 0.1, -0.0, 1e16, 1e22, 1.5e300, 5e-324, 1e-7, True, None]
)
def test_numbers_stay_numbers(number: Any) -> None:
    assert_same(number)


def test_many_lines_are_readable_and_equal_parts_are_written_out() -> None:
    same = {"a": [1, 2]}
    text = assert_same({"poem": "roses\n  are red\n", "one": same, "two": same})
    assert "poem: |\n    roses\n      are red\n" in text
    assert "&" not in text
    assert "*" not in text


TEXTS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=30)
TEXTS |= st.text(" \n\t:#-'\"|>&*!%@`{}[],?\r\x85\u2028\ufeff\x7f\x07a1e", max_size=20)
NUMBERS = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=10,
)


@pytest.mark.slow
@settings(deadline=None, max_examples=400)
@given(VALUES)
def test_whatever_a_state_can_hold(value: Any) -> None:
    assert_same(value)


def test_the_call_answers_the_same_in_both_forms(cast: Cast) -> None:
    operator = cast.client("operator")
    thread = store.start(
        scene.make_agent(),
        input={"goal": "no", "findings": HOSTILE, "report": "two\nlines 2001-01-01"},
        workspace=cast.workspace,
        actor="user:1",
        name="1e3",
        title="null",
        labels={"on": "yes"},
        config={"model": "2001-01-01", "temperature": 0.5},
    )
    at = f"{V1}/threads/{thread}/state/"
    payload = operator.get(at).json()
    assert list(payload) == [
        "name", "session_id", "version", "step", "status", "thread_status", "created_at",
        "updated_at", "context", "artifacts", "state",
    ]  # fmt: skip
    assert (payload["name"], payload["session_id"], payload["version"], payload["step"]) == (
        *("1e3", "1e3"),
        *(1, 0),
    )
    assert payload["context"]["config"] == {"model": "2001-01-01", "temperature": 0.5}
    for answer in (
        operator.get(f"{at}?format=yaml"),
        operator.get(at, headers={"Accept": "application/yaml"}),
    ):
        assert answer["Content-Type"].startswith("application/yaml")
        assert yaml.safe_load(answer.content) == payload


def test_any_checkpoint_is_read_by_its_id(cast: Cast) -> None:
    operator = cast.client("operator")
    thread = scene.start(cast.workspace, scene.make_agent())
    work = scene.lease(thread)
    first: UUID = work.head
    scene.step(work, report="later")
    at = f"{V1}/threads/{thread}/state/"
    past = yaml.safe_load(operator.get(f"{at}?checkpoint={first}&format=yaml").content)
    assert (past["state"]["report"], past["step"], past["context"]["head"]) == ("", 0, False)
    now = yaml.safe_load(operator.get(f"{at}?format=yaml").content)
    assert (now["state"]["report"], now["step"], now["context"]["head"]) == ("later", 1, True)
    assert now["updated_at"] > past["updated_at"] >= past["created_at"]
    assert queries.checkpoint(thread, first).step == 0
