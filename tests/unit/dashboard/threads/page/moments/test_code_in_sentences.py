"""Code in sentences: a name in backticks is shown as code, on every page of a failed thread."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from typing import Any, override
from uuid import UUID

import pytest

from approvals.incidents import groups
from approvals.incidents import queries as incidents
from checkpoints import store
from checkpoints.states import EventKind
from checkpoints.store import NewEvent
from dashboard.approvals.templatetags.decision import full_prose
from dashboard.wording import text
from tests.support.cast import Cast
from tests.unit.dashboard import scene

VERBATIM = {"code", "pre", "script", "style", "textarea", "option", "title"}
ERROR = "The node `pay` has no `<script>alert(1)</script>`; set `bank.url`. " + "Long. " * 21
REASON = ERROR + "It ends in `one word that is longer than a row of the board shows`."


class _Bare(HTMLParser):
    """Collects the texts outside of code that hold a backtick."""

    def __init__(self) -> None:
        super().__init__()
        self.within: list[str] = []
        self.bare: list[str] = []
        self.scripts = 0

    @override
    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.scripts += tag == "script" and not dict(attrs)
        if tag in VERBATIM:
            self.within.append(tag)

    @override
    def handle_endtag(self, tag: str) -> None:
        if self.within and self.within[-1] == tag:
            self.within.pop()

    @override
    def handle_data(self, data: str) -> None:
        if "`" in data and not self.within:
            self.bare.append(data.strip())


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("node `pay` failed", 'node <code class="w">pay</code> failed'),
        ("`a` and ``b``", '<code class="w">a</code> and <code class="w">b</code>'),
        ("`<script>x</script>`", '<code class="w">&lt;script&gt;x&lt;/script&gt;</code>'),
        ("<b>`x`", '&lt;b&gt;<code class="w">x</code>'),
        ("one ` alone", "one ` alone"),
        ("`a` and ` alone", '<code class="w">a</code> and ` alone'),
        ("two\n`lines\napart`", "two\n`lines\napart`"),
        ("``", "``"),
        ("cut in `the mid…", 'cut in <code class="w">the mid…</code>'),
        ("<code>`</code>`", '&lt;code&gt;<code class="w">&lt;/code&gt;</code>'),
    ],
)
def test_backticks_become_code_after_escaping(raw: str, shown: str) -> None:
    assert text.prose(raw) == shown
    assert full_prose(raw) == shown.replace("\n", "<br>")


def test_hidden_characters_in_code_are_written_out() -> None:
    shown = text.prose("run `a\u202eb`")
    assert "\u202e" not in shown
    assert ">U+202E<" in shown
    many = "`" * 100_000 + "x\n" * 10  # one pass, whatever comes
    assert text.prose(many) == many


def test_plain_text_without_backticks_is_as_before() -> None:
    assert text.prose("a < b") == text.visible("a < b")


def _failed(cast: Cast) -> UUID:
    work = scene.lease(scene.start(cast.workspace, scene.make_agent()))
    scene.step(work, report="draft")
    scene.effect(work)
    error = NewEvent(EventKind.STEP_FAILED, {"node": "pay", "step": 2, "error": REASON}, work.owner)
    store.leave(work, EventKind.THREAD_FAILED, reason=REASON, data={"node": "pay"}, events=[error])
    return work.thread


@pytest.mark.django_db
def test_no_page_of_a_failed_thread_shows_a_bare_backtick(cast: Cast) -> None:
    thread = _failed(cast)
    assert groups.join_incidents()
    (incident,) = incidents.incidents(workspace=cast.workspace)
    waiting = scene.waiting(cast.workspace, scene.make_agent("pays"), reasons=(REASON,))
    at = f"/threads/{thread}/"
    pages = ["/", at, f"{at}?tab=state", f"{at}?tab=changes", f"{at}?cp=0", "/incidents/"]
    pages += [f"{at}{verb}/" for verb in ("edit", "fork", "cancel", "skip")]
    pages += [f"/threads/compare/?left={thread}&right={thread}", f"/approvals/{waiting.id}/"]
    pages += [f"/incidents/{incident.id}/"]
    records = ["/admin/search/", "/admin/checkpoints/thread/", "/admin/checkpoints/event/"]
    records += [f"/admin/checkpoints/thread/{thread}/change/"]
    operator, auditor, shown = cast.client("operator"), cast.client("auditor"), 0
    for page in pages + records:
        client = auditor if page in records else operator
        response = client.get(page, follow=True)
        assert response.status_code == 200, page
        html = response.content.decode()
        sweep = _Bare()
        sweep.feed(html)
        assert not sweep.bare, f"{page}: {sweep.bare}"
        assert "<script>alert" not in html, page
        shown += '<code class="w">pay</code>' in html
    assert shown >= 8, shown


@pytest.mark.django_db
def test_the_interface_answers_with_the_sentence_as_written(cast: Cast) -> None:
    thread = _failed(cast)
    row = cast.client("viewer").get(f"/api/v1/threads/{thread}/").json()
    assert "`pay`" in row["status_reason"]
    assert not re.search(r"<code", unescape(row["status_reason"]))
