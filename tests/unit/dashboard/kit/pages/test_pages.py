"""Every page for every member of the cast: what it answers, holds and costs."""

from __future__ import annotations

import re
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from checkpoints import queries
from dashboard.board.board import LIST_ROWS
from tests.support.cast import Cast
from tests.unit.dashboard import scene
from tests.unit.dashboard.examples import Examples, make_examples

MEMBERS = ("operator", "manager", "auditor", "viewer", "admin")
INLINE = re.compile(
    r"<style\b|<script\b(?![^>]*\bsrc=)|\son[a-z]+\s*=\s*[\"']|\sstyle\s*=|javascript:",
    re.IGNORECASE,
)
# Statements of one page: login and user 2, roles 1, open requests and queued threads without a
# worker of the frame 2, and its own.
FRAME = 5


@pytest.fixture
def examples(cast: Cast) -> Examples:
    return make_examples(cast)


def pages(examples: Examples) -> dict[str, tuple[str, int]]:
    """{name: (path, most statements of its own)} of all pages that everybody may read."""
    return {
        # Beside threads: open incidents, and the person's views (their counts where there are any).
        "board": ("/", 11),
        "board by status": ("/?status=waiting,failed", 11),
        # Counters and lanes each learn first whether few threads have the word.
        "board by words": ("/?q=delays", 14),
        "board of an agent": ("/?agent=research", 11),
        "thread, waiting": (f"/threads/{examples.waiting}/", 15),
        "thread, done": (f"/threads/{examples.done}/", 15),
        "thread, queued": (f"/threads/{examples.queued}/", 15),
        "thread, failed": (f"/threads/{examples.failed}/", 15),
        "thread, forked": (f"/threads/{examples.fork}/", 18),
        # Beside what the head's page reads: the checkpoint and the branches that lead to it.
        "thread, past": (f"/threads/{examples.done}/?cp=1", 17),
        "thread, whole state": (f"/threads/{examples.done}/?tab=state", 15),
        "thread, some events": (f"/threads/{examples.done}/?kind=checkpoint", 15),
        "thread, one event": (f"/threads/{examples.done}/?event=2", 15),
        # With those in whose place the reader may act.
        "approvals": ("/approvals/", 8),
        "approvals, mine": ("/approvals/?box=mine&sort=deadline", 8),
        "approvals, decided": ("/approvals/?box=decided", 8),
        "reviewers": ("/approvals/reviewers/", 3),
        # Five of them are for receipts: where each value of the proposal comes from.
        "approval": (f"/approvals/{examples.request.id}/", 18),
    }


def fetch(client: Client, path: str, most: int) -> Any:
    """GET with a bound on the statements."""
    with CaptureQueriesContext(connection) as caught:
        answer = client.get(path)
    statements = [query["sql"] for query in caught.captured_queries]
    assert len(statements) <= most + FRAME, (path, len(statements), statements)
    return answer


@pytest.mark.nightly
@pytest.mark.parametrize("name", MEMBERS)
def test_everybody_with_a_role_reads_every_page(examples: Examples, name: str) -> None:
    client = examples.cast.client(name)
    for what, (path, most) in pages(examples).items():
        answer = fetch(client, path, most)
        html = answer.content.decode()
        assert answer.status_code == 200, (what, html)
        assert not INLINE.search(html), (what, INLINE.search(html))
        assert answer["Cache-Control"] == "no-store", what
        policy = answer["Content-Security-Policy"]
        for part in ("script-src 'self';", "style-src 'self';"):
            assert part in policy, policy
        assert "unsafe" not in policy, policy
        assert len(answer.content) < 60_000, what


