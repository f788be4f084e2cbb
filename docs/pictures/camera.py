"""Windows of people, and the pictures of the pages in them."""

from __future__ import annotations

import io
from typing import Any

from docs.pictures.shots import THEMES, WIDTHS, Shot
from docs.pictures.story import Person

TALLEST = {1440: 1900, 390: 1900}  # pixels of the page; what lies below is left out
COLOURS = 192
# What is waited for then, so that there is something to see.
ENOUGH = {
    "#thread-family": "() => document.querySelector('#thread-family [data-count=succeeded]')",
    "#thread-progress": "() => (document.querySelector('[data-stream-text]')?.textContent ?? '')"
    ".length > 120",
}
SCROLL_TO = """(at) => {
  const top = document.querySelector(at).getBoundingClientRect().top + scrollY;
  const bar = document.querySelector("header")?.offsetHeight ?? 0;
  scrollTo(0, innerWidth < 500 ? top - bar - 12 : 0);
}"""


def small(png: bytes) -> bytes:
    """The same picture with a palette."""
    from PIL import Image

    with Image.open(io.BytesIO(png)) as image:
        plain = image.convert("RGB")
        few = plain.quantize(
            COLOURS, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE
        )
    out = io.BytesIO()
    few.save(out, "PNG", optimize=True)
    return out.getvalue()


class Camera:
    """One window of each person for each width."""

    def __init__(self, browser: Any, base: str, people: dict[str, Person]) -> None:
        self.browser, self.base, self.people = browser, base, people
        self.windows: dict[tuple[str, int, bool], Any] = {}
        self.faults: list[str] = []

    def window(self, who: str, width: int, fine: bool) -> Any:
        """The page of a person; on a phone with all its pixels, or a small picture."""
        if (who, width, fine) not in self.windows:
            phone = width < 500
            context = self.browser.new_context(
                viewport={"width": width, "height": WIDTHS[width]},
                device_scale_factor=2 if phone and fine else 1,
                is_mobile=phone,
                has_touch=phone,
                reduced_motion="reduce",
            )
            if who:
                cookies = self.people[who].http.cookies.items()
                context.add_cookies(
                    [{"name": name, "value": value, "url": self.base} for name, value in cookies]
                )
            self.windows[who, width, fine] = context.new_page()
        return self.windows[who, width, fine]

    def open(self, shot: Shot, path: str, width: int) -> Any:
        """Show a page of the product that is whole; an error page is none."""
        page = self.window(shot.who, width, fine=not shot.at)
        page.set_viewport_size({"width": width, "height": WIDTHS[width]})
        answer = page.goto(self.base + path)
        assert answer.status == 200, f"{path}: {answer.status}"
        assert page.locator(".error-page").count() == 0, f"{path}: an error page"
        if page.locator("#live-badge").count():
            page.wait_for_selector("#live-badge[data-state=live]")
        elif not shot.template.startswith("registration"):
            page.wait_for_load_state("networkidle")
        for image in page.locator("img").all():
            image.scroll_into_view_if_needed()  # it loads when it is seen
            image.evaluate("image => image.decode()")
        if shot.press:
            page.get_by_role("button", name=shot.press).click()
            page.wait_for_load_state("networkidle")
        page.evaluate("window.scrollTo(0, 0)")
        if shot.at in ENOUGH:
            page.wait_for_function(ENOUGH[shot.at], timeout=60_000)
        if shot.at:
            page.evaluate(SCROLL_TO, shot.at)
        return page

    def take(self, page: Any, width: int, *, whole: bool) -> dict[str, bytes]:
        """{theme: picture} of the page that is open, as tall as it is or as it stands."""
        # Not "the full page": bars at the lower edge would then lie across its middle.
        for _ in range(2 if whole else 0):
            tall = page.evaluate("document.documentElement.scrollHeight")
            height = min(max(tall, WIDTHS[width]), TALLEST[width])
            page.set_viewport_size({"width": width, "height": height})
        results: dict[str, bytes] = {}
        for theme in THEMES:
            page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            results[theme] = page.screenshot(animations="disabled")
        over = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        if over > 0:
            self.faults.append(f"{page.url} is {over} px wider than {width}")
        return results
