"""A conversation is drawn from whatever its channel holds: each message once, pages bounded."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
from hypothesis import given

from checkpoints.states import Status
from dashboard.html.conversation import ROWS, ROWS_MAX, TEXT_MAX, Line, channel_of, lines, window

SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=8)
CALLS = st.lists(
    st.fixed_dictionaries(
        {"id": st.sampled_from(["a", "b", ""]), "name": st.sampled_from(["add", "send"])},
        optional={
            "arguments": SCALARS | st.dictionaries(st.text(max_size=3), SCALARS, max_size=2),
            "raw": SCALARS,
            "error": st.text(max_size=8),
        },
    ),
    max_size=3,
)
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "system", "critic"])},
    optional={
        "content": SCALARS | st.lists(SCALARS, max_size=2) | st.just("x" * 9_000),
        "tool_calls": CALLS | SCALARS,
        "tool_call_id": st.sampled_from(["a", "b", ""]),
    },
)
ITEMS = st.lists(MESSAGES | SCALARS | st.dictionaries(st.text(max_size=3), SCALARS), max_size=90)


def drawn(items: list[Any], shown: range, summary: Any = None) -> list[Line]:
    return list(
        lines(
            items,
            shown,
            summary=summary,
            sources={},
            requests=[],
            activities=[],
            status=Status.WAITING,
        )
    )


@given(items=ITEMS, summary=SCALARS | st.fixed_dictionaries({"text": SCALARS, "messages": SCALARS}))
def test_pages_show_each_message_once_whatever_it_is(items: list[Any], summary: Any) -> None:
    seen: list[int] = []
    before: int | None = None
    while True:
        shown = window(items, before)
        assert len(shown) <= ROWS_MAX
        rows = [line for line in drawn(items, shown, summary) if line.role != "summary"]
        results = sum(call.result is not None for line in rows for call in line.calls)
        # What is no line of its own stands as the result of a call.
        assert len(rows) + results >= len(shown)
        numbers = [line.number for line in rows]
        assert numbers == sorted(set(numbers))
        assert all(shown.start < number <= shown.stop for number in numbers)
        assert all(len(line.words.text) <= TEXT_MAX for line in rows)
        seen = [*shown, *seen]
        if not shown.start:
            break
        before = shown.start + 1
    assert seen == list(range(len(items)))


def test_a_page_holds_so_many_messages_and_no_result_without_its_call() -> None:
    items: list[Any] = [{"role": "user", "content": str(n)} for n in range(100)]
    assert window(items, None) == range(100 - ROWS, 100)
    items[100 - ROWS] = {"role": "tool", "content": "5", "tool_call_id": "a"}
    call = {"id": "a", "name": "add", "arguments": {"a": 1}}
    items[99 - ROWS] = {"role": "assistant", "content": "", "tool_calls": [call]}
    shown = window(items, None)
    assert shown.start == 99 - ROWS
    first, *others = drawn(items, shown)
    assert first.calls[0].result is not None
    assert first.calls[0].result.text == "5"
    assert len(others) == ROWS - 1


def test_ids_of_calls_that_start_anew_in_each_answer() -> None:
    call = {"id": "call-0", "name": "add", "arguments": {"a": 1}}
    answer = {"role": "assistant", "content": "", "tool_calls": [call]}
    items = [
        answer,
        {"role": "tool", "content": "one", "tool_call_id": "call-0"},
        answer,
        {"role": "tool", "content": "two", "tool_call_id": "call-0"},
        answer,
    ]
    texts = [line.calls[0].result and line.calls[0].result.text for line in drawn(items, range(5))]
    assert texts == ["one", "two", None]


def test_a_summary_stands_behind_the_messages_that_it_stands_for() -> None:
    items = [{"role": "user", "content": str(n)} for n in range(6)]
    summary = {"text": "They counted.", "messages": 4, "model": "m"}
    rows = drawn(items, range(6), summary)
    assert [line.words.text for line in rows] == ["0", "1", "2", "3", "They counted.", "4", "5"]
    assert rows[4].who == "Summary of the first 4 messages"


def test_which_channel_is_a_conversation() -> None:
    append = {"reducer": "append"}
    channels = {"notes": append, "messages": append, "goal": {"reducer": "last_value"}}
    greeting = [{"role": "user", "content": "Hi"}]
    assert channel_of(channels, {"notes": ["a"], "messages": greeting}, "") == "messages"
    assert channel_of(channels, {"notes": ["a"], "messages": greeting}, "notes") == "notes"
    assert channel_of(channels, {"notes": ["a"], "messages": []}, "") == ""
    assert channel_of(channels, {"goal": greeting}, "") == ""
