"""Windows of people, and what their pages asked for, were sent and complained about."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import (
    BrowserContext,
    ConsoleMessage,
    Locator,
    Page,
    Request,
    WebSocket,
    expect,
)

from benchmarks.frames import Messages
from tests.support.chromium import PATIENCE

WIDE, PHONE = (1440, 900), (390, 844)


class Screen:
    """One page of one person, with a record of what went to and fro since the last `forget`."""

    def __init__(self, context: BrowserContext, base: str) -> None:
        self.context, self.base = context, base
        self.page: Page = context.new_page()
        self.documents: list[str] = []  # "GET /path" of whole pages
        self.polls: list[str] = []  # the regions that were asked for
        self.frames: list[dict[str, Any]] = []  # what the socket was sent
        self.complaints: list[str] = []
        self._allowed: list[re.Pattern[str]] = []
        self.page.on("request", self._requested)
        self.page.on("websocket", self._socket)
        self.page.on("console", self._note)
        self.page.on("pageerror", lambda error: self.complaints.append(f"pageerror: {error}"))

    def _requested(self, request: Request) -> None:
        if request.is_navigation_request() and request.frame == self.page.main_frame:
            self.documents.append(f"{request.method} {urlsplit(request.url).path}")
        elif regions := request.headers.get("x-gatepost-regions"):
            self.polls.append(regions)

    def _socket(self, socket: WebSocket) -> None:
        messages = Messages()
        socket.on("framereceived", lambda data: self.frames.append(messages.read(data)))

    def _note(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text}")

    def allow(self, pattern: str) -> None:
        """What the console may say in this test, since the test brings it about."""
        self._allowed.append(re.compile(pattern))

    def unforeseen(self) -> list[str]:
        """Everything the console said that no test allowed."""
        return [c for c in self.complaints if not any(p.search(c) for p in self._allowed)]

    def forget(self) -> None:
        """Count from here on."""
        for record in (self.documents, self.polls, self.frames):
            record.clear()

    # ---- what a person does ----

    def open(self, path: str) -> Page:
        """Go to an address of the product."""
        self.page.goto(self.base + path)
        return self.page

    def press(self, name: str) -> None:
        """Press the button or link of this name; the first that can be seen."""
        exactly = re.compile(rf"^{re.escape(name)}…?$")
        button = self.page.get_by_role("button", name=exactly)
        link = self.page.get_by_role("link", name=exactly)
        button.or_(link).filter(visible=True).first.click()

    def one(self, selector: str) -> Locator:
        """An element."""
        return self.page.locator(selector)

    def see_live(self) -> None:
        """Wait until the badge says that the page follows."""
        expect(self.one("#live-badge")).to_have_attribute("data-state", "live")

    def see_ready(self) -> None:
        """Wait until the first second of the verbs that decide has passed."""
        self.page.wait_for_load_state("domcontentloaded")
        expect(self.one("[data-early]")).to_have_count(0)

    def see_status(self, *statuses: str, timeout: float = PATIENCE) -> None:
        """Wait until the thread's page shows one of the statuses, by itself."""
        pattern = re.compile(f"^({'|'.join(statuses)})$")
        expect(self.one("#thread-head")).to_have_attribute("data-status", pattern, timeout=timeout)

    def progress(self) -> list[dict[str, Any]]:
        """The progress that was pushed."""
        return [frame for frame in self.frames if frame["type"] == "progress"]

    def sideways(self) -> int:
        """Pixels that the page is wider than the window."""
        return int(
            self.page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
        )

    def cut_off(self) -> list[str]:
        """Controls and headings that the window cuts off, and headings that break within a word.

        What a person can bring into view by scrolling its own box is not cut off.
        """
        return list(self.page.evaluate(_CUT_OFF))


_CUT_OFF = """() => {
  const scrolls = el => {
    for (let up = el.parentElement; up; up = up.parentElement)
      if (/auto|scroll/.test(getComputedStyle(up).overflowX) && up !== document.body
          && up !== document.documentElement && up.scrollWidth > up.clientWidth) return true;
    return false;
  };
  const clipped = el => el && (getComputedStyle(el).clipPath === "inset(50%)"
    || clipped(el.parentElement));
  const wrong = [];
  const all = "h1, h2, h3, a, button, input, select, textarea, summary";
  for (const el of document.querySelectorAll(all)) {
    if (el.closest(".sr, dialog:not([open]), [hidden]")) continue;
    if (clipped(el)) continue;  // for screen readers, as heads of tables are on a phone
    if (!el.checkVisibility({visibilityProperty: true})) continue;
    const box = el.getBoundingClientRect();
    if (box.width < 2 || box.height < 2 || scrolls(el)) continue;
    const lines = box.height / parseFloat(getComputedStyle(el).lineHeight);
    const shown = el.outerHTML.slice(0, 90);
    if (box.right > innerWidth + 1 || box.left < -1) wrong.push(`cut off: ${shown}`);
    else if (/^H/.test(el.tagName) && lines > 1.8 && !/\\s/.test(el.innerText.trim()))
      wrong.push(`squeezed: ${shown}`);
  }
  return wrong.slice(0, 5);
}"""
