"""An auditor asks who let something happen, reads the report, takes the answer away."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.conftest import People
from tests.browser.house import House
from tools.verify_export import verify

from .test_accessible import faults

pytestmark = pytest.mark.browser


@pytest.mark.requirement("D04")
def test_who_let_it_happen_is_one_search(house: House, people: People, tmp_path: Path) -> None:
    case = house.start(
        question="Which airport is coldest?", dataset="weather", title="Coldest airport of all"
    )
    case.wait_status("waiting", seconds=60)
    house.decide(case, "reject", "Too few rows for a claim")
    screen = people("auditor")
    page = screen.page
    page.goto(f"{house.url}/admin/")
    page.get_by_role("link", name="Search the record").click()
    page.get_by_role("searchbox", name="Words").fill("too few rows")
    page.locator("[name=decision]").select_option("reject")
    page.get_by_role("button", name="Search").click()
    row = page.locator(".answers li").filter(has_text="Coldest airport of all")
    assert "manager" in row.inner_text()
    assert faults(screen, Axe()) == {}
    with page.expect_download() as saving:
        page.get_by_role("link", name="CSV").click()
    saved = tmp_path / "x.zip"
    saving.value.save_as(saved)
    report = verify(str(saved))
    assert (report.problems, report.counts["rows"] >= 1) == ([], True)
    row.get_by_role("link", name=re.compile("^Report")).click()
    assert "Too few rows for a claim" in page.locator("#main").inner_text()
    assert faults(screen, Axe()) == {}
    page.get_by_role("link", name="Open the thread at that checkpoint").click()
    assert re.search(r"\?cp=\d+", page.url)
    page.goto(f"{house.url}/admin/search/?kind=all")
    assert page.locator(".answers li").count() > 0
