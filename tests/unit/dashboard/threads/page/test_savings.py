"""What resuming has spared stands on the thread's page, on the board and in the API."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.urls import reverse

from checkpoints import store
from checkpoints.states import EventKind
from checkpoints.views import SavedRow
from dashboard.kit.shapes.requests import Nothing
from dashboard.threads.retry import RETRY
from dashboard.wording import savings
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import acquired, drive, make_thread, new_activity


@pytest.mark.parametrize(
    ("saved", "words"),
    [
        (SavedRow(1, 3, 3, 1240, "0", 12_000), "3 model calls, 1,240 tokens, 12 s"),
        (SavedRow(1, 1, 1, 1, "0.5", 40), "1 model call, 1 token, $0.5, 40 ms"),
        (SavedRow(1, 3, 1, 0, "0", 0), "1 model call, 2 other calls"),
        (SavedRow(1, 1, 0, 0, "0", 0), "1 call"),
        (SavedRow(0, 0, 0, 0, "0", 0), "nothing"),
        (SavedRow(1, 1, 1, 9, "0", 0, 1), "1 model call, 9 tokens, 1 unpriced call"),
        (SavedRow(1, 3, 3, 9, "0.5", 0, 2), "3 model calls, 9 tokens, $0.5 and 2 unpriced calls"),
    ],
)
def test_words(saved: SavedRow, words: str) -> None:
    assert savings.words(saved) == words


def text(html: str, ident: str) -> str:
    match = re.search(rf'(?s)id="{ident}"[^>]*>(.*?)</(?:dd|p)>', html)
    return " ".join(re.sub("<[^>]+>", "", match[1]).split()) if match else ""


@pytest.mark.django_db
@pytest.mark.requirement("A36")
def test_pages_and_api_show_what_was_spared(cast: Cast) -> None:
    client = cast.client("operator")
    nothing = {"resumes": 0, "calls": 0, "model_calls": 0, "tokens": 0, "cost": "0"}
    nothing |= {"milliseconds": 0, "unpriced_calls": 0}
    thread = make_thread(workspace=cast.workspace)

    def figures() -> tuple[dict[str, Any], dict[str, Any]]:
        one = client.get(f"/api/v1/threads/{thread}/").json()
        assert one["totals"]["saved_tokens"] == one["saved"]["tokens"]
        return one["saved"], client.get("/api/v1/threads/counts/").json()["saved"]

    assert figures() == (nothing, nothing)
    assert text(client.get(reverse("board")).content.decode(), "board-saved") == ""
    assert text(client.get(reverse("thread", args=[thread])).content.decode(), "saved") == ""
    work = drive(thread).work
    for n in range(2):
        for _ in range(2 - n):
            call = new_activity(work, f"model#{work.last_seq}", kind="model")
            usage = {"model": "m", "tokens": 620, "cost": "0.01", "milliseconds": 3000}
            store.record_activity(work, call, result="said", usage=usage)
        store.leave(work, EventKind.THREAD_FAILED, reason="503")
        RETRY.run(cast.actor("operator"), Nothing(), thread)
        work = acquired(thread)
    # The first fault spared two calls, the second three.
    both = {"resumes": 2, "calls": 5, "model_calls": 5, "tokens": 3100, "cost": "0.05"}
    both |= {"milliseconds": 15_000, "unpriced_calls": 0}
    assert figures() == (both, both)
    words = "5 model calls, 3,100 tokens, $0.05, 15 s"
    page = client.get(reverse("thread", args=[thread])).content.decode()
    assert text(page, "saved") == f"{words} in 2 resumes"
    board = client.get(reverse("board")).content.decode()
    assert text(board, "board-saved") == f"Saved by resuming: {words} in 2 resumes"
    stranger = cast.client("stranger").get(reverse("board")).content.decode()
    assert text(stranger, "board-saved") == ""
