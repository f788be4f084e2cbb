"""Renaming a thread: by page, call and command, with what was typed kept after a refusal."""

from __future__ import annotations

import html
import json
from io import StringIO
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command

from checkpoints import queries
from tests.support.cast import Cast
from tests.unit.dashboard import scene

TITLE = "Invoices of October"


@pytest.fixture
def thread(cast: Cast) -> UUID:
    return scene.start(cast.workspace, scene.make_agent())


def title_of(cast: Cast, thread: UUID) -> str:
    return queries.thread(thread, workspace=cast.workspace).title


def post(cast: Cast, thread: UUID, who: str = "operator", **form: str) -> Any:
    return cast.client(who).post(f"/threads/{thread}/rename/", form)


def test_the_page_renames_and_says_who_did(cast: Cast, thread: UUID) -> None:
    former = title_of(cast, thread)
    answer = post(cast, thread, title=TITLE, current=former)
    assert (answer.status_code, title_of(cast, thread)) == (303, TITLE)
    page = cast.client("operator").get(f"/threads/{thread}/").content.decode()
    assert f"<h1>{TITLE}</h1>" in page
    assert f"renamed the thread: {TITLE}" in page


@pytest.mark.parametrize(
    ("title", "why"),
    [
        ("", "title: This is required."),
        ("x" * 301, "title: This is longer than 300 characters."),
        ("sk-ant-" + "a1B2c3D4" * 12, "title"),
    ],
)
def test_a_title_that_is_refused_is_still_in_the_form(
    cast: Cast, thread: UUID, title: str, why: str
) -> None:
    former = title_of(cast, thread)
    answer = post(cast, thread, title=title, current=former)
    text = html.unescape(answer.content.decode())
    assert (answer.status_code, title_of(cast, thread)) == (422, former)
    assert why in text
    assert "$.title" not in text, "a path is for programs"
    field = text.partition('id="renaming" open')[2].partition("</details>")[0]
    assert f'value="{title}"' in field
    assert 'aria-invalid="true"' in field
    assert 'class="err"' in field


def test_who_was_slower_reads_the_new_title_and_keeps_what_was_typed(
    cast: Cast, thread: UUID
) -> None:
    former = title_of(cast, thread)
    assert post(cast, thread, title=TITLE, current=former).status_code == 303
    answer = post(cast, thread, title="Mine", current=former)
    text = html.unescape(answer.content.decode())
    assert (answer.status_code, title_of(cast, thread)) == (412, TITLE)
    assert f"Somebody else has renamed this thread meanwhile: “{TITLE}”." in text
    assert 'value="Mine"' in text


@pytest.mark.parametrize("who", ["viewer", "auditor"])
def test_who_may_not_sees_no_pencil_and_is_refused(cast: Cast, thread: UUID, who: str) -> None:
    page = cast.client(who).get(f"/threads/{thread}/").content.decode()
    assert "Rename this thread" not in page
    assert post(cast, thread, who, title=TITLE).status_code == 403
    assert title_of(cast, thread) != TITLE


def test_call_and_command(cast: Cast, thread: UUID) -> None:
    answer = cast.client("operator").post(
        f"/api/v1/threads/{thread}/rename/",
        json.dumps({"title": TITLE}),
        content_type="application/json",
    )
    assert (answer.status_code, answer.json()["title"]) == (200, TITLE)
    call_command(
        "threads", "rename", str(thread), "By command", as_user="operator", stdout=StringIO()
    )
    assert title_of(cast, thread) == "By command"
