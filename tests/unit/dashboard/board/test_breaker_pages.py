"""Breakers on the board and their dialogs; each number is compared with one by plain SQL."""

from __future__ import annotations

import random
import re
from html import unescape
from typing import Any
from urllib.parse import parse_qsl, quote_plus, urlsplit
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from checkpoints import leases, queries, store
from checkpoints.agent_versions import OURS
from checkpoints.states import LIVE as UNFINISHED
from checkpoints.states import Status
from dashboard.board.board import BoardPage
from dashboard.board.breaker_actions import (
    RELEASE,
    TRIP,
    ReleaseBreaker,
    Selection,
    TripBreaker,
    preview_trip,
)
from dashboard.errors import Invalid, Missing, NotAllowedNow
from dashboard.identity.permissions import may
from dashboard.kit.action import read
from dashboard.threads.pause import PAUSE, Pause
from dashboard.threads.start import start_or_continue
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard import populations, scene

pytestmark = pytest.mark.requirement("G01")

LIVE = "'queued','running','waiting','sleeping','paused','attention','rolling_back'"


def numbers(html: str) -> dict[str, int]:
    """{term: the number after it} of the list of a dialog."""
    (part,) = re.findall(r'<dl class="kv left".*?</dl>', html, re.DOTALL)
    plain = re.sub(r"<[^>]*>", " ", re.sub(r"</dt>", ":", part))
    return {word: int(n) for word, n in re.findall(r"(\w[\w ]*?)\s*:\s*(\d+)", plain)}


def by_sql(cast: Cast, condition: str = "true") -> dict[str, int]:
    """{status: unfinished threads} of the workspace."""
    return dict(
        rows(
            f"SELECT status, count(*) FROM gp_thread WHERE workspace_id = %s AND {condition} "
            f"AND status IN ({LIVE}) GROUP BY status",
            (cast.workspace,),
        )
    )


def tripped(cast: Cast, **selection: str) -> UUID:
    wanted = read(TripBreaker, {**selection, "reason": "Prices are wrong"})
    return TRIP.run(cast.actor("operator"), wanted).id


def post(cast: Cast, path: str, who: str = "operator", **form: str) -> tuple[int, str]:
    answer = cast.client(who).post(path, form)
    return answer.status_code, answer.content.decode()


@pytest.mark.django_db
def test_the_dialog_counts_what_a_trip_touches(cast: Cast) -> None:
    populations.populate(cast, random.Random(5))
    agents = [name for (name,) in rows("SELECT DISTINCT agent FROM gp_thread")]
    for agent in ("", *agents):
        html = cast.client("operator").get(f"/breakers/trip/?agent={agent}").content.decode()
        counts = by_sql(cast, f"('{agent}' = '' OR agent = '{agent}')")
        result = numbers(html)
        assert result["Touches"] == sum(counts.values())
        assert result.get("Running", 0) == counts.get("running", 0)
        queued = counts.get("queued", 0) + counts.get("rolling_back", 0)
        assert result.get("Queued", 0) == queued
        assert result.get("Sleeping", 0) == counts.get("sleeping", 0)
        others = sum(counts.get(s, 0) for s in ("waiting", "attention"))
        assert result.get("Waiting", 0) == others
        assert result.get("Paused", 0) == counts.get("paused", 0)
    assert len(agents) > 1


@pytest.mark.django_db
def test_a_trip_by_page_asks_for_a_reason_and_the_counted_selection(cast: Cast) -> None:
    agent = scene.make_agent()
    thread = scene.start(cast.workspace, agent)
    dialog = cast.client("operator").get("/breakers/trip/?agent=research&q=delays")
    assert dialog.status_code == 200
    html = dialog.content.decode()
    (seen,) = re.findall(r'name="seen" value="([^"]*)"', html)
    form = {"agent": "research", "q": "delays", "seen": seen.replace("&quot;", '"')}
    status, html = post(cast, "/breakers/trip/", **form)
    assert (status, "is required" in html) == (422, True)
    # Another agent than the one that was counted: nothing is stopped, the new count is shown.
    status, html = post(cast, "/breakers/trip/", **form | {"agent": "", "reason": "why"})
    assert (status, "The selection was changed" in html) == (422, True)
    status, _ = post(cast, "/breakers/trip/", **form | {"do": "count"})
    assert status == 200
    status, html = post(cast, "/breakers/trip/", **form | {"label": "no colon", "reason": "why"})
    assert (status, "key:value" in html) == (422, True)
    assert queries.breakers(cast.workspace) == []
    status, _ = post(cast, "/breakers/trip/", **form | {"reason": "Prices are wrong"})
    assert status == 303
    (row,) = queries.breakers(cast.workspace)
    assert row.selection == {"agent": "research", "q": "delays", "words": True}
    assert (row.reason, row.opened_by) == ("Prices are wrong", cast.actor("operator").id)
    assert leases.acquire(thread, owner="worker:1") is None
    page = cast.client("operator").get(f"/threads/{thread}/").content.decode()
    assert "A breaker stops it: Prices are wrong." in page
    assert "Release the breaker." in page


