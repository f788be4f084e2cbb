"""The inbox on a phone and a wide window: boxes in view, no empty space before a request."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser

from approvals.inbox.boxes import BOXES
from tests.browser.rendered import rendered
from tests.support.cast import make_cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard import scene

pytestmark = pytest.mark.browser
IN_VIEW = """selector => {
  const box = document.querySelector(selector).getBoundingClientRect();
  return box.left >= 0 && box.right <= innerWidth;
}"""


@pytest.mark.requirement("D01")
@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_boxes_are_in_view_and_high_risk_has_no_empty_gutter(
    browser: Browser, db: None, phone: bool
) -> None:
    cast = make_cast("-layout")  # The house beside it has the other names.
    gates = [scene.gate(scene.lease(scene.start(cast.workspace, scene.make_agent()))) for _ in "12"]
    rows("UPDATE gp_approval SET risk = 'high' WHERE id = %s", (gates[0].id,))
    rows("UPDATE gp_approval SET risk = 'low' WHERE id = %s", (gates[1].id,))
    client = cast.client("manager")
    for box in BOXES:
        address = f"/approvals/?box={box}"
        html = client.get(address).content.decode()
        page = rendered(browser, html, address, phone=phone, scripts=True)
        assert page.evaluate(IN_VIEW, "#box-mine"), box
        assert page.evaluate(IN_VIEW, f"#box-{box}"), box
        if box == "open":
            widths = page.evaluate(
                "ids => ids.map(id => document.querySelector(`#approval-${id} .tick`).offsetWidth)",
                [str(gate.id) for gate in gates],
            )
            assert widths[0] <= 16 < 40 <= widths[1]
        page.context.close()
