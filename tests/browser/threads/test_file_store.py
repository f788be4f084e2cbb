"""The shipped agent, whose large values lie in files: gate, fork and rollback in the browser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from playwright.sync_api import expect

from approvals.verification.proof import verify
from checkpoints import queries
from checkpoints.capsules import folder as folders
from checkpoints.capsules import layout
from checkpoints.queries.rows import rows
from tests.browser.conftest import People
from tests.browser.house import House
from tests.faults.bench import Case, wait_until

pytestmark = pytest.mark.browser


def in_files(case: Case) -> set[str]:
    """Hashes of the thread's contents in files; in the database there is none."""
    query = "SELECT count(*) FROM gp_content WHERE thread_id = %s"
    assert rows(query, (case.id,)) == [(0,)]
    folder = Path(default_storage.path(f"threads/{case.id}/contents"))
    return {path.stem for path in folder.iterdir()} if folder.exists() else set()


def facts(case: Case) -> dict[str, Any]:
    """The state that a person finds in the thread's folder once it is that of the head."""
    above = Path(default_storage.path(f"threads/{case.id}"))
    folder = above / folders.name_of(case.row().number)
    wait_until((folder / layout.MANIFEST).is_file, what=lambda: list(above.iterdir()))
    state: dict[str, Any] = json.loads((folder / layout.STATE).read_text())["state"]
    return state


@pytest.mark.requirement("B14")
@pytest.mark.requirement("B15")
def test_gate_fork_and_rollback_of_a_thread_in_files(
    house: House, people: People, shop: Path
) -> None:
    case = house.start(title="Dear shops", question="Which is dear?", file=house.upload(shop))
    case.wait_status("waiting", seconds=60)
    contents = in_files(case)
    assert contents, "the analysis and the report are large"
    assert facts(case) == case.state()
    folder = Path(default_storage.path(f"threads/{case.id}"), folders.name_of(case.row().number))
    assert {"chart.png", "chart.svg"} <= {path.name for path in (folder / "files").iterdir()}

    # The gate shows what the file holds, and a person approves it.
    manager = people("manager")
    page = manager.open(f"/approvals/{case.open().id}/")
    expect(manager.one("h1")).to_be_visible()
    manager.press("Approve")
    case.wait_status("succeeded")
    assert facts(case)["published"] == case.state()["published"]

    # A fork from before the report shares what lies in its base's folder.
    manager.open(f"/threads/{case.id}/")
    manager.one("#thread-lineage li[data-row]").filter(has_text="analyse").locator("a").click()
    expect(manager.one("#thread-state")).to_contain_text("#3")
    manager.press("Fork from here")
    page.get_by_label("Title of the fork").fill("Weights instead")
    manager.press("Preview")
    manager.press("Create fork and run")
    page.wait_for_url(re.compile(r"/threads/[0-9a-f-]{36}/$"))
    fork = house.case(page.url.rstrip("/").rpartition("/")[2])
    manager.see_status("waiting")
    assert fork.state()["analysis"] == case.state()["analysis"]
    analysis = queries.checkpoint_by_number(case.id, 3).delta["put"]["analysis"]["sha256"]
    assert analysis in contents
    assert analysis not in in_files(fork), "it lies in its base's folder, once"
    assert facts(fork)["analysis"] == case.state()["analysis"]

    # The rollback takes the published files back; the folder is that of the head again.
    manager.open(f"/threads/{case.id}/")
    manager.one("#thread-lineage li[data-row]").filter(has_text="load").locator("a").click()
    expect(manager.one("#thread-state")).to_contain_text("#1")
    manager.press("Roll back to here")
    page.get_by_label("Reason (kept in the log)").fill("Another question.")
    manager.press("Roll back to #1")
    manager.see_status("paused")
    assert facts(case)["analysis"] == {}
    assert contents <= in_files(case), "what happened stays to be looked at"
    operator = people("operator")
    operator.open(f"/threads/{case.id}/")
    operator.press("Resume")
    operator.see_status("waiting")
    assert facts(case) == case.state()
    for one in (case, fork):
        report = verify(one.id)
        assert report.intact, report.what
