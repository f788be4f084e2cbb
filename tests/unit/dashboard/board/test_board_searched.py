"""A board says how far it searched for what no index finds, and where the search goes on."""

from __future__ import annotations

import re
import sys
from html import unescape

import pytest

from checkpoints import queries
from checkpoints.queries.search import counts
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard import scene

pytestmark = pytest.mark.django_db
LOOKED, THREADS = 3, 8


@pytest.fixture
def cast_with_threads(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> Cast:
    """Queued threads of which the last one alone cost something."""
    for module in (counts, sys.modules["checkpoints.queries.threads"]):
        monkeypatch.setattr(module, "LOOK", LOOKED)
    monkeypatch.setattr(queries, "LOOK", LOOKED)
    monkeypatch.setattr(queries, "LIST_LOOK", LOOKED)
    version = scene.make_agent("payments")
    threads = [scene.start(cast.workspace, version) for _ in range(THREADS)]
    rows("UPDATE gp_thread SET cost = 200 WHERE id = %s", (threads[-1],))
    return cast


def test_a_board_says_how_many_threads_of_each_status_it_searched(cast_with_threads: Cast) -> None:
    client = cast_with_threads.client("operator")
    html = client.get("/?q=cost:>100").content.decode()
    assert f"Searched the first {LOOKED} threads of each status." in html
    assert 'data-count="queued">0+<' in html
    assert "Nothing found so far" in html
    assert "Search more threads" not in html
    for whole in ("/", "/?q=agent:payments", "/?q=status:queued"):
        html = client.get(whole).content.decode()
        assert "board-looked" not in html
        assert f'data-count="queued">{THREADS}<' in html


def test_a_list_is_searched_page_by_page_to_its_end(cast_with_threads: Cast) -> None:
    client, address, pages = cast_with_threads.client("operator"), "/?status=queued&q=cost:>100", 0
    while pages < THREADS:
        html = client.get(address).content.decode()
        pages += 1
        assert "Nothing matches" not in html  # not all of them were searched
        if "Nothing found so far" not in html:
            break
        assert f"Searched up to {LOOKED} threads of each chosen status on this page." in html
        link = re.search(r'href="([^"]+)">Search more threads<', html)
        assert link is not None
        address = unescape(link[1])
    assert (pages, html.count('<tr id="thread-')) == (3, 1)
    assert "board-looked" not in html
    token = cast_with_threads.client("operator")
    answer = token.get("/api/v1/threads/?q=cost:<100").json()
    assert len(answer["results"]) == LOOKED - 1  # the newest is dear
    assert answer["next_cursor"]
