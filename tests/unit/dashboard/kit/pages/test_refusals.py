"""Where the page of a refusal leads: to what its address is about, or to the same address again."""

from __future__ import annotations

import re
from uuid import UUID, uuid4

import pytest

from checkpoints import store
from checkpoints.states import EventKind
from tests.support.cast import Cast
from tests.unit.dashboard import scene

pytestmark = pytest.mark.django_db


def ways(html: str) -> list[tuple[str, str]]:
    """(address, words) of the buttons on the page of a refusal."""
    page = html.partition("error-page")[2]
    return [
        (href, text) for href, text in re.findall(r'class="btn[^"]*" href="([^"]*)">([^<]*)', page)
    ]


def failed(cast: Cast) -> UUID:
    work = scene.lease(scene.start(cast.workspace, scene.make_agent()))
    store.leave(work, EventKind.THREAD_FAILED, reason="no such column")
    return work.thread


def test_a_dialog_that_is_refused_leads_to_its_thread(cast: Cast) -> None:
    thread = failed(cast)
    answer = cast.client("operator").get(f"/threads/{thread}/rollback/")
    html = answer.content.decode()
    assert answer.status_code == 409
    # It was started and forked from none.
    assert "The thread is at its first checkpoint." in html
    assert ways(html) == [(f"/threads/{thread}/", "Go to the thread"), ("/", "Go to the board")]


def test_nothing_says_try_again_and_leads_elsewhere(cast: Cast) -> None:
    answer = cast.client("operator").get(f"/threads/{uuid4()}/rollback/")
    assert ways(answer.content.decode()) == [("/", "Go to the board")]
    answer = cast.client("viewer").get("/threads/new/")
    assert answer.status_code == 403
    assert ways(answer.content.decode()) == [("/", "Go to the board")]


def test_a_post_that_is_refused_leads_back_to_its_page(cast: Cast) -> None:
    came = "http://testserver/approvals/?box=open"
    client = cast.client("viewer")
    answer = client.post("/breakers/trip/", {"reason": "x"}, headers={"referer": came})
    assert answer.status_code == 403
    assert ways(answer.content.decode())[0] == ("/approvals/?box=open", "Go back")
    elsewhere = client.post("/breakers/trip/", headers={"referer": "https://else.example/"})
    assert ways(elsewhere.content.decode()) == [("/", "Go to the board")]
