"""A worker is killed inside an effect that may not be repeated; an operator says what happened."""

from __future__ import annotations

import os
import signal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.conftest import People
from tests.browser.house import House
from tests.browser.pages.test_accessible import faults

pytestmark = [pytest.mark.nightly, pytest.mark.browser]


def test_an_operator_says_what_happened(house: House, people: People) -> None:
    case = house.play("look a, shout fire, look b", hold=("in-fire",))
    case.wait_called("fire")
    os.kill(case.holder(), signal.SIGKILL)
    case.go("in-fire")
    operator = people("operator", phone=True)
    page = operator.open(f"/threads/{case.id}/")
    operator.see_status("attention")
    row = operator.one("#asked")
    expect(row).to_contain_text("shout")
    expect(row.get_by_role("button")).to_have_text(["It happened", "It did not"])
    assert faults(operator, Axe()) == {}

    page.get_by_label("result").fill("{heard: yes}")
    page.get_by_label("reason").fill("the porter says so")
    operator.allow("422")
    operator.press("It happened")
    expect(operator.one("#faults")).to_contain_text("1 thing to fix: result")
    expect(operator.one("#f-result-hint .err")).to_contain_text("is not JSON")
    expect(page.get_by_label("reason")).to_have_value("the porter says so")
    page.get_by_label("result").fill('"heard by the porter"')
    operator.press("It happened")
    operator.see_status("succeeded")
    assert len(case.calls("fire")) == 1
    assert case.state()["notes"] == ["saw a", "heard by the porter", "saw b"]
    (event,) = [e for e in case.events() if e.kind == "effect.settled"]
    assert event.actor == house.cast.actor("operator").id
    assert event.data["reason"] == "the porter says so"
    expect(operator.one("#thread-events")).to_contain_text("the porter says so")
