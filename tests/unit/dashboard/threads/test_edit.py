"""The page that edits a thread's state: fields and JSON, and the difference before it is saved."""

from __future__ import annotations

import json
import re
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from checkpoints import queries
from dashboard.kit.pages import forms
from dashboard.threads.edit import edit
from tests.support.cast import Cast
from tests.unit.dashboard import scene
from tests.unit.dashboard.calls import hidden, page

pytestmark = pytest.mark.django_db


@pytest.fixture
def thread(cast: Cast) -> UUID:
    return scene.waiting(cast.workspace, scene.make_agent()).thread


@pytest.fixture
def client(cast: Cast) -> Client:
    return cast.client("operator")


def whole(html: str) -> str:
    match = re.search(r'<textarea id="whole_state".*?>(.*?)</textarea>', html, re.S)
    assert match is not None
    return match[1]


def state_of(thread: UUID) -> dict[str, Any]:
    head = queries.checkpoint(thread, queries.lineage(thread, limit=1)[0].id)
    return queries.state_at(thread, head.id)


def opened(client: Client, url: str) -> dict[str, str]:
    html = page(client.get(url))
    names = ("version", "checkpoint")
    form = {name: hidden(html, name) for name in names}
    return form | {"by": "json", "whole_state": whole(html), "reason": "typo"}


def test_json_is_shown_as_a_difference_before_it_is_saved(client: Client, thread: UUID) -> None:
    url = f"/threads/{thread}/edit/"
    assert 'id="by-fields" checked' in page(client.get(url))
    form, before = opened(client, url), state_of(thread)
    assert json.loads(form["whole_state"]) == before
    text = json.dumps(before | {"goal": "trains"}, indent=2)

    html = page(client.post(url, form | {"whole_state": text, "act": "save"}))
    assert '<li data-path="/goal">' in html
    assert html.count("<li data-path=") == 1
    assert state_of(thread) == before, "nothing is saved before its difference was shown"

    # Another text than was shown is shown again instead of saved.
    other = form | {"whole_state": text.replace("trains", "ships"), "act": "save"}
    html = page(client.post(url, other | {"seen": hidden(html, "seen")}))
    assert "so nothing was saved yet" in html
    assert state_of(thread) == before
    saved = client.post(url, other | {"seen": hidden(html, "seen")})
    assert saved.status_code == 303
    assert state_of(thread) == before | {"goal": "ships"}


def test_a_fault_of_the_json_stands_at_its_line_and_the_text_stays(
    client: Client, thread: UUID
) -> None:
    url = f"/threads/{thread}/edit/"
    form, before = opened(client, url), state_of(thread)
    broken = form["whole_state"].replace("{\n", "{\n  7,\n", 1)
    html = page(client.post(url, form | {"whole_state": broken, "act": "save"}), 422)
    assert "Line 2, character" in html
    assert whole(html) == broken
    assert re.search(r'id="by-json"\s+checked', html), "on the tab that was sent"
    wrong = json.dumps(before | {"limit": "lots"}, indent=2)
    line = next(n for n, row in enumerate(wrong.splitlines(), 1) if "lots" in row)
    html = page(client.post(url, form | {"whole_state": wrong, "act": "preview"}), 422)
    assert f"Line {line}, limit: " in html
    assert whole(html) == wrong
    assert state_of(thread) == before


def test_fields_may_be_previewed_too(client: Client, thread: UUID) -> None:
    url = f"/threads/{thread}/edit/"
    form = opened(client, url) | {"by": "fields", "f-goal": "trains"}
    html = page(client.post(url, form | {"act": "preview"}))
    assert '<li data-path="/goal">' in html
    assert re.search(r"From\s+the fields, as typed\.", html)
    assert client.post(url, form | {"act": "save"}).status_code == 303
    assert state_of(thread)["goal"] == "trains"


@pytest.mark.requirement("C41")
def test_json_of_the_second_of_two_people_undoes_nothing_of_the_first(
    cast: Cast, client: Client, thread: UUID
) -> None:
    url = f"/threads/{thread}/edit/"
    form, before = opened(client, url), state_of(thread)
    theirs = {"goal": "their goal", "limit": 9}
    edit(cast.actor("operator"), thread, theirs, "r")

    # A text that is no JSON stays as it is, and stays based on what it was written over.
    html = page(client.post(url, form | {"whole_state": "{", "act": "save"}), 422)
    assert whole(html) == "{"
    assert (hidden(html, "version"), hidden(html, "checkpoint")) == (
        form["version"],
        form["checkpoint"],
    )

    mine = json.dumps(before | {"goal": "my goal", "findings": ["mine"]}, indent=2)
    html = page(client.post(url, form | {"whole_state": mine, "act": "preview"}), 412)
    assert state_of(thread) == before | theirs
    wanted = before | theirs | {"goal": "my goal", "findings": ["mine"]}
    assert json.loads(whole(html)) == wanted
    assert html.count(forms.OVERTAKEN) == 1, "the goal of both"

    again = form | {name: hidden(html, name) for name in ("version", "checkpoint")}
    again |= {"whole_state": whole(html), "act": "save"}
    html = page(client.post(url, again))
    assert client.post(url, again | {"seen": hidden(html, "seen")}).status_code == 303
    assert state_of(thread) == wanted
