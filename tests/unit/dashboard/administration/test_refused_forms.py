"""A refused form says what is wrong beside its field and keeps everything that was typed."""

from __future__ import annotations

import re
from html import escape, unescape

import pytest

from dashboard.board.saved_views.view_actions import CHANGE, SAVE, ChangeView, SaveView
from dashboard.kit.action import read
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows

pytestmark = pytest.mark.django_db
DEPUTY = {"deputy": "second_manager", "begins": "2999-12-01", "ends": "2999-12-24", "reason": "<b>"}
ONE = read(SaveView, {"name": "One", "address": "q=tea", "shared": True})
VIEW = {"name": "Fai<led", "address": "status=failed", "shared": "true"}


def check(page: str, form: dict[str, str], field: str) -> None:
    assert page.count('aria-invalid="true"') == 1
    beside = page.partition(f'id="{field}-hint"')[2].partition("</p>")[0]
    assert 'class="err"' in beside
    assert f'href="#{field}"' in page
    for name, text in form.items():
        drawn = page.partition(f' id="{name}"')[2].partition(f'id="{name}-hint"')[0]
        assert f'name="{name}"' in drawn
        shown = (
            f'value="{escape(text)}"',
            f'value="{text}" selected',
            f">{escape(text)}</textarea",
        )
        assert any(one in drawn for one in shown), (name, drawn)


@pytest.mark.parametrize(
    ("field", "text"),
    [("begins", "tomorrow"), ("ends", ""), ("ends", "2999-11-30"), ("reason", "x" * 501)],
)
def test_a_deputy(cast: Cast, field: str, text: str) -> None:
    form = DEPUTY | {field: text}
    answer = cast.client("manager").post("/deputies/", form)
    assert answer.status_code == 422
    check(answer.content.decode(), form, field)
    assert rows("SELECT 1 FROM gp_deputy") == []


@pytest.mark.parametrize(
    ("field", "text"),
    [("name", ""), ("name", "x" * 61), ("address", "statsu=failed"), ("address", "x" * 2_001)],
)
def test_a_view(cast: Cast, field: str, text: str) -> None:
    form = VIEW | {field: text}
    answer = cast.client("operator").post("/views/new/", form)
    assert answer.status_code == 422
    check(answer.content.decode(), form, field)
    assert rows("SELECT 1 FROM gp_saved_view") == []
    made = SAVE.run(cast.actor("operator"), ONE)
    other = cast.client("operator").post(f"/views/{made.id}/", form)
    assert other.status_code == 422
    check(other.content.decode(), form, field)


def test_what_is_cleared_of_a_view_is_cleared_and_the_rest_stays(cast: Cast) -> None:
    operator = cast.client("operator")
    made = SAVE.run(cast.actor("operator"), ONE)
    page = operator.get(f"/views/{made.id}/").content.decode()
    assert 'value="q=tea"' in page
    assert 'value="true" selected' in page
    form = {"name": "One", "address": "", "shared": "true"}
    assert operator.post(f"/views/{made.id}/", form).status_code == 303
    assert rows("SELECT name, address, shared FROM gp_saved_view") == [("One", "", True)]
    assert operator.post(f"/views/{made.id}/", form | {"shared": "false"}).status_code == 303
    assert rows("SELECT name, address, shared FROM gp_saved_view") == [("One", "", False)]


def test_what_was_not_touched_stays_as_somebody_else_has_set_it(cast: Cast) -> None:
    operator, address = cast.client("operator"), "/views/{}/"
    made = SAVE.run(cast.actor("operator"), ONE)
    page = operator.get(address.format(made.id)).content.decode()
    form = {"name": "One", "address": "q=tea", "shared": "true"} | opened_of(page)
    CHANGE.run(cast.actor("admin"), read(ChangeView, {"address": "q=coffee"}), made.id)
    refused = operator.post(address.format(made.id), form | {"name": ""}).content.decode()
    assert opened_of(refused) == opened_of(page)
    assert operator.post(address.format(made.id), form | {"name": "Two"}).status_code == 303
    assert rows("SELECT name, address FROM gp_saved_view") == [("Two", "q=coffee")]


@pytest.mark.parametrize(
    "opened", ["", "x", "[]", "7", "{}", '{"name": 5, "address": {}, "shared": []}', "{" * 500]
)
def test_a_form_that_says_nothing_true_of_its_opening_is_read(cast: Cast, opened: str) -> None:
    made = SAVE.run(cast.actor("operator"), ONE)
    form = {"name": "Two", "address": "q=tea", "shared": "false", "opened": opened}
    assert cast.client("operator").post(f"/views/{made.id}/", form).status_code == 303
    assert rows("SELECT name, address, shared FROM gp_saved_view") == [("Two", "q=tea", False)]


def opened_of(page: str) -> dict[str, str]:
    """The hidden input with the values that a form was opened on."""
    (value,) = re.findall(r'name="opened" value="([^"]*)"', page)
    return {"opened": unescape(value)}
