"""A reviewer who edits a request in a browser: from the inbox through the page, as people do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Browser, Page, expect

from tests.browser.screens import WIDE, Screen


@dataclass
class Editor:
    """Somebody signed in to the product at `url`, in a browser."""

    browser: Browser
    url: str
    cookie: Mapping[str, str]

    def edit(self, request: Mapping[str, Any], args: Mapping[str, Any], comment: str = "") -> None:
        """Approve a request, as the API shows it, with these arguments; sees that it is decided."""
        width, height = WIDE
        context = self.browser.new_context(
            viewport={"width": width, "height": height}, reduced_motion="reduce"
        )
        cookie: Any = {**self.cookie, "url": self.url}
        context.add_cookies([cookie])
        screen = Screen(context, self.url)
        try:
            self._edit(screen, request, args, comment)
        finally:
            context.close()
        complaints = screen.unforeseen()
        assert not complaints, complaints

    def _edit(
        self, screen: Screen, request: Mapping[str, Any], args: Mapping[str, Any], comment: str
    ) -> None:
        page, path = screen.open("/approvals/"), f"/approvals/{request['id']}/"
        page.locator(f'a[href^="{path}"]').filter(visible=True).first.click()
        expect(page.get_by_role("heading", name=request["title"]).first).to_be_visible()
        screen.press("Edit first")
        form = page.locator("#edit-first")
        expect(form).to_be_visible()
        _fill(page, args)
        form.get_by_label("Reason for the record").fill(comment)
        screen.press("Approve these values")
        # What can't be undone, or is of high risk, asks on a page of its own.
        expect(page.locator("#second-question, #outcome").first).to_be_visible()
        if page.locator("#second-question").count():
            page.locator("#second-question button.primary").click()
            expect(page.locator("#outcome")).to_be_visible()
        screen.open(path)
        expect(page.locator("#outcome")).to_have_attribute("data-outcome", "edit")


def _fill(page: Page, args: Mapping[str, Any]) -> None:
    """Fill in the field of each argument; the JSON where the tool has named none."""
    fields = {name: page.locator(f'#edit-first [name="f-{name}"]') for name in args}
    if all(field.count() for field in fields.values()):
        for name, field in fields.items():
            field.fill(str(args[name]))
        return
    if page.locator("#as-form").count():
        page.locator("#edit-first").get_by_text("JSON", exact=True).first.click()
    page.locator("#edit-first textarea[name=args]").fill(json.dumps(args))
