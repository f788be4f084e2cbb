"""A button that can't be pressed looks so, whatever it would do, also under the pointer."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser

from tests.browser.rendered import rendered
from tests.support.cast import make_cast

pytestmark = pytest.mark.browser
KINDS = ("", "primary", "danger", "danger solid")
DRAWN = """kinds => {
  document.querySelector('main').innerHTML = kinds.map((kind, n) =>
    `<button class="btn ${kind}" id="off-${n}" disabled>Erase</button>` +
    `<button class="btn ${kind}" id="aria-${n}" aria-disabled="true">Erase</button>`).join('');
}"""
LOOK = """id => {
  const style = getComputedStyle(document.getElementById(id));
  return [style.color, style.backgroundColor, style.borderTopColor];
}"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_what_cannot_be_pressed_looks_so(browser: Browser, db: None, dark: bool) -> None:
    address = "/threads/compare/"
    html = make_cast("-off").client("operator").get(address).content.decode()
    page = rendered(browser, html, address, phone=False)
    page.emulate_media(color_scheme="dark" if dark else "light", reduced_motion="reduce")
    page.evaluate(DRAWN, list(KINDS))
    plain = page.evaluate(LOOK, "off-0")
    for n, kind in enumerate(KINDS):
        for ident in (f"off-{n}", f"aria-{n}"):
            assert page.evaluate(LOOK, ident) == plain, kind
            page.locator(f"#{ident}").hover(force=True)
            assert page.evaluate(LOOK, ident) == plain, kind
    page.context.close()
