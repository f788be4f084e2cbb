"""The documentation of the API in a real browser, under the strict content policy."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from django.core.wsgi import get_wsgi_application
from django.db import connections
from playwright.sync_api import Browser, expect

from tests.support.cast import Cast, make_cast
from tests.unit.dashboard import scene


@pytest.mark.slow
def test_the_schema_has_no_gaps(tmp_path: Any, db: None) -> None:
    """drf-spectacular guesses nothing and the result is valid OpenAPI 3.1."""
    call_command("spectacular", "--validate", "--fail-on-warn", file=str(tmp_path / "schema.yaml"))
    assert (tmp_path / "schema.yaml").read_text().startswith("openapi: 3.1")


class Quiet(WSGIRequestHandler):
    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def served(real_db: str) -> Iterator[tuple[str, Cast]]:
    """Address of a server of this process, and the cast in its database."""
    cast = make_cast()
    scene.make_agent()
    server = ThreadedWSGIServer(("127.0.0.1", 0), Quiet, connections_override={})
    server.set_app(get_wsgi_application())
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", cast
    server.shutdown()
    server.server_close()
    thread.join()
    connections.close_all()


@pytest.mark.nightly
@pytest.mark.browser
def test_the_page_works_under_the_policy(served: tuple[str, Cast], browser: Browser) -> None:
    address, cast = served
    cookie = cast.client("operator").cookies["sessionid"].value
    messages: list[str] = []
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.add_cookies([{"name": "sessionid", "value": cookie, "url": address}])
    page = context.new_page()
    page.on(
        "console", lambda m: messages.append(m.text) if m.type in ("error", "warning") else None
    )
    page.on("pageerror", lambda error: messages.append(str(error)))
    answer = page.goto(f"{address}/api/docs/")
    assert answer is not None
    assert "style-src 'self';" in answer.headers["content-security-policy"]
    expect(page.locator(".opblock").first).to_be_visible()
    seen: set[str] = set()
    for down in range(0, 12_000, 400):  # operations are drawn as they come into view
        page.evaluate("down => window.scrollTo(0, down)", down)
        page.wait_for_timeout(100)
        seen.update(page.locator(".opblock").evaluate_all("all => all.map((one) => one.id)"))
    assert len(seen) >= 20
    page.evaluate("() => window.scrollTo(0, 0)")
    row = page.locator("#operations-agents-agents_list")
    row.locator("button.opblock-summary-control").click()
    row.get_by_role("button", name="Try it out").click()
    row.get_by_role("button", name="Execute").click()
    status = row.locator(".live-responses-table tbody .response-col_status").first
    expect(status).to_contain_text("200")
    context.close()
    assert messages == []