@pytest.mark.parametrize("name", MEMBERS)
def test_forms_are_for_those_who_may(examples: Examples, name: str) -> None:
    client = examples.cast.client(name)
    allowed = {"operator": {"new", "fork", "rollback", "edit"}, "manager": {"fork", "rollback"}}
    forms = {
        "new": "/threads/new/",
        "fork": f"/threads/{examples.done}/fork/?checkpoint=1",
        "rollback": f"/threads/{examples.done}/rollback/?checkpoint=1",
        "edit": f"/threads/{examples.waiting}/edit/",
    }
    for what, path in forms.items():
        answer = client.get(path)
        expected = 200 if what in allowed.get(name, set()) else 403
        assert answer.status_code == expected, (what, answer.content.decode())
        assert not INLINE.search(answer.content.decode()), what


def test_strangers_find_nothing(examples: Examples) -> None:
    client = examples.cast.client("stranger")
    for path in (
        f"/threads/{examples.waiting}/",
        f"/threads/{examples.waiting}/fork/",
        f"/threads/{examples.waiting}/rollback/",
        f"/threads/{examples.waiting}/edit/",
        f"/approvals/{examples.request.id}/",
        f"/threads/{uuid4()}/",
        f"/artifacts/{'0' * 64}/",
    ):
        assert client.get(path).status_code == 404, path
    for verb in ("pause", "resume", "retry", "cancel"):
        assert client.post(f"/threads/{examples.waiting}/{verb}/").status_code == 404, verb
    board = client.get("/").content.decode()
    assert "Delays" not in board
    assert "No thread yet" in board
    inbox = client.get("/approvals/").content.decode()
    assert "Publish this report?" not in inbox


def test_without_a_role_there_is_a_page_that_says_so(examples: Examples) -> None:
    answer = examples.cast.client("nobody").get("/")
    assert answer.status_code == 403
    assert "not a member of any workspace" in answer.content.decode()


def test_anonymous_people_are_sent_to_the_sign_in_page(examples: Examples) -> None:
    client = Client()
    for path, _ in pages(examples).values():
        answer = client.get(path)
        assert answer.status_code == 302, path
        assert answer["Location"].startswith("/login/?next="), path
    polled = client.get("/", headers={"X-Gatepost-Regions": "board-lanes"})
    assert polled.status_code == 302


def test_bad_addresses_are_refused_in_words(examples: Examples) -> None:
    client = examples.cast.client("operator")
    for path, status in {
        "/?status=burning": 422,
        "/?after=nonsense&status=failed": 422,
        "/approvals/?cursor=nonsense": 422,
        f"/approvals/?cursor=.{uuid4()}": 200,
        "/approvals/?box=nonsense&sort=%00&alike=x": 422,
        "/approvals/?q=%00%25_\\": 422,
        "/approvals/?q=%25_\\": 200,
        f"/threads/{examples.done}/?cp=99": 404,
        f"/threads/{examples.done}/?cp=nonsense": 422,
        f"/threads/{examples.done}/?cp={uuid4()}": 404,
        f"/threads/{examples.done}/fork/?checkpoint=nonsense": 422,
        f"/threads/{examples.queued}/rollback/": 409,
        f"/threads/{examples.done}/edit/": 409,
        f"/threads/{examples.done}/?kind=%00&before=99999999999999999999&event=x": 422,
        "/?q=%25_\\": 200,
    }.items():
        answer = client.get(path)
        assert answer.status_code == status, (path, answer.content.decode())


def test_published_files_are_those_of_the_thread(
    examples: Examples, settings: Any, tmp_path: Any
) -> None:
    settings.GATEPOST_PUBLISHED = tmp_path
    work = scene.lease(scene.start(examples.cast.workspace, examples.agent))
    result = {"slug": "winter", "files": [{"name": "report.html"}, {"name": "../secret"}]}
    effect = scene.effect(work, result=result)
    winter = tmp_path / str(examples.cast.workspace) / "winter"
    scene.report(winter, effect, {"report.html": "<h1>Winter</h1>", "other.txt": "not listed"})
    client = examples.cast.client("viewer")
    base = f"/threads/{work.thread}/published/winter"
    answer = client.get(f"{base}/report.html")
    assert b"".join(answer.streaming_content) == b"<h1>Winter</h1>"
    assert answer["Content-Disposition"].startswith("attachment")
    assert client.get(f"{base}/other.txt").status_code == 404
    assert client.get(f"/threads/{examples.done}/published/winter/report.html").status_code == 404
    assert f"{base}/report.html" in client.get(f"/threads/{work.thread}/").content.decode()
    (winter / "report.html").unlink()
    assert client.get(f"{base}/report.html").status_code == 404


