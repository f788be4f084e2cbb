"""A refused form says what is wrong beside its field and keeps everything that was typed."""

from __future__ import annotations

from html import escape

import pytest

from dashboard.board.saved_views.view_actions import SAVE, SaveView
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
