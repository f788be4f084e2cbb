"""What a phone shows of a push message."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserType, expect

from approvals.notify import endpoints
from tests.browser.conftest import People
from tests.browser.house import House
from tests.browser.pages.test_accessible import faults
from tests.support.chromium import find_chromium

pytestmark = pytest.mark.browser


@pytest.fixture(scope="session")  # as that of the plugin, which others use as well
def browser(
    browser_type: BrowserType, browser_type_launch_args: dict[str, Any]
) -> Iterator[Browser]:
    """A Chromium that can show notifications."""
    path = find_chromium(windows=True)
    if path is None and "GATEPOST_REQUIRE_BROWSER" not in os.environ:
        pytest.skip("NO BROWSER: the headless shell shows no notifications; install chromium")
    launched = browser_type.launch(**browser_type_launch_args | {"executable_path": path})
    yield launched
    launched.close()


@pytest.mark.slow
@pytest.mark.requirement("E01")
def test_a_push_message_is_shown_by_a_worker_of_our_own(house: House, people: People) -> None:
    wanted = endpoints.Wanted(name="phones")
    endpoints.make(house.cast.workspace, "push", wanted, actor="user:0")
    screen = people("operator", permissions=["notifications"])
    page = screen.open("/subscriptions/")
    expect(page.get_by_role("button", name="Notify this device")).to_be_visible()
    assert faults(screen, Axe()) == {}
    session, known = page.context.new_cdp_session(page), list[dict[str, Any]]()
    session.on(
        "ServiceWorker.workerRegistrationUpdated", lambda e: known.extend(e["registrations"])
    )
    session.send("ServiceWorker.enable")
    with page.context.expect_event("serviceworker") as started:
        page.evaluate("navigator.serviceWorker.register('/push-worker.js')")
    page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    # The worker reports what the browser accepted to show. Not `getNotifications`: Chromium forgets
    # a notification that is asked for between its record and its display.
    worker = started.value
    worker.evaluate("""() => {
      const show = registration.showNotification.bind(registration);
      self.shown = new Promise((done, failed) => {
        registration.showNotification = (title, options) => show(title, options).then(
          () => done([title, options.body, options.data.url]), failed);
        setTimeout(() => failed(new Error("nothing was shown")), 20_000);
      });
    }""")
    message = {
        "title": "Approval needed: Pay",
        "body": "Risk: high",
        "url": f"{house.url}/approvals/",
    }
    registration = known[-1]["registrationId"]
    session.send(
        "ServiceWorker.deliverPushMessage",
        {"origin": house.url, "registrationId": registration, "data": json.dumps(message)},
    )
    assert worker.evaluate("self.shown") == [message["title"], message["body"], message["url"]]