@pytest.mark.django_db
def test_the_banner_stands_on_every_board_with_its_numbers(cast: Cast) -> None:
    agent = scene.make_agent()
    threads = [scene.start(cast.workspace, agent) for _ in range(5)]
    held = leases.acquire(threads[0], owner="worker:1")
    assert held is not None
    PAUSE.run(cast.actor("operator"), Pause(), threads[1])
    breaker = tripped(cast)
    for query in ("", "?status=paused", "?q=nothing", "?agent=research"):
        html = cast.client("operator").get(f"/{query}").content.decode()
        banner = html[html.index('id="board-breakers"') : html.index('id="board-integrity"')]
        assert "all threads of the workspace" in banner
        assert "Prices are wrong" in banner
        assert re.search(r'<b class="num">3</b> stopped', banner)
        assert re.search(r'<b class="num">1</b> finishing current work', banner)
        assert re.search(r'<b class="num">1</b> not running, stopped when they would', banner)
        assert f"/breakers/{breaker}/release/?some=all" in banner
    # Whoever may only look sees it without buttons.
    html = cast.client("auditor").get("/").content.decode()
    assert "Prices are wrong" in html
    assert "/breakers/" not in html
    assert cast.client("stranger").get("/").content.decode().count("Prices are wrong") == 0
    store.hand_back(held, reason="a breaker stops it")
    RELEASE.run(cast.actor("operator"), ReleaseBreaker(reason="try", number=2), breaker)
    stopped, released = rows(
        "SELECT count(*) FILTER (WHERE x >= b.released_to), count(*) FILTER (WHERE x < "
        "b.released_to) FROM (SELECT ('x' || right(id::text, 8))::bit(32)::bigint AS x "
        "FROM gp_thread WHERE workspace_id = %s AND status = 'queued') t, gp_breaker b "
        "WHERE b.id = %s",
        (cast.workspace, breaker),
    )[0]
    assert (stopped, released) == (2, 2)
    html = cast.client("operator").get("/").content.decode()
    assert "Being released" in html
    assert re.search(rf'<b class="num">{stopped}</b> stopped', html)
    dialog = cast.client("operator").get(f"/breakers/{breaker}/release/").content.decode()
    assert numbers(dialog)["Stopped"] == stopped
    assert numbers(dialog)["Released"] == released


@pytest.mark.django_db
def test_a_board_without_breakers_asks_no_more_than_before(cast: Cast) -> None:
    client = cast.client("operator")
    client.get("/")
    with CaptureQueriesContext(connection) as captured:
        client.get("/")
    about = [q["sql"] for q in captured.captured_queries if "gp_breaker" in q["sql"]]
    # In the statements that are sent anyway: the mark of the board, and its rows.
    assert about
    assert all("gp_thread" in sql for sql in about)


@pytest.mark.django_db
def test_a_release_by_page(cast: Cast) -> None:
    agent = scene.make_agent()
    for _ in range(4):
        scene.start(cast.workspace, agent)
    path = f"/breakers/{tripped(cast)}/release/"
    for form, why in (
        ({"some": "all"}, "is required"),
        ({"some": "number", "number": "two", "reason": "r"}, "is not a whole number"),
        ({"some": "number", "number": "0", "reason": "r"}, "must be at least 1"),
        ({"some": "percent", "percent": "100", "reason": "r"}, "must be at most 99"),
        ({"some": "most", "reason": "r"}, "nter how many continue"),
    ):
        status, html = post(cast, path, **form)
        assert (status, why in html) == (422, True), form
    client = cast.client("operator")
    answer = client.post(path, {"some": "percent", "percent": "50", "reason": "Try half"})
    assert answer.status_code == 303
    html = client.get("/").content.decode()
    assert "2 threads continue; the others stay stopped." in html
    client = cast.client("admin")
    answer = client.post(path, {"some": "all", "reason": "Prices are right"})
    assert answer.status_code == 303
    html = client.get("/").content.decode()
    assert "Released: 2 threads continue." in html
    assert "Prices are wrong" not in html
    status, html = post(cast, path, some="all", reason="again")
    assert (status, "released already" in html) == (409, True)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("who", "allowed"),
    [("operator", True), ("admin", True), ("manager", False), ("auditor", False)],
)
def test_who_may_stop_and_release(cast: Cast, who: str, allowed: bool) -> None:
    breaker = tripped(cast)
    assert may(cast.actor(who), "breaker") is allowed
    client = cast.client(who)
    for path in ("/breakers/trip/", f"/breakers/{breaker}/release/"):
        assert client.get(path).status_code == (200 if allowed else 403)
    assert client.get(f"/breakers/{uuid4()}/release/").status_code == (404 if allowed else 403)


