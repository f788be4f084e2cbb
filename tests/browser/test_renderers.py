"""A page that never answers ends; the next one opens."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser
from playwright.sync_api import Error as BrowserError

from tests.support import renderers

pytestmark = pytest.mark.browser


def test_a_page_that_does_not_answer_ends_after_the_limit(browser: Browser) -> None:
    page = browser.new_page()
    with renderers.limited(2), pytest.raises(BrowserError, match=r"crashed|closed"):
        page.evaluate("() => { while (true); }")
    page.close()

    other = browser.new_page()
    assert other.evaluate("() => 6 * 7") == 42
    other.close()
