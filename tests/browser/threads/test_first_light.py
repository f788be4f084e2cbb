"""From the start form to the published files, watched by an operator, decided by a manager."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from approvals import queries as approvals
from checkpoints.states import Status
from tests.browser.conftest import People
from tests.browser.house import House

pytestmark = pytest.mark.browser
FLIGHTS = 336_776


@pytest.mark.requirement("D01")
@pytest.mark.requirement("D03")
@pytest.mark.requirement("D05")
@pytest.mark.requirement("A34")
@pytest.mark.requirement("B07")
@pytest.mark.requirement("B08")
@pytest.mark.requirement("C31")
@pytest.mark.requirement("C33")
def test_an_agent_works_stops_at_the_gate_and_goes_on_when_a_manager_approves(
    house: House, people: People
) -> None:
    before = house.files()  # what other tests have published
    operator = people("operator")
    page = operator.open("/threads/new/?agent=market-research")
    page.get_by_role("textbox", name="Question").fill("What makes arrival delays long?")
    page.get_by_label("Data set").select_option("flights")
    page.get_by_role("textbox", name="Title").fill("Delays from New York")
    operator.press("Start")
    page.wait_for_url(re.compile(r"/threads/[0-9a-f-]{36}/$"))
    case = house.case(page.url.rstrip("/").rpartition("/")[2])
    watched = f"GET /threads/{case.id}/"

    # Everything moves by itself: how far the step is, the plan, the checkpoints, the events.
    operator.see_status("running")
    expect(operator.one("#plan-clean")).to_have_attribute("data-state", "now")
    operator.see_status("waiting")
    pushed = [(one["done"], one["total"]) for one in operator.progress()]
    assert len(pushed) >= 20
    assert pushed == sorted(pushed)
    assert pushed[-1] == (FLIGHTS, FLIGHTS)
    expect(operator.one("#plan-publish")).to_have_attribute("data-state", "now")
    expect(operator.one("#thread-lineage li[data-row]")).to_have_count(6)
    assert case.state()["profile"]["rows"] == FLIGHTS

    # At the gate nobody holds the thread: the only slot works on another one to its own gate.
    row = case.row()
    assert (row.status, row.lease_owner, row.lease_until) == (Status.WAITING, "", None)
    other = house.start("orders", folder=str(house.folder))
    other.wait_status("waiting")
    assert house.files() == before

    # A manager without operator rights decides on a phone.
    manager = people("", phone=True)
    approval = case.open()
    page = manager.open(f"/approvals/{approval.id}/")
    assert "/login/" in page.url
    page.get_by_label("Name").fill("manager")
    page.get_by_label("Password").fill("manager-password")
    manager.press("Sign in")
    page.wait_for_url(re.compile(f"/approvals/{approval.id}/$"))
    main = manager.one("#approval-main")
    expect(main).to_contain_text("Publish “")
    expect(main).to_contain_text("report.publish")
    for name in approval.args["files"]:
        expect(main).to_contain_text(name)
    manager.one("details.exact summary").click()
    assert json.loads(manager.one("details.exact pre").inner_text()) == approval.args
    copied = main.locator(f"button[data-copy='{approval.proposal_hash}']")
    expect(copied).to_be_visible()
    assert manager.sideways() == 0
    manager.see_live()
    page.get_by_label("Comment (required to reject)").fill("Figures checked against the source.")
    manager.one(".mbar button[data-decide=approve]").tap()

    # Both pages follow to the end; the operator's was never loaded again.
    expect(manager.one("#outcome")).to_have_attribute("data-outcome", "approve")
    expect(manager.one("#approval-side")).to_contain_text("continued and finished")
    operator.see_status("succeeded")
    expect(operator.one("#published li")).to_have_count(4)
    expect(operator.one("#thread-events")).to_contain_text("Figures checked against the source.")
    assert operator.documents.count(watched) == 1
    assert operator.documents[-1] == watched
    assert operator.polls == []

    # What was approved is what lies there, byte by byte, and can be fetched.
    (decided,) = approvals.for_thread(case.id)
    assert (decided.outcome, decided.comment) == ("approve", "Figures checked against the source.")
    assert decided.decided_by == f"user:{house.cast.users['manager'].pk}"
    published = case.state()["published"]
    files = {
        name.partition("/")[2]: content
        for name, content in house.files().items()
        if name not in before
    }
    assert sorted(files) == ["chart.png", "chart.svg", "report.html", "report.md"]
    payload = {one["name"]: one["size"] for one in published["files"]}
    assert {name: len(content) for name, content in files.items()} == payload
    assert f"{FLIGHTS:,}" in files["report.md"].decode()
    with operator.page.expect_download() as fetched:
        operator.one("#published a").filter(has_text="report.md").click()
    assert Path(fetched.value.path()).read_bytes() == files["report.md"]


@pytest.mark.requirement("C31")
def test_a_rejected_report_is_not_published(house: House, people: People, shop: Path) -> None:
    operator = people("operator")
    page = operator.open("/threads/new/?agent=market-research")
    page.get_by_role("textbox", name="Question").fill("Which shop has the highest price?")
    page.get_by_label("Your own table").set_input_files(shop)
    operator.press("Start")
    page.wait_for_url(re.compile(r"/threads/[0-9a-f-]{36}/$"))
    case = house.case(page.url.rstrip("/").rpartition("/")[2])
    operator.see_status("waiting")
    assert case.state()["profile"]["rows"] == 12_000
    before = house.files()

    manager = people("manager")
    manager.open(f"/approvals/{case.open().id}/")
    manager.see_live()
    manager.press("Reject with a reason")
    manager.page.get_by_label("Reason, for the agent and the record").fill("Wrong quarter.")
    manager.one("#reject-dialog button.danger").click()
    expect(manager.one("#outcome")).to_have_attribute("data-outcome", "reject")
    expect(manager.one("#approval-main")).to_contain_text("Wrong quarter.")

    operator.see_status("succeeded")
    assert "Wrong quarter." in case.state()["outcome"]
    assert case.effects() == []
    assert house.files() == before
    expect(operator.one("#published")).to_have_count(0)
