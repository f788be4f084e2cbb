"""What a model says is on the page while it comes, in a real Chromium; then it is a message."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page

from dashboard.threads.start import start_thread
from tests.support.cast import make_cast
from tests.support.site import started_site
from tests.unit.workers.language.model_server import Say, serving_models

pytestmark = [pytest.mark.browser, pytest.mark.slow]
TEXT = "The rain in Oslo falls on Monday, <b>and</b> the sun shines on Tuesday."


@pytest.mark.requirement("E09")
def test_tokens_reach_the_page_while_they_come(real_db: str, settings: Any, page: Page) -> None:
    settings.ALLOWED_HOSTS = ["testserver"]
    complaints: list[str] = []
    page.on("console", lambda line: complaints.append(line.text) if line.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    with (
        serving_models(Say(TEXT, pause=0.25)) as server,
        started_site(
            GATEPOST_AGENTS="tests.unit.workers.react.chatting",
            GATEPOST_MODEL=f"openai:small@{server.url}",
        ) as site,
    ):
        cast = make_cast()
        key = cast.client("operator").cookies["sessionid"].value
        page.context.add_cookies([{"name": "sessionid", "value": key, "url": site.url}])
        query = {"goal": "How is the weather?"}
        thread = start_thread(cast.actor("operator"), agent="chatting", input=query)
        page.goto(f"{site.url}/threads/{thread}/")
        words = page.locator("[data-stream=model] [data-stream-text]")
        words.wait_for(timeout=20_000)
        seen = {words.inner_text()}
        while (text := page.evaluate(TEXT_NOW)) is not None:
            seen.add(text)
            page.wait_for_timeout(50)
        assert len(seen) > 3
        assert all(TEXT.startswith(text) for text in seen)
        # Then it is a message of the conversation, without a reload.
        page.locator("#message-2 .words").wait_for(timeout=20_000)
        assert page.locator("#thread-conversation .words").all_inner_texts() == [
            *query.values(),
            TEXT,
        ]
        assert words.count() == 0
        assert "model.answered" in page.content()
    assert complaints == []


SHOWN = "#thread-progress > [data-stream] [data-stream-text]"
TEXT_NOW = f"() => document.querySelector('{SHOWN}')?.textContent ?? null"
