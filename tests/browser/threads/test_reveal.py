"""An encrypted channel in the browser: shown as encrypted, and read by one of its roles."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import People
from tests.browser.house import House
from tests.unit.workers.conftest import Bench
from tests.unit.workers.encrypted.agent import WORD, graph_of
from workers.code.registry import announce

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("phone", [False, True])
def test_a_role_of_the_channel_reads_it_and_others_are_told_why_not(
    house: House, people: People, phone: bool
) -> None:
    bench = Bench(announce(graph_of(), {}, []), house.cast.workspace)
    thread = bench.start(patient="Ada", diagnosis=WORD)
    for name in ("auditor", "operator"):
        person = people(name, phone=phone)
        page = person.open(f"/threads/{thread}/?tab=state")
        expect(person.one("#main")).to_contain_text("readable by auditor and admin")
        assert WORD not in page.content()
        if name == "operator":
            page.goto(f"{person.base}/threads/{thread}/reveal/?channel=diagnosis")
            expect(person.one("#not-readable")).to_be_visible()
            continue
        person.press("Show")
        person.press("Show the value")
        expect(person.one("#value")).to_contain_text(WORD)
        assert person.sideways() == 0