@pytest.mark.django_db
def test_values_that_no_thread_has_are_refused(cast: Cast) -> None:
    operator = cast.actor("operator")
    for name, value in (
        ("agent", "a" * 101),
        ("q", "q" * 301),
        ("depth", -1),
        ("labels", {"": "x"}),
        ("agent", "\0"),
    ):
        with pytest.raises(Invalid) as refused:
            TRIP.run(operator, read(TripBreaker, {name: value, "reason": "why"}))
        assert refused.value.path.startswith(f"$.{name}")
    breaker = tripped(cast)
    with pytest.raises(Invalid, match="not both"):
        RELEASE.run(operator, ReleaseBreaker(reason="why", number=1, percent=1), breaker)
    with pytest.raises(Missing):
        RELEASE.run(cast.actor("stranger"), ReleaseBreaker(reason="why"), breaker)
    with pytest.raises(NotAllowedNow):
        RELEASE.run(operator, ReleaseBreaker(reason="why", number=1), breaker)


@pytest.mark.django_db
def test_an_agent_elsewhere_is_told_to_wait(cast: Cast) -> None:
    from dashboard.external import leases, next_steps
    from workers.external.announcement import Announcement

    operator = cast.actor("operator")
    made = Announcement(framework="python")
    thread, _ = start_or_continue(operator, agent="elsewhere", input={}, external=made)
    held = leases.take(operator, thread, "host-1", 60)
    breaker = tripped(cast)
    # Its lease is its own until it reports; what it reports ends it.
    token = held.work.token
    row = leases.release(operator, thread, token, "queued", "handed back", None)
    assert row.status is Status.QUEUED
    answer = next_steps.next_of(operator, thread, None)
    assert (answer.do, answer.reason) == ("wait", "A breaker stops it: Prices are wrong.")
    with pytest.raises(NotAllowedNow, match="A breaker stops it"):
        leases.take(operator, thread, "host-1", 60)
    RELEASE.run(operator, ReleaseBreaker(reason="right"), breaker)
    assert next_steps.next_of(operator, thread, None).do == "take"
    assert leases.take(operator, thread, "host-1", 60).work.wish == ""


@pytest.mark.django_db
def test_a_refused_selection_leads_to_no_more_threads_than_the_board_lists(cast: Cast) -> None:
    root = str(uuid4())
    client = cast.client("operator")
    html = client.get("/breakers/trip/", {"q": "has:stuck", "root": root, "damaged": "1"}).content
    (link,) = re.findall(r'href="(/threads/many/[^"]*)"', unescape(html.decode()))
    assert dict(parse_qsl(urlsplit(link).query)) == {"q": "has:stuck", "root": root, "damaged": "1"}
    assert client.get(link).status_code == 200
    html = client.get("/breakers/trip/", {"q": "has:stuck", "label": "team:ops a"}).content
    (link,) = re.findall(r'href="(/threads/many/[^"]*)"', unescape(html.decode()))
    assert dict(parse_qsl(urlsplit(link).query)) == {"q": 'has:stuck label:"team=ops a"'}
    # The dialog of many threads has no word for half a label.
    html = client.get("/breakers/trip/", {"q": "has:stuck", "label": "team:"}).content
    assert b"/threads/many/" not in html


@pytest.mark.django_db
def test_chosen_statuses_go_along_to_the_dialog_of_many(cast: Cast) -> None:
    agent = scene.make_agent()
    scene.start(cast.workspace, agent)
    client = cast.client("operator")
    chosen = {"status": "failed,waiting", "children": "1", "q": "has:stuck"}
    page = BoardPage.read({k: [v] for k, v in chosen.items()}, workspace=cast.workspace)
    html = unescape(client.get(page.stop_address).content.decode())
    (link,) = re.findall(r'href="(/threads/many/[^"]*)"', html)
    assert dict(parse_qsl(urlsplit(link).query)) == chosen
    # So they do when the selection is written anew, and where a breaker takes the query.
    for q, status in (("has:stuck", 422), ("delays", 200)):
        answer, html = post(cast, "/breakers/trip/", **chosen | {"q": q, "do": "count"})
        assert answer == status
        (link,) = re.findall(r'href="(/threads/many/[^"]*)"', unescape(html))
        assert dict(parse_qsl(urlsplit(link).query)) == chosen | {"q": q}
        assert ("<b>waiting, failed</b>" in html) is (status == 200)
    # A status alone narrows no stop: its button says so.
    html = client.get("/", {"status": "failed"}).content.decode()
    assert "Stop these…" not in html
    assert 'href="/breakers/trip/?status=failed"' in html


