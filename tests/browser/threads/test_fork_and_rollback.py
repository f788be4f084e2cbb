"""Going back: a fork beside its base, and a rollback that takes the published files with it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from checkpoints import queries
from checkpoints.states import Status
from tests.browser.conftest import People
from tests.browser.house import House

pytestmark = pytest.mark.browser


@pytest.mark.requirement("C11")
@pytest.mark.requirement("C16")
@pytest.mark.requirement("D03")
def test_a_fork_with_another_value_works_beside_its_untouched_base(
    house: House, people: People, tmp_path: Path
) -> None:
    (tmp_path / "fork").mkdir()
    base = house.start("orders", "Tea for the office", goal="tea", folder=str(tmp_path))
    base.wait_status("waiting")
    before, events, approval = base.row(), base.events(), base.open()

    manager = people("manager")
    page = manager.open(f"/threads/{base.id}/")
    rows = manager.one("#thread-lineage li[data-row]")
    expect(rows).to_have_count(4)  # the input and three rounds
    rows.filter(has_text="gather").last.locator("a").click()
    expect(manager.one("#thread-state")).to_contain_text("#1")
    manager.press("Fork from here")
    expect(manager.one("h1")).to_contain_text("Fork from checkpoint #1")

    # A value of the wrong type is refused beside its field; nothing is lost of the rest.
    manager.allow(r"status of 422")
    rounds = manager.one("#f-rounds")
    rounds.fill("lots")
    page.get_by_label("Folder").fill(str(tmp_path / "fork"))
    page.get_by_label("Goal").fill("coffee")
    manager.press("Preview")
    expect(rounds).to_have_attribute("aria-invalid", "true")
    expect(manager.one("#f-rounds-hint .err")).to_contain_text("number")
    expect(page.get_by_label("Goal")).to_have_value("coffee")
    assert queries.forks_of(base.id) == []

    rounds.fill("2")
    page.get_by_label("Title of the fork").fill("Coffee instead")
    # The difference comes before the run.
    manager.press("Preview")
    paths = manager.one("#preview .paths")
    for path in ("/folder", "/goal", "/rounds"):
        expect(paths).to_contain_text(path)
    assert queries.forks_of(base.id) == []
    manager.press("Create fork and run")
    page.wait_for_url(re.compile(r"/threads/[0-9a-f-]{36}/$"))
    fork = house.case(page.url.rstrip("/").rpartition("/")[2])
    assert fork.id != base.id
    manager.see_status("waiting")
    expect(manager.one("h1")).to_have_text("Coffee instead")
    state = fork.state()
    assert (state["goal"], state["rounds"], state["done"]) == ("coffee", 2, 2)
    assert state["notes"] == ["tea 1", "coffee 2"]

    # It ends on its own; its base stands where it stood, with its own question open.
    manager.open(f"/approvals/{fork.open().id}/")
    manager.press("Approve")
    manager.one("#approve-dialog button.primary").click()
    fork.wait_status("succeeded")
    assert (tmp_path / "fork" / "order.txt").read_text().startswith("coffee ")
    assert not (tmp_path / "order.txt").exists()
    assert base.row() == before
    assert base.events() == events
    assert base.open() == approval

    # The base tells of its fork, and the fork of its base.
    manager.open(f"/threads/{base.id}/")
    manager.one("#thread-forks a").filter(has_text="Coffee instead").click()
    manager.see_status("succeeded")
    expect(manager.one("#thread-facts")).to_contain_text("Tea for the office")

    # One click at the effect: had the shop answered something else? Nothing happens outside.
    effect = manager.one("#thread-activities tr").filter(has_text="order.place")
    effect.get_by_role("link", name="What if…").click()
    page.get_by_label("Replacement output").fill('{"receipt": "R-none", "key": "none"}')
    manager.press("Fork, run and compare")
    ending = manager.one("#ending")
    expect(ending).to_have_attribute("data-verdict", "differs", timeout=20_000)
    expect(ending).to_contain_text("Ends differently: R-coffee → R-none")
    (other,) = queries.forks_of(fork.id)
    assert other.effects == "ask"
    assert (tmp_path / "fork" / "order.txt").read_text().startswith("coffee ")


@pytest.mark.rubric(12)
@pytest.mark.rubric(19)
@pytest.mark.requirement("A19")
@pytest.mark.requirement("C11")
@pytest.mark.requirement("D03")
def test_a_rollback_undoes_what_was_published_and_the_next_steps_work_again(
    house: House, people: People, shop: Path
) -> None:
    case = house.start(title="Sales", question="Which shop is dear?", file=house.upload(shop))
    case.wait_status("waiting", seconds=60)
    house.decide(case, "approve")
    case.wait_status("succeeded")
    published = {one["name"] for one in case.state()["published"]["files"]}
    slug = case.state()["published"]["slug"]

    def lies_there() -> set[str]:
        return {name for name in house.files() if name.startswith(f"{slug}/")}

    assert lies_there() == {f"{slug}/{name}" for name in published}

    operator = people("operator")
    operator.open(f"/threads/{case.id}/")
    expect(operator.one("#published li")).to_have_count(4)

    # The plan comes first: which effect will be undone, by what.
    manager = people("manager")
    page = manager.open(f"/threads/{case.id}/")
    manager.one("#thread-lineage li[data-row]").filter(has_text="load").locator("a").click()
    expect(manager.one("#thread-state")).to_contain_text("#1")
    manager.press("Roll back to here")
    expect(manager.one("h1")).to_contain_text("Roll back to checkpoint #1")
    fate = manager.one("tr[data-fate]")
    expect(fate).to_have_count(1)
    expect(fate).to_have_attribute("data-fate", "undoable")
    expect(fate).to_contain_text("report.publish")
    expect(fate).to_contain_text("unpublish_report")
    assert lies_there()
    assert case.row().status == Status.SUCCEEDED
    page.get_by_label("Reason (kept in the log)").fill("It explained the wrong column.")
    manager.press("Roll back to #1")

    # The files go, the thread stands at the target, and what is left behind can still be seen.
    manager.see_status("paused")
    operator.see_status("paused")
    assert not lies_there()
    expect(operator.one("#published")).to_have_count(0)
    expect(operator.one("#thread-lineage li.left-behind")).to_have_count(5)
    expect(operator.one("#thread-events")).to_contain_text("It explained the wrong column.")
    (undone,) = case.effects()
    assert undone.state == "compensated"
    assert case.kinds().count("compensation.finished") == 1
    row = case.row()
    assert (row.step, row.branch, row.next_nodes) == (1, 1, ("clean",))
    assert case.state()["published"] == {}

    # Other values, then the next step works again with them; what was read is not read again.
    operator.press("Edit")
    operator.page.get_by_label("Measure").fill("weight")
    operator.page.get_by_label("Reason for the record").fill("Weight is what was meant.")
    operator.press("Save changes")
    operator.see_status("paused")
    operator.forget()
    operator.press("Resume")
    operator.see_status("waiting")
    state = case.state()
    assert state["summary"]["measure"]["name"] == "weight"
    assert "eight" in state["report"]["title"]
    calls = [a.tool for a in queries.activities(case.id) if a.kind == "activity"]
    assert (calls.count("read_table"), calls.count("clean_rows")) == (1, 2)
    house.decide(case, "approve")
    operator.see_status("succeeded")
    expect(operator.one("#published li")).to_have_count(4)
    assert operator.polls == []
    assert operator.documents == [f"POST /threads/{case.id}/resume/", f"GET /threads/{case.id}/"]