def test_agents_text_stays_text(examples: Examples) -> None:
    nasty = "<img src=x onerror=alert(1)>\u202e"
    work = scene.lease(scene.start(examples.cast.workspace, examples.agent, goal=nasty))
    row = scene.gate(work, title=nasty, description=nasty, reasons=(nasty,), args={"x": nasty})
    client = examples.cast.client("manager")
    for path in (
        "/",
        "/approvals/",
        f"/approvals/{row.id}/",
        f"/threads/{work.thread}/",
        f"/threads/{work.thread}/?tab=state",
        f"/threads/{work.thread}/fork/",
    ):
        html = client.get(path).content.decode()
        assert "<img src=x" not in html, path
    assert "\u202e" not in client.get(f"/approvals/{row.id}/").content.decode()


@pytest.mark.rubric(4)
def test_the_board_stays_small_however_many_threads(examples: Examples) -> None:
    for _ in range(60):
        scene.start(examples.cast.workspace, examples.agent)
    client = examples.cast.client("operator")
    html = client.get("/").content.decode()
    assert len(html.encode()) < 60_000
    assert 'data-count="queued">62<' in html
    first = client.get("/?status=queued").content.decode()
    matches = re.findall(r'href="[^"]*after=([^"&]+)', first)
    assert len(matches) == 1
    second = client.get(f"/?status=queued&after={matches[0]}").content.decode()
    row = re.compile(r'<tr id="thread-([^"]+)"')
    assert len(row.findall(first)) == LIST_ROWS
    assert len(set(row.findall(first)) | set(row.findall(second))) == 62


def test_a_one_time_link_works_once(examples: Examples) -> None:
    from dashboard.operate.demo.demo import login_path

    path = login_path("operator")
    first, second = Client(), Client()
    assert first.head(path).status_code == 405  # a preview of the link does not use it up
    assert first.get(path).status_code == 200
    assert first.get("/").status_code == 302, "looking at it signs nobody in"
    token = {"sesame": path.partition("sesame=")[2]}
    answer = first.post("/welcome/", token)
    assert (answer.status_code, answer["Location"]) == (303, "/")
    assert first.get("/").status_code == 200
    assert second.post("/welcome/", token).status_code == 403
    used = second.get(path)
    assert used.status_code == 403
    assert "no longer works" in used.content.decode()
    assert second.get("/").status_code == 302
    assert second.get("/welcome/").status_code == 403


def test_signing_in_and_out(examples: Examples) -> None:
    client = Client()
    wrong = client.post("/login/", {"username": "operator", "password": "wrong"})
    assert wrong.status_code == 401
    right = {"username": "operator", "password": "operator-password"}
    answer = client.post("/login/?next=/approvals/", right)
    assert answer["Location"] == "/approvals/"
    assert client.get("/logout/").status_code == 405
    assert client.post("/logout/").status_code == 302
    assert client.get("/").status_code == 302


def test_forms_need_the_token(examples: Examples) -> None:
    client = examples.cast.client("operator", enforce_csrf_checks=True)
    assert client.post(f"/threads/{examples.queued}/pause/").status_code == 403
    assert queries.thread(examples.queued, workspace=examples.cast.workspace).status == "queued"


def test_unknown_addresses_get_our_page(examples: Examples) -> None:
    answer = examples.cast.client("viewer").get("/nothing/here/")
    assert answer.status_code == 404
    assert "Page not found" in answer.content.decode()
    assert not INLINE.search(answer.content.decode())
