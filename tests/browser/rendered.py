"""Pages as the product renders them, laid out by a browser without a server."""

from __future__ import annotations

from django.contrib.staticfiles import finders
from playwright.sync_api import Browser, Page, Route

from .screens import PHONE, WIDE

BASE, STATIC = "http://testserver", "/static/"


def rendered(
    browser: Browser, html: str, address: str, *, phone: bool, scripts: bool = False
) -> Page:
    """A window with this page of an address; its styles, and scripts only where asked."""
    width, height = PHONE if phone else WIDE
    page = browser.new_context(viewport={"width": width, "height": height}).new_page()

    def answer(route: Route) -> None:
        path = route.request.url.removeprefix(BASE)
        if path == address:
            route.fulfill(body=html, content_type="text/html; charset=utf-8")
        elif path.endswith(".js") and not scripts:
            route.abort()
        elif isinstance(file := finders.find(path.removeprefix(STATIC)), str):
            route.fulfill(path=file)
        else:
            route.abort()

    page.route("**/*", answer)
    page.goto(f"{BASE}{address}")
    return page
