"""Saved questions to the record: by page, call and command alike, for auditors and admins alone."""

from __future__ import annotations

import re
from html import unescape
from io import StringIO
from urllib.parse import quote

import pytest
from django.core.management import call_command

from checkpoints.chain import verify_workspace
from dashboard.board.saved_views import questions, view_actions
from dashboard.board.saved_views.view_actions import CHANGE, REMOVE, SAVE, ChangeView, SaveView
from dashboard.errors import Forbidden, Invalid, Missing
from dashboard.kit.action import read
from dashboard.kit.shapes.requests import Nothing
from dashboard.models import SavedView as ViewRow
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("G03")]
SEARCH = "/admin/search/"
ACME = "decision=approve&payee=ACME"


def saved(
    cast: Cast, name: str, address: str = ACME, *, who: str = "auditor", shared: bool = False
) -> ViewRow:
    wanted = SaveView(name=name, address=address, shared=shared, surface="records")
    return SAVE.run(cast.actor(who), wanted)


def links(cast: Cast, who: str, query: str = "") -> dict[str, tuple[str, bool]]:
    """{name: (where it leads, is this search)} of the saved questions above a search."""
    html = cast.client(who).get(f"{SEARCH}?{query}").content.decode()
    made = re.findall(
        r'<a href="([^"]*)" id="view-[^"]*"( aria-current="true")?[^>]*>(.*?)\s*<', html, re.S
    )
    return {unescape(name): (unescape(href), bool(here)) for href, here, name in made}


@pytest.mark.requirement("A28")
def test_a_question_is_saved_opened_replaced_shared_and_removed_on_the_page(cast: Cast) -> None:
    browser = cast.client("auditor")
    bare = browser.get(SEARCH).content.decode()
    assert "save-question" not in bare, "nothing is asked yet"
    html = browser.get(f"{SEARCH}?payee=ACME&decision=approve&agent=").content.decode()
    (text,) = re.findall(r'name="address" value="([^"]*)"', html)
    assert unescape(text) == ACME
    form = {"surface": "records", "name": "ACME approved", "address": unescape(text)}
    answer = browser.post("/views/new/", form)
    assert (answer.status_code, answer["Location"]) == (303, f"{SEARCH}?{ACME}")
    assert links(cast, "auditor", ACME) == {"ACME approved": (f"?{ACME}", True)}
    assert links(cast, "admin") == {}, "private"
    # Other filters in its place, by the form that begins with them.
    html = browser.get(f"{SEARCH}?payee=Globex").content.decode()
    (row,) = view_actions.list_views(cast.actor("auditor"))
    change = f"/views/{row.id}/?address={quote('payee=Globex')}"
    assert change in unescape(html)
    assert 'value="payee=Globex"' in browser.get(change).content.decode()
    form = {"name": "Globex", "address": "payee=Globex", "shared": "1"}
    assert browser.post(f"/views/{row.id}/", form).status_code == 303
    assert links(cast, "admin") == {"Globex": ("?payee=Globex", False)}
    listed = browser.get("/views/").content.decode()
    assert f'href="{SEARCH}?payee=Globex"' in listed
    assert '<span class="tag">records</span>' in listed
    assert browser.post(f"/views/{row.id}/remove/").status_code == 303
    assert links(cast, "auditor") == {}
    report = verify_workspace(cast.workspace)
    assert report.intact, report.what


@pytest.mark.requirement("D06")
def test_page_call_and_command_save_the_same_question(cast: Cast) -> None:
    browser = cast.client("auditor")
    address = f"{SEARCH}?payee=ACME&decision=approve&p=abc"
    browser.post("/views/new/", {"name": "one", "address": address, "surface": "records"})
    body = {"name": "two", "address": address, "surface": "records"}
    answer = browser.post("/api/v1/views/", body, content_type="application/json")
    assert answer.status_code == 201, answer.content
    out = StringIO()
    words = ("three", "--records", "--address", address, "--as", "auditor")
    call_command("view", "save", *words, stdout=out)
    assert "records" in out.getvalue()
    made = view_actions.list_views(cast.actor("auditor"), "records")
    assert [(row.surface, row.address) for row in made] == [("records", ACME)] * 3
    results = browser.get("/api/v1/views/").json()["results"]
    assert [(one["name"], one["surface"]) for one in results] == [
        ("one", "records"),
        ("three", "records"),
        ("two", "records"),
    ]


