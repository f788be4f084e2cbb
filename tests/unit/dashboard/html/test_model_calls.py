"""A model's call stands on the thread's page: prompt, answer, tokens, cost, latency."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest

from checkpoints import queries, store
from dashboard.html.model_calls import MESSAGES_MAX, TEXT_MAX, model_call_of
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import acquired, make_thread, new_activity

USAGE = {
    "model": "gpt-4o",
    "tokens": 1_230,
    "tokens_in": 1_000,
    "tokens_out": 230,
    "tokens_cached": 40,
    "cost": "0.0125",
    "milliseconds": 1_500,
    "request_id": "req-7",
}


def call_with(args: Any, result: Any = "fine", usage: Any = USAGE) -> Any:
    """The call of a save point."""
    work = acquired(make_thread())
    activity = new_activity(work, "model#0", kind="model", tool="model", args=args)
    store.record_activity(work, activity, result=result, usage=usage)
    (row,) = queries.activities(work.thread)
    return model_call_of(row)


@pytest.mark.django_db
def test_the_page_shows_what_was_asked_answered_and_paid(cast: Cast) -> None:
    work = acquired(make_thread(workspace=cast.workspace))
    args = {"parts": ["Summarise <b>", [1]], "system": "Be brief.", "temperature": 0.5}
    activity = new_activity(work, "model#0", kind="model", tool="model", args=args)
    store.record_activity(work, activity, result="In short.", usage=USAGE)
    page = cast.client("viewer").get(f"/threads/{work.thread}/").content.decode()
    shown = re.search(r'(?s)<details class="which model-call".*?</details>', page)
    assert shown is not None
    assert "<b>" not in shown[0]
    text = " ".join(html.unescape(re.sub("<[^>]+>", " ", shown[0])).split())
    assert text == (
        "Model gpt-4o Temperature 0.5 Tokens 1,230 (1,000 in, 230 out, 40 cached) Cost $0.0125 "
        "Latency 1.5 s Request req-7 system Be brief. user Summarise <b> user [1] answer In short."
    )


@pytest.mark.django_db
def test_messages_tool_calls_and_errors() -> None:
    messages = [{"role": "user", "content": str(n)} for n in range(9)]
    wrong = {"id": "c", "name": "read", "arguments": None, "raw": "{", "error": "no JSON"}
    result = {"text": "", "reasoning": "Hm.", "tool_calls": [wrong]}
    call = call_with({"messages": messages}, result, {"model": "m", "tokens": 3, "unpriced": True})
    assert call.earlier == 9 - MESSAGES_MAX
    assert [part.text for part in call.query] == ["3", "4", "5", "6", "7", "8"]
    assert [(p.role, p.text) for p in call.answer] == [
        ("reasoning", "Hm."),
        ("model calls read", "{ (no JSON)"),
    ]
    assert ("Cost", "unpriced") in call.facts


@pytest.mark.django_db
@pytest.mark.parametrize(
    "args",
    [{}, [], "x", {"messages": ["x", 3]}, {"messages": [{"role": "user", "tool_calls": [1]}]}],
    ids=["empty", "list", "text", "no-messages", "no-calls"],
)
def test_what_a_capsule_brings_breaks_no_page(args: Any) -> None:
    call_with(args, result={"tool_calls": [{}], "text": "x"}, usage={})


@pytest.mark.django_db
def test_a_long_text_is_cut() -> None:
    (part,) = call_with({"parts": ["x" * (TEXT_MAX + 1)]}).query
    assert (len(part.text), part.is_cut) == (TEXT_MAX, True)
