"""Stuck threads on the board, on their pages and by API; the query in the board's address."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import parse_qs, urlencode, urlsplit
from uuid import UUID

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from checkpoints import store
from checkpoints.queries.search.language import FILTERS
from checkpoints.states import EventKind
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard import scene


@pytest.fixture
def stuck(cast: Cast) -> dict[str, list[UUID]]:
    """Three silent threads at `publish`, one in attention at `analyse`; two that are well."""
    silent, agents = [], {name: scene.make_agent(name) for name in ("research", "pay: ments")}
    for name in ("research", "research", "pay: ments"):
        work = scene.lease(scene.start(cast.workspace, agents[name]))
        scene.step(work)
        silent.append(work.thread)
    rows(
        "UPDATE gp_thread SET status_since = status_since - interval '1 hour', "
        "last_at = last_at - interval '1 hour'"
    )
    lost = scene.lease(scene.start(cast.workspace, agents["research"]))
    store.leave(lost, EventKind.THREAD_PARKED, reason="The worker was lost 3 times in a row.")
    well = [scene.start(cast.workspace, agent) for agent in agents.values()]
    store.note_stuck()
    return {"silent": silent, "lost": [lost.thread], "well": well}


def listed(html: str) -> set[str]:
    return set(re.findall(r'<tr id="thread-([0-9a-f-]{36})"', html))


def test_a_label_written_as_a_filter_is_answered_with_how_to_write_it(cast: Cast) -> None:
    html = unescape(cast.client("operator").get("/?q=team:finance").content.decode())
    assert "A label is written label:team=finance." in html
    assert 'href="?q=label%3Ateam%3Dfinance"' in html
    html = unescape(
        cast.client("operator").get("/?q=TypeError:+foo&status=failed").content.decode()
    )
    assert 'href="?status=failed&q=%22TypeError%3A+foo%22"' in html
    answer = cast.client("operator").get("/api/v1/threads/", {"q": "by:olive"})
    assert (answer.status_code, "“olive” is no user name" in answer.content.decode()) == (422, True)


@pytest.mark.requirement("A27")
def test_one_click_on_the_board_lists_who_is_stuck_at_a_step(
    cast: Cast, stuck: dict[str, list[UUID]]
) -> None:
    client = cast.client("operator")
    html = client.get("/").content.decode()
    region = html.partition('id="board-stuck"')[2].partition("</p>")[0]
    assert "<b>4</b> stuck" in region
    groups = re.findall(
        r'href="([^"]+)">\s*<span class="clip">(.*?)</span>\s*<b>(\d+)', region, re.S
    )
    assert len(groups) == 3
    numbers = {}
    for href, label, n in groups:
        address = unescape(href)
        rows_there = listed(client.get(address).content.decode())
        assert len(rows_there) == int(n)
        agent, node = re.sub(r"<.*?>|\s+", " ", label).split("·")
        numbers[agent.strip(), node.strip()] = rows_there
        assert set(parse_qs(urlsplit(address).query)) == {"q"}
    assert numbers["research", "publish"] == {str(t) for t in stuck["silent"][:2]}
    assert numbers["pay: ments", "publish"] == {str(stuck["silent"][2])}
    assert numbers["research", "analyse"] == {str(stuck["lost"][0])}
    every = listed(client.get("/?q=has:stuck").content.decode())
    assert every == {str(t) for t in stuck["silent"] + stuck["lost"]}


def test_one_that_stands_at_no_node_is_a_click_away_with_its_agent(
    cast: Cast, stuck: dict[str, list[UUID]]
) -> None:
    rows("UPDATE gp_thread SET next_nodes = '[]' WHERE id = %s", (stuck["lost"][0],))
    rows("UPDATE gp_stuck SET agent = 'other' WHERE agent = 'research'")
    rows(
        "UPDATE gp_thread SET agent = 'other' WHERE agent = 'research' AND id <> %s",
        (stuck["lost"][0],),
    )
    html = cast.client("operator").get("/").content.decode()
    region = html.partition('id="board-stuck"')[2].partition("</p>")[0]
    (address,) = [a for a in re.findall(r'href="([^"]+)"', region) if "research" in a]
    there = cast.client("operator").get(unescape(address)).content.decode()
    assert listed(there) == {str(stuck["lost"][0])}


def test_each_stuck_row_has_its_reason_and_what_helps(
    cast: Cast, stuck: dict[str, list[UUID]]
) -> None:
    html = cast.client("operator").get("/").content.decode()
    thread = stuck["silent"][0]
    row = html.partition(f'<tr id="thread-{thread}"')[2].partition("</tr>")[0]
    assert "stuck</span>" in row
    assert "Its worker has recorded nothing." in row
    assert "Pause it, then edit or retry; or cancel it." in row
    assert f'formaction="/threads/{thread}/pause/"' in row
    page = cast.client("operator").get(f"/threads/{thread}/").content.decode()
    assert "Its worker has recorded nothing." in page
    why = cast.client("operator").get(f"/api/v1/threads/{thread}/").json()["why_waiting"]
    assert (why["kind"], why["facts"]["stuck"]) == ("stuck", "silent")
    assert why["action"] == "Pause it, then edit or retry; or cancel it."


@pytest.mark.requirement("A27")
def test_one_call_counts_who_is_stuck_at_a_step(cast: Cast, stuck: dict[str, list[UUID]]) -> None:
    api, client = "/api/v1/threads/stuck/", cast.client("operator")
    answer = client.get(api).json()
    assert answer["total"] == 4
    counts = {(one["agent"], one["node"]): one["threads"] for one in answer["counts"]}
    assert counts == {
        ("research", "publish"): 2,
        ("research", "analyse"): 1,
        ("pay: ments", "publish"): 1,
    }
    assert len(answer["results"]) == 4
    one = client.get(f"{api}?agent=research&node=publish&limit=1").json()
    assert (one["total"], [c["threads"] for c in one["counts"]]) == (2, [2])
    [row] = one["results"]
    assert row["rule"] == "silent"
    assert row["next_action"]
    assert client.get(f"{api}?node=nowhere").json() == {"total": 0, "counts": [], "results": []}
    assert cast.client("stranger").get(api).json()["total"] == 0
    listed_there = client.get("/api/v1/threads/?stuck=1").json()["results"]
    assert {t["id"] for t in listed_there} == {str(t) for t in stuck["silent"] + stuck["lost"]}


def test_what_is_not_stuck_is_not_marked(cast: Cast) -> None:
    scene.start(cast.workspace, scene.make_agent())
    html = cast.client("operator").get("/").content.decode()
    assert "stuck-at" not in html
    assert "stuck</span>" not in html


# --- the query in the address ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("q", "word", "explanation"),
    [
        ("tea stauts:failed", "stauts:", "Did you mean “status:”?"),
        ("age:2h", "2h", "such as &gt;10m"),
        ("agent:", "agent:", "agent:payments"),
    ],
)
def test_a_mistake_is_explained_at_its_word_on_page_and_by_api(
    cast: Cast, q: str, word: str, explanation: str
) -> None:
    scene.start(cast.workspace, scene.make_agent())
    client = cast.client("operator")
    page = client.get("/", {"q": q})
    html = page.content.decode()
    assert page.status_code == 200
    note = html.partition('id="board-query"')[2].partition("</div>")[0]
    assert f'<mark class="mono">{word}</mark>' in note
    assert explanation in note
    assert listed(html) == set(), "nothing is shown that was not asked for"
    assert "The filter has a mistake" in html
    answer = client.get("/api/v1/threads/", {"q": q})
    assert answer.status_code == 422
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert word in answer.content.decode()
    assert unescape(explanation) in answer.json()["detail"] + str(answer.json())


def test_page_and_api_have_the_same_rule(cast: Cast, stuck: dict[str, list[UUID]]) -> None:
    client = cast.client("operator")
    for q in (
        "has:stuck",
        "-has:stuck",
        "agent:research node:publish",
        "status:attention,queued delays",
        'agent:"pay: ments"',
        "idle:>30m",
        "age:<1h -status:running",
    ):
        html = client.get("/", {"q": q}).content.decode()
        answer = client.get("/api/v1/threads/", {"q": q}).json()
        assert listed(html) == {one["id"] for one in answer["results"]} != set(), q
        counters = re.findall(r'data-count="\w+">([\d,]+)', html)
        assert sum(map(int, counters)) == len(answer["results"])
        assert 'id="board-query" role="status">' in html


def test_the_page_has_the_words(cast: Cast) -> None:
    html = cast.client("operator").get("/").content.decode()
    help_ = html.partition('id="query-help"')[2].partition("</details>")[0]
    for name, one in FILTERS.items():
        assert f"<dt>{one.written or name}:</dt>" in help_
        assert unescape(one.example) in unescape(help_)


pieces = st.one_of(
    st.text(max_size=10),
    st.sampled_from([*(f"{name}:" for name in FILTERS), "-", '"', ",", "\\", " ", ">1h", "=", "%"]),
)


@pytest.mark.slow
@given(st.lists(pieces, max_size=8).map("".join))
@example("\0")
@example("\ud800")
@example("label:a=%,b status:failed")
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_no_query_is_an_error_of_ours(cast: Cast, q: str) -> None:
    client = cast.client("operator")
    query = urlencode({"q": q}, errors="surrogatepass")
    for address in ("/", "/api/v1/threads/"):
        assert client.get(f"{address}?{query}").status_code in (200, 400, 422), q