def test_questions_are_for_those_who_see_the_records(cast: Cast) -> None:
    public = saved(cast, "ours", shared=True)
    for who in ("operator", "manager", "viewer"):
        with pytest.raises(Forbidden, match="auditors and admins"):
            saved(cast, "mine", who=who)
        form = {"name": "mine", "address": ACME, "surface": "records"}
        assert cast.client(who).post("/views/new/", form).status_code == 403
        assert view_actions.list_views(cast.actor(who)) == []
        assert "Of</label>" not in cast.client(who).get("/views/new/").content.decode()
        with pytest.raises(Missing):
            view_actions.one_view(cast.actor(who), public.id)
        with pytest.raises(Missing):
            REMOVE.run(cast.actor(who), Nothing(), public.id)
    with pytest.raises(Missing):
        view_actions.one_view(cast.actor("stranger"), public.id)
    assert CHANGE.run(cast.actor("admin"), ChangeView(name="theirs"), public.id).name


def test_the_board_shows_no_questions_and_the_search_no_boards(cast: Cast) -> None:
    saved(cast, "a question")
    SAVE.run(cast.actor("auditor"), SaveView(name="a board", address="status=failed"))
    assert set(links(cast, "auditor")) == {"a question"}
    board = cast.client("auditor").get("/").content.decode()
    assert "a board" in board
    assert "a question" not in board
    with pytest.raises(Invalid, match="name of another"):
        saved(cast, "a board")


def test_a_wrong_question_is_refused_at_its_word_in_its_form(cast: Cast) -> None:
    browser = cast.client("auditor")
    broken = {
        "paye=ACME": "payee",
        "status=failed": "does not take “status”",
        "step=x": "“step” must be a whole number",
        "since=yesterday": "“since” must be a date",
        "kind=nonsense": "“kind”",
        "payee=a&payee=b": "2 times",
    }
    for address, word in broken.items():
        form = {"name": "n", "address": address, "surface": "records"}
        answer = browser.post("/views/new/", form)
        assert answer.status_code == 422
        html = answer.content.decode()
        (message,) = re.findall(r'id="address-hint">(.*?)</span>', html, re.S)
        assert word in unescape(re.sub("<[^>]*>", "", message)), message
        assert '<option value="records" selected>' in html
    with pytest.raises(Invalid):
        read(SaveView, {"name": "n", "surface": "inbox"})
    row = saved(cast, "a question")
    with pytest.raises(Invalid, match="does not take “status”"):
        CHANGE.run(cast.actor("auditor"), ChangeView(address="status=failed"), row.id)
    assert "save-question" not in browser.get(f"{SEARCH}?step=x").content.decode()


def test_what_a_later_version_does_not_know_is_explained_and_asked_as_it_was(cast: Cast) -> None:
    row = saved(cast, "old")
    rows("UPDATE gp_saved_view SET address = %s WHERE id = %s", ("team=a", row.id))
    assert links(cast, "auditor")["old"][0] == "?team=a"
    answer = cast.client("auditor").get(f"{SEARCH}?team=a")
    assert answer.status_code == 422, "the page explains it and shows nothing"
    (one,) = cast.client("auditor").get("/api/v1/views/").json()["results"]
    assert "does not take “team”" in one["problem"]
    rows("UPDATE gp_saved_view SET surface = 'board' WHERE id = %s", (row.id,))
    assert "surface" in verify_workspace(cast.workspace).what
    # What was altered past the log is of no other test.
    rows("UPDATE gp_saved_view SET address = %s, surface = 'records' WHERE id = %s", (ACME, row.id))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "q=why%3F+100%25&kind=all",
        "payee=M%C3%BCller+%26+Co",
        "since=2026-11-01&until=2026-11-30",
    ],
)
def test_an_address_is_read_as_the_page_reads_it(text: str) -> None:
    assert questions.read_address(text) == text
    for page in ("?", "/admin/search/?"):
        assert questions.read_address(page + text) == text
    assert questions.readable(text) == (text, "")