@pytest.mark.django_db
def test_a_long_query_is_refused_on_the_dialog_and_not_before_it(cast: Cast) -> None:
    q = " ".join(f"-label:team=name-{n}" for n in range(15))
    assert len(q) > 200
    page = BoardPage.read({"q": [q]}, workspace=cast.workspace)
    answer = cast.client("operator").get(page.stop_address)
    assert answer.status_code == 422
    assert "breaker takes one text" in answer.content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("q", "address"),
    [
        ("delays", "?q=delays"),
        ('"two words"', "?q=%22two+words%22"),
        ("agent:research delays", "?q=delays&agent=research"),
        ("label:team=finance", "?label=team%3Afinance"),
        ("status:failed", "?q=status%3Afailed"),
        ("agent:research,payments", "?q=agent%3Aresearch%2Cpayments"),
        ("-agent:research", "?q=-agent%3Aresearch"),
        ("two words", "?q=two+words"),
        ("status:", "?q=status%3A"),
    ],
)
def test_the_query_of_the_board_is_the_selection_or_is_refused(
    cast: Cast, q: str, address: str
) -> None:
    """A breaker never stops more, or less, than the board shows without its status."""
    page = BoardPage.read({"q": [q]}, workspace=cast.workspace)
    assert page.stop_address == f"/breakers/trip/{address}"
    dialog = cast.client("operator").get(page.stop_address)
    unchanged = "q=" in address and address not in ("?q=delays", "?q=%22two+words%22")
    refused = unchanged and "agent=" not in address
    assert dialog.status_code == (422 if refused else 200)
    html = dialog.content.decode()
    assert ("breaker takes one text" in html or "needs a value" in html) is refused
    assert ("Stop these…" in cast.client("operator").get("/", {"q": q}).content.decode()) is True
    if refused:  # no button stops anything before threads were chosen and counted
        assert "danger" not in html
        assert 'id="touched"' not in html
        assert f'href="/threads/many/?q={quote_plus(q)}"' in unescape(html)
        (seen,) = re.findall(r'name="seen" value="([^"]*)"', html)
        answer = post(cast, "/breakers/trip/", reason="Prices", seen=seen)
        assert (answer[0], queries.breakers(cast.workspace)) == (422, [])


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("seed", [3, 17])
def test_a_breaker_selects_what_the_lists_show(cast: Cast, seed: int) -> None:
    """The rule of breakers, which claims evaluate, and the filters of lists find the same."""
    dice = random.Random(seed)
    populations.populate(cast, dice)
    rows("UPDATE gp_thread SET labels = jsonb_build_object('n', mod(number, 3)::text) RETURNING id")
    agents = [name for (name,) in rows("SELECT DISTINCT agent FROM gp_thread")]
    titles = [title for (title,) in rows("SELECT DISTINCT title FROM gp_thread")]
    ids = [str(ident) for (ident,) in rows("SELECT id FROM gp_thread LIMIT 3")]
    texts = [
        "",
        *titles[:4],
        *(t[:3].upper() for t in titles[:4]),
        *(t[1:4].upper() for t in titles[:4]),
        *(i[3:9] for i in ids),
        "%",
        "_",
    ]
    n_some = 0
    for _ in range(90):
        chosen: dict[str, Any] = {
            "agent": dice.choice(["", *agents]),
            "framework": dice.choice(["", "", OURS, "LangGraph"]),
            "damaged": dice.random() < 0.1,
        }
        text, label = dice.choice(texts), dice.choice([None, ("n", "0"), ("n", "1"), ("m", "0")])
        q = str(queries.Query((queries.Term("", (text,)),))) if text.strip() else ""
        selection = Selection(**chosen, q=q, labels=dict([label] if label else ()))
        touched = preview_trip(cast.actor("operator"), selection).total
        alike = queries.Selection(UNFINISHED, q=q, label=label, **chosen)
        listed = queries.threads(alike, workspace=cast.workspace, limit=1_000)
        assert touched == len(listed.rows), selection
        n_some += touched > 0
    assert n_some > 10
