"""A drive goes while people look at a thread and decide: they see the rest, and lose nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.core.files.storage import default_storage
from playwright.sync_api import expect

from tests.browser.conftest import People
from tests.browser.house import House
from tests.browser.pages.test_accessible import faults

from .test_file_store import facts, in_files

pytestmark = pytest.mark.browser
OUT_OF_REACH = "The contents of this state can’t be loaded."


@pytest.mark.requirement("B14")
def test_a_drive_that_goes_hides_the_state_alone_and_stops_no_decision(
    house: House, people: People, shop: Path, tmp_path: Path
) -> None:
    case = house.start(title="Far shops", question="Which is far?", file=house.upload(shop))
    case.wait_status("waiting", seconds=60)
    assert in_files(case)
    assert facts(case) == case.state()
    manager, operator = people("manager"), people("operator")
    operator.open(f"/threads/{case.id}/")
    operator.see_live()
    folder = Path(default_storage.path(f"threads/{case.id}"))
    folder.rename(tmp_path / "unmounted")
    request = case.open()
    for path, text in (
        (f"/threads/{case.id}/", OUT_OF_REACH),
        (f"/threads/{case.id}/fork/", "The fork starts with the state unchanged."),
    ):
        page = operator.open(path)
        expect(page.locator("main")).to_contain_text(text)
        assert faults(operator, Axe()) == {}
    operator.open(f"/threads/{case.id}/")
    operator.see_live()
    # The manager decides; what the worker makes of it arrives in the page that stands open.
    manager.open(f"/approvals/{request.id}/")
    manager.press("Approve")
    operator.see_status("failed")
    expect(operator.one("#thread-note")).to_contain_text("is its drive mounted?")
    expect(operator.one("#thread-state")).to_contain_text(OUT_OF_REACH)
    # It is back: retried, the page gets the state without a reload.
    if folder.exists():
        folder.rmdir()
    (tmp_path / "unmounted").rename(folder)
    operator.press("Retry")
    operator.see_status("succeeded")
    expect(operator.one("#thread-state")).not_to_contain_text(OUT_OF_REACH)
    expect(operator.one("#thread-state")).to_contain_text("published")
    assert facts(case) == case.state()
