"""The page of a part of a state: read without scripts, a fragment with them, for members only."""

from __future__ import annotations

import re
from html import unescape
from uuid import UUID, uuid4

import pytest

from checkpoints import queries
from tests.support.cast import Cast
from tests.unit.dashboard import scene

pytestmark = pytest.mark.django_db
FRAGMENT = {"HX-Request": "true"}


@pytest.fixture
def thread(cast: Cast) -> UUID:
    """A thread whose second checkpoint has a list of 300 items and a text of 50,000 characters."""
    work = scene.lease(scene.start(cast.workspace, scene.make_agent()))
    scene.step(work, findings=["one", "two"], report="short")
    items = [f"item {n} <script>" for n in range(300)]
    scene.step(work, findings=items, report="y" * 25_000 + "z" * 25_000, file={"a": {"b": [1]}})
    return work.thread


def links(html: str) -> list[str]:
    return [unescape(href) for href in re.findall(r'class="(?:fold|cut)" href="([^"]*)"', html)]


def texts(html: str) -> list[str]:
    return [unescape(text) for text in re.findall(r'<span class="s">"(.*?)"</span>', html)]


def test_a_thread_s_page_leaves_out_what_its_links_show(cast: Cast, thread: UUID) -> None:
    client = cast.client("viewer")
    html = client.get(f"/threads/{thread}/?tab=state").content.decode()
    leading = links(html.partition('id="thread-state"')[2].partition("</section>")[0])
    parts = {re.search(r"at=([^&]*)", href)[1] for href in leading}  # type: ignore[index]
    assert parts == {"/findings", "/report", "/file/a"}
    state = queries.state_at(thread, queries.thread(thread, workspace=cast.workspace).head)
    address = next(href for href in leading if "/findings" in href)
    seen = texts(html)
    while address:
        page = client.get(address)
        assert page.status_code == 200
        text = page.content.decode()
        assert len(page.content) < 80_000
        assert "<script>" not in text
        assert "&lt;script&gt;" in text
        seen += texts(text)
        rest = [href for href in links(text) if "/findings" in href]
        address = rest[0] if rest else ""
    assert set(state["findings"]) <= set(seen)


def test_a_fragment_stands_in_the_place_of_its_link(cast: Cast, thread: UUID) -> None:
    client = cast.client("viewer")
    address = f"/threads/value/?of={thread}:2&at=/file/a"
    answer = client.get(address, headers=FRAGMENT)
    html = answer.content.decode()
    assert html.startswith(f'<li data-value="{address.replace("&", "&amp;")}"><details open>')
    assert html.count("<li") == html.count("</li>")
    assert "<html" not in html
    assert "HX-Request" in answer.headers["Vary"]
    assert answer.headers["HX-Push-Url"] == "false"
    whole = client.get(address).content.decode()
    assert '<h1 class="mono any">a</h1>' in whole
    assert f'href="/threads/value/?of={thread}:2&amp;at=/file"' in whole
    text = client.get(f"/threads/value/?of={thread}:2&at=/report", headers=FRAGMENT)
    assert text.content.decode().startswith('<span class="s" data-value=')


def test_a_long_text_is_read_piece_by_piece(cast: Cast, thread: UUID) -> None:
    client, address, pieces = cast.client("viewer"), f"/threads/value/?of={thread}:2&at=/report", []
    while address:
        html = client.get(address).content.decode()
        pieces.append(re.search(r"<pre[^>]*>(.*?)</pre>", html, re.S)[1])  # type: ignore[index]
        more = re.search(r'class="more" href="([^"]*)"', html)
        address = unescape(more[1]) if more else ""
    assert "".join(pieces) == "y" * 25_000 + "z" * 25_000
    assert len(pieces) == 2


def test_what_changed_is_shown_beside_what_was(cast: Cast, thread: UUID) -> None:
    client = cast.client("viewer")
    html = client.get(f"/threads/{thread}/").content.decode()
    address = next(href for href in links(html) if "against=" in href)
    page = client.get(address).content.decode()
    assert "Compared with" in page
    assert re.search(r'class="ln[^"]* (add|chg)"', page)


def test_an_event_s_data_are_parts_too(cast: Cast, thread: UUID) -> None:
    client = cast.client("viewer")
    seq = queries.thread(thread, workspace=cast.workspace).last_seq
    answer = client.get(f"/threads/value/?of={thread}:event-{seq}")
    assert answer.status_code == 200
    assert f"Event {seq}" in answer.content.decode()
    assert client.get(f"/threads/value/?of={thread}:event-{seq + 50}").status_code == 404


def test_only_parts_that_are_there_and_only_for_members(cast: Cast, thread: UUID) -> None:
    client = cast.client("viewer")
    for query, status in (
        (f"of={thread}:2&at=/nothing", 404),
        (f"of={thread}:9&at=/report", 404),
        (f"of={uuid4()}:1", 404),
        (f"of={thread}:2&at=report", 422),
        (f"of={thread}:2&against=x", 422),
        ("", 200),
    ):
        assert client.get(f"/threads/value/?{query}").status_code == status, query
    elsewhere = scene.start(cast.elsewhere, scene.make_agent("other"))
    for query in (f"of={elsewhere}:0", f"of={elsewhere}:event-1"):
        assert client.get(f"/threads/value/?{query}").status_code == 404
    beside = client.get(f"/threads/value/?of={thread}:2&at=/report&against={elsewhere}:0")
    assert beside.status_code == 404
    assert cast.client("stranger").get(f"/threads/value/?of={thread}:2").status_code in (403, 404)
