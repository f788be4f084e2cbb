"""axe finds nothing on the page of the API's documentation that is ours to mend."""

from __future__ import annotations

import json

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.browser.conftest import People
from tests.browser.house import House
from tests.browser.screens import PHONE, WIDE, Screen

from .test_accessible import RULES, targets

pytestmark = [pytest.mark.browser, pytest.mark.nightly]
# Rules that the markup of Swagger UI itself breaks, which neither its settings nor CSS can mend.
OWN_OF_SWAGGER = {
    "region": "its head stands in no landmark, and the page may have no main beside Swagger's own",
    "heading-order": "its titles go from h1 to h3",
    "nested-interactive": "its button that opens a call holds the link to that call",
    "landmark-unique": "it gives the responses of several calls a landmark without a name",
}


def broken(screen: Screen, axe: Axe) -> dict[str, list[str]]:
    """{broken rule: its elements} of what is shown now."""
    options = {"runOnly": RULES, "resultTypes": ["violations"]}
    response = axe.run(screen.page, options=options).response
    return {rule: [str(one) for one in nodes[:3]] for rule, nodes in targets(response).items()}


@pytest.mark.rubric(22)
def test_axe_finds_only_what_is_of_swagger_ui(house: House, people: People) -> None:
    screen, axe = people("operator"), Axe()
    page = screen.page
    results: dict[str, dict[str, list[str]]] = {}
    for width, height in (WIDE, PHONE):
        for theme in ("light", "dark"):
            page.set_viewport_size({"width": width, "height": height})
            page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            screen.open("/api/docs/")
            calls = page.locator(".opblock-summary-control")
            expect(calls.first).to_be_visible()
            results[f"{width} {theme} page"] = broken(screen, axe)
            for nth in (0, 1):
                calls.nth(nth).click()
                expect(page.locator(".opblock.is-open .opblock-body")).to_have_count(nth + 1)
            page.evaluate("Promise.all(document.getAnimations().map(one => one.finished))")
            results[f"{width} {theme} calls"] = broken(screen, axe)
            page.locator(".btn.authorize").click()
            expect(page.locator(".modal-ux-content")).to_be_visible()
            results[f"{width} {theme} sign-in"] = broken(screen, axe)
    own = {rule for result in results.values() for rule in result} & OWN_OF_SWAGGER.keys()
    ours = {
        state: wrong
        for state, result in results.items()
        if (wrong := {rule: nodes for rule, nodes in result.items() if rule not in own})
    }
    assert ours == {}, json.dumps(ours, indent=1)
    assert own == OWN_OF_SWAGGER.keys()
