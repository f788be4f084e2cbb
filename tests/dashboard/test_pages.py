"""Every page for every member of the cast: what it answers, holds and costs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from approvals import queries as gates
from approvals.queries import ApprovalRow
from checkpoints import queries, store
from checkpoints.states import EventKind
from tests.cast import Cast
from tests.dashboard import scene

MEMBERS = ("operator", "manager", "auditor", "viewer", "admin")
INLINE = re.compile(
    r"<style\b|<script\b(?![^>]*\bsrc=)|\son[a-z]+\s*=\s*[\"']|\sstyle\s*=|javascript:",
    re.IGNORECASE,
)
# Statements of one page: login and user 2, roles 1, open requests of the frame 1, and its own.
FRAME = 4


@dataclass(frozen=True)
class Scene:
    """A workspace with one thread of each interesting kind."""

    cast: Cast
    agent: UUID
    queued: UUID
    done: UUID
    failed: UUID
    request: ApprovalRow
    fork: UUID

    @property
    def waiting(self) -> UUID:
        return self.request.thread


@pytest.fixture
def place(cast: Cast) -> Scene:
    """Threads that are queued, waiting, failed, done and forked, made without an engine."""
    agent = scene.make_agent()
    scene.alive(agent)
    start = lambda: scene.start(cast.workspace, agent, by=cast.actor("operator").id)  # noqa: E731
    queued = start()
    work = scene.lease(start())
    scene.step(work, report="draft")
    scene.effect(work)
    scene.step(work, report="final", leave_by=EventKind.THREAD_SUCCEEDED)
    broken = scene.lease(start())
    store.leave(broken, EventKind.THREAD_FAILED, reason="The column “delay” is missing")
    request = scene.waiting(cast.workspace, agent)
    forked = store.fork(
        work.thread,
        checkpoint=queries.checkpoint_by_number(work.thread, 1).id,
        changes={"goal": "weather"},
        actor=cast.actor("manager").id,
    )
    return Scene(cast, agent, queued, work.thread, broken.thread, request, forked)


def pages(place: Scene) -> dict[str, tuple[str, int]]:
    """{name: (path, most statements of its own)} of all pages that everybody may read."""
    return {
        "board": ("/", 8),
        "board by status": ("/?status=waiting,failed", 8),
        "board by words": ("/?q=delays", 8),
        "board of an agent": ("/?agent=research", 8),
        "thread, waiting": (f"/threads/{place.waiting}/", 15),
        "thread, done": (f"/threads/{place.done}/", 15),
        "thread, queued": (f"/threads/{place.queued}/", 15),
        "thread, failed": (f"/threads/{place.failed}/", 15),
        "thread, forked": (f"/threads/{place.fork}/", 18),
        "thread, past": (f"/threads/{place.done}/?cp=1", 15),
        "thread, whole state": (f"/threads/{place.done}/?tab=state", 15),
        "thread, some events": (f"/threads/{place.done}/?kind=checkpoint", 15),
        "thread, one event": (f"/threads/{place.done}/?event=2", 15),
        "approvals": ("/approvals/", 3),
        "approvals, decided": ("/approvals/?box=decided", 3),
        "approval": (f"/approvals/{place.request.id}/", 8),
    }


def fetch(client: Client, path: str, most: int) -> Any:
    """GET with a bound on the statements."""
    with CaptureQueriesContext(connection) as caught:
        answer = client.get(path)
    statements = [query["sql"] for query in caught.captured_queries]
    assert len(statements) <= most + FRAME, "\n".join(statements)
    return answer


@pytest.mark.parametrize("name", MEMBERS)
def test_everybody_with_a_role_reads_every_page(place: Scene, name: str) -> None:
    client = place.cast.client(name)
    for what, (path, most) in pages(place).items():
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
def test_forms_are_for_those_who_may(place: Scene, name: str) -> None:
    client = place.cast.client(name)
    allowed = {"operator": {"new", "fork", "rollback", "edit"}, "manager": {"fork", "rollback"}}
    forms = {
        "new": "/threads/new/",
        "fork": f"/threads/{place.done}/fork/?checkpoint=1",
        "rollback": f"/threads/{place.done}/rollback/?checkpoint=1",
        "edit": f"/threads/{place.waiting}/edit/",
    }
    for what, path in forms.items():
        answer = client.get(path)
        expected = 200 if what in allowed.get(name, set()) else 403
        assert answer.status_code == expected, (what, answer.content.decode())
        assert not INLINE.search(answer.content.decode()), what


def test_strangers_find_nothing(place: Scene) -> None:
    client = place.cast.client("stranger")
    for path in (
        f"/threads/{place.waiting}/",
        f"/threads/{place.waiting}/fork/",
        f"/threads/{place.waiting}/rollback/",
        f"/threads/{place.waiting}/edit/",
        f"/approvals/{place.request.id}/",
        f"/threads/{uuid4()}/",
        f"/artifacts/{'0' * 64}/",
    ):
        assert client.get(path).status_code == 404, path
    for verb in ("pause", "resume", "retry", "cancel"):
        assert client.post(f"/threads/{place.waiting}/{verb}/").status_code == 404, verb
    board = client.get("/").content.decode()
    assert "Delays" not in board
    assert "No thread yet" in board
    inbox = client.get("/approvals/").content.decode()
    assert "Publish this report?" not in inbox


def test_without_a_role_there_is_a_page_that_says_so(place: Scene) -> None:
    answer = place.cast.client("nobody").get("/")
    assert answer.status_code == 403
    assert "not a member of any workspace" in answer.content.decode()


def test_anonymous_people_are_sent_to_the_door(place: Scene) -> None:
    client = Client()
    for path, _ in pages(place).values():
        answer = client.get(path)
        assert answer.status_code == 302, path
        assert answer["Location"].startswith("/login/?next="), path
    polled = client.get("/", headers={"X-Gatepost-Regions": "board-lanes"})
    assert polled.status_code == 302


def test_bad_addresses_are_refused_in_words(place: Scene) -> None:
    client = place.cast.client("operator")
    for path, status in {
        "/?status=burning": 422,
        "/?after=nonsense&status=failed": 422,
        "/approvals/?after=nonsense": 400,
        f"/threads/{place.done}/?cp=99": 404,
        f"/threads/{place.done}/?cp=nonsense": 404,
        f"/threads/{place.done}/?cp={uuid4()}": 404,
        f"/threads/{place.done}/fork/?checkpoint=nonsense": 404,
        f"/threads/{place.queued}/rollback/": 409,
        f"/threads/{place.done}/edit/": 409,
        f"/threads/{place.done}/?kind=%00&before=99999999999999999999&event=x": 200,
        "/?q=%00%25_\\": 200,
    }.items():
        answer = client.get(path)
        assert answer.status_code == status, (path, answer.content.decode())


def test_buttons_say_what_they_did(place: Scene) -> None:
    client = place.cast.client("operator")
    url = f"/threads/{place.queued}/"
    answer = client.post(f"{url}pause/", follow=True)
    assert answer.redirect_chain == [(url, 303)]
    assert "Paused." in answer.content.decode()
    version = queries.thread(place.queued, workspace=place.cast.workspace).version
    answer = client.post(f"{url}resume/", {"version": version, "next": "/?status=queued"})
    assert (answer.status_code, answer["Location"]) == (303, "/?status=queued")
    for elsewhere in ("https://example.org/", "//example.org/x", "javascript:alert(1)"):
        client.post(f"{url}pause/")
        answer = client.post(f"{url}resume/", {"next": elsewhere})
        assert (answer.status_code, answer["Location"]) == (303, url)


def test_a_refused_button_shows_the_thread_and_the_reason(place: Scene) -> None:
    client = place.cast.client("operator")
    url = f"/threads/{place.queued}/"
    for data, status, words in (
        ({"version": "1000"}, 412, "reload and retry"),
        ({"version": "no"}, 400, "not a number"),
        ({}, 409, "not possible while the thread is queued"),
    ):
        answer = client.post(f"{url}resume/", data)
        html = answer.content.decode()
        assert answer.status_code == status
        assert words in html
        assert 'id="thread-head"' in html
    forbidden = place.cast.client("auditor").post(f"{url}pause/")
    assert forbidden.status_code == 403
    assert "Needs the role operator." in forbidden.content.decode()
    # Reloading the answer of a refusal leads back to the thread; its polls find the regions.
    assert client.get(f"{url}resume/")["Location"] == url
    polled = client.get(f"{url}resume/", headers={"X-Gatepost-Regions": "thread-head"})
    assert "thread-head" in polled.json()["regions"]
    assert client.post(url).status_code == 400


def test_starting_reads_the_form(place: Scene) -> None:
    client = place.cast.client("operator")
    form = client.get("/threads/new/?agent=research").content.decode()
    assert form.index('name="f-goal"') < form.index('name="f-limit"')
    short = client.post("/threads/new/", {"agent": "research", "f-goal": "x", "f-limit": "7"})
    assert short.status_code == 422
    assert 'aria-invalid="true"' in short.content.decode()
    assert 'value="7"' in short.content.decode()
    answer = client.post(
        "/threads/new/",
        {
            "agent": "research",
            "f-goal": "delays in winter",
            "f-limit": "7",
            "f-findings": "one\r\ntwo",
            "title": "Winter",
            "pause_at": "publish",
        },
    )
    assert answer.status_code == 303, answer.content.decode()
    thread_id = UUID(answer["Location"].split("/")[2])
    row = queries.thread(thread_id, workspace=place.cast.workspace)
    assert (row.title, row.pause_at) == ("Winter", "publish")
    assert row.started_by == place.cast.actor("operator").id
    state = queries.state_at(row.id, row.head)
    assert (state["goal"], state["limit"], state["findings"]) == (
        "delays in winter",
        7,
        ["one", "two"],
    )
    assert client.post("/threads/new/", {"agent": "unknown"}).status_code == 404


def test_a_file_goes_from_the_form_into_the_state_and_back_out(place: Scene) -> None:
    schema = scene.SCHEMA | {
        "properties": scene.SCHEMA["properties"]
        | {
            "file": {
                "anyOf": [{"type": "object"}, {"type": "null"}],
                "default": None,
                "x-gatepost": "artifact",
            }
        }
    }
    store.announce_version(
        agent="reader",
        version=1,
        fingerprint="f" * 64,
        label="Reader",
        description="",
        schema_version=1,
        schema=schema,
        channels=scene.CHANNELS,
        graph=scene.GRAPH,
        tools={},
        queue="gatepost",
    )
    client = place.cast.client("operator")
    table = SimpleUploadedFile("../table <1>.html", b"<script>alert(1)</script>")
    answer = client.post(
        "/threads/new/", {"agent": "reader", "f-goal": "read this", "f-file": table}
    )
    assert answer.status_code == 303, answer.content.decode()
    thread_id = UUID(answer["Location"].split("/")[2])
    row = queries.thread(thread_id, workspace=place.cast.workspace)
    ref = queries.state_at(row.id, row.head)["file"]
    assert ref["name"] == "table <1>.html"
    page = client.get(f"/threads/{thread_id}/").content.decode()
    assert f"/artifacts/{ref['$artifact']}/" in page
    kept = place.cast.client("auditor").get(f"/artifacts/{ref['$artifact']}/")
    assert b"".join(kept.streaming_content) == b"<script>alert(1)</script>"
    assert kept["Content-Type"] == "text/plain; charset=utf-8"
    assert kept["Content-Disposition"].startswith('attachment; filename="table _1_.html"')
    assert kept["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in kept["Content-Security-Policy"]
    inline = client.get(f"/artifacts/{ref['$artifact']}/?inline=1")
    assert inline["Content-Disposition"].startswith("attachment")
    b"".join(inline.streaming_content)
    stranger = place.cast.client("stranger")
    assert stranger.get(f"/artifacts/{ref['$artifact']}/").status_code == 404


def test_only_real_pngs_are_shown_inline(place: Scene) -> None:
    client = place.cast.client("viewer")
    png = b"\x89PNG\r\n\x1a\n" + bytes(20)
    svg = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"
    for name, content, shown, kind in (
        ("chart.png", png, "inline", "image/png"),
        ("fake.png", svg, "attachment", "image/png"),
        ("chart.svg", svg + b" ", "attachment", "text/plain; charset=utf-8"),
        ("report.html", b"<p>", "attachment", "text/plain; charset=utf-8"),
        ("table.csv", b"a,b", "attachment", "text/csv; charset=utf-8"),
    ):
        ref = store.put_artifact(
            place.cast.workspace, name=name, media_type="image/png", chunks=[content]
        )
        answer = client.get(f"/artifacts/{ref['$artifact']}/?inline=1")
        assert answer["Content-Disposition"].split(";")[0] == shown, name
        assert answer["Content-Type"] == kind, name
        assert b"".join(answer.streaming_content) == content


def test_forking_changes_values(place: Scene) -> None:
    client = place.cast.client("manager")
    url = f"/threads/{place.done}/fork/?checkpoint=1"
    assert 'name="f-goal"' in client.get(url).content.decode()
    refused = client.post(url, {"f-goal": "x", "title": "Mine"})
    assert refused.status_code == 422
    assert "Mine" in refused.content.decode()
    answer = client.post(url, {"f-goal": "weather", "title": "Mine", "effects": "ask"})
    assert answer.status_code == 303, answer.content.decode()
    born = queries.thread(UUID(answer["Location"].split("/")[2]), workspace=place.cast.workspace)
    assert (born.title, born.base, born.effects) == ("Mine", place.done, "ask")
    assert queries.state_at(born.id, born.head)["goal"] == "weather"


def test_editing_withdraws_and_is_refused_when_stale(place: Scene) -> None:
    client = place.cast.client("operator")
    url = f"/threads/{place.waiting}/edit/"
    assert "will be withdrawn" in client.get(url).content.decode()
    row = queries.thread(place.waiting, workspace=place.cast.workspace)
    for data, status, words in (
        ({"f-goal": "weather", "version": row.version}, 422, "is required"),
        ({"reason": "typo", "version": row.version}, 422, "Change at least one value"),
        ({"f-goal": "x", "reason": "typo", "version": row.version}, 422, "aria-invalid"),
        ({"f-goal": "weather", "reason": "typo", "version": 1}, 412, "reload and retry"),
    ):
        answer = client.post(url, data)
        assert answer.status_code == status, answer.content.decode()
        assert words in answer.content.decode()
    answer = client.post(url, {"f-goal": "weather", "reason": "typo", "version": row.version})
    assert answer.status_code == 303
    assert gates.approval(place.request.id, workspace=place.cast.workspace).status == "withdrawn"


def test_rolling_back_shows_the_fate_of_effects_first(place: Scene) -> None:
    client = place.cast.client("manager")
    url = f"/threads/{place.done}/rollback/?checkpoint=0"
    html = client.get(url).content.decode()
    assert "Will be undone" in html
    assert "unpublish" in html
    row = queries.thread(place.done, workspace=place.cast.workspace)
    assert client.post(url, {"version": row.version}).status_code == 422
    stale = client.post(url, {"version": 1, "reason": "wrong data"})
    assert stale.status_code == 412
    assert "wrong data" in stale.content.decode()
    answer = client.post(url, {"version": row.version, "reason": "wrong data"})
    assert answer.status_code == 303, answer.content.decode()
    row = queries.thread(place.done, workspace=place.cast.workspace)
    assert row.status == "rolling_back"
    assert client.get(url).status_code == 409


def test_what_cannot_be_undone_must_be_known(place: Scene) -> None:
    work = scene.lease(scene.start(place.cast.workspace, place.agent))
    scene.effect(work, undo="")
    scene.step(work, report="sent", leave_by=EventKind.THREAD_SUCCEEDED)
    client = place.cast.client("manager")
    url = f"/threads/{work.thread}/rollback/"
    assert "cannot be taken back" in client.get(url).content.decode()
    assert client.post(url, {"reason": "wrong"}).status_code == 422
    assert client.post(url, {"reason": "wrong", "known": "1"}).status_code == 303


def test_a_decision_is_a_post_with_the_hash_that_was_seen(place: Scene) -> None:
    client = place.cast.client("manager")
    page, url = f"/approvals/{place.request.id}/", f"/approvals/{place.request.id}/decide/"
    assert client.get(url)["Location"] == page
    assert client.get(f"{page}?verdict=approve").status_code == 200
    seen = {"proposal_hash": place.request.proposal_hash}
    assert client.post(url, {"verdict": "approve"}).status_code == 422
    changed = client.post(url, {"verdict": "approve", "proposal_hash": "0" * 64})
    assert changed.status_code == 409
    assert "changed since you opened it" in changed.content.decode()
    unexplained = client.post(url, seen | {"verdict": "reject"})
    assert unexplained.status_code == 422
    assert "say why" in unexplained.content.decode()
    forbidden = place.cast.client("operator").post(url, seen | {"verdict": "approve"})
    assert forbidden.status_code == 403
    assert gates.approval(place.request.id, workspace=place.cast.workspace).open
    answer = client.post(url, seen | {"verdict": "approve", "comment": "fine"}, follow=True)
    assert answer.redirect_chain == [(page, 303)]
    assert "Approved" in answer.content.decode()
    late = place.cast.client("second_manager").post(url, seen | {"verdict": "approve"})
    html = late.content.decode()
    assert late.status_code == 409
    assert "manager has decided this request already: approve." in html
    assert "fine" in html


def test_answers_are_read_by_the_question_s_schema(place: Scene) -> None:
    client = place.cast.client("manager")
    form = {
        "type": "object",
        "properties": {"size": {"type": "integer", "minimum": 1}},
        "required": ["size"],
    }
    for schema, good, bad, expected in (
        (None, {"answer": "the blue one"}, {"answer": " "}, "the blue one"),
        ({"type": "integer"}, {"answer": "12"}, {"answer": "many"}, 12),
        (form, {"f-size": "3"}, {"f-size": "0"}, {"size": 3}),
    ):
        row = scene.waiting(
            place.cast.workspace,
            place.agent,
            kind="question",
            tool="",
            args={"prompt": "Which?"},
            title="Which?",
            schema=schema,
        )
        url = f"/approvals/{row.id}/decide/"
        seen = {"proposal_hash": row.proposal_hash, "verdict": "respond"}
        assert client.post(url, seen | bad).status_code == 422
        answer = client.post(url, seen | good)
        assert answer.status_code == 303, answer.content.decode()
        decided = gates.approval(row.id, workspace=place.cast.workspace)
        assert (decided.outcome, decided.decided_args) == ("respond", expected)


def test_published_files_are_those_of_the_thread(
    place: Scene, settings: Any, tmp_path: Any
) -> None:
    settings.GATEPOST_PUBLISHED = tmp_path
    (tmp_path / "winter").mkdir()
    (tmp_path / "winter" / "report.html").write_text("<h1>Winter</h1>")
    (tmp_path / "winter" / "other.txt").write_text("not listed")
    work = scene.lease(scene.start(place.cast.workspace, place.agent))
    result = {"slug": "winter", "files": [{"name": "report.html"}, {"name": "../secret"}]}
    scene.effect(work, result=result)
    client = place.cast.client("viewer")
    base = f"/threads/{work.thread}/published/winter"
    answer = client.get(f"{base}/report.html")
    assert b"".join(answer.streaming_content) == b"<h1>Winter</h1>"
    assert answer["Content-Disposition"].startswith("attachment")
    assert client.get(f"{base}/other.txt").status_code == 404
    assert client.get(f"/threads/{place.done}/published/winter/report.html").status_code == 404
    assert f"{base}/report.html" in client.get(f"/threads/{work.thread}/").content.decode()
    (tmp_path / "winter" / "report.html").unlink()
    assert client.get(f"{base}/report.html").status_code == 404


def test_agents_text_stays_text(place: Scene) -> None:
    nasty = "<img src=x onerror=alert(1)>\u202e"
    work = scene.lease(scene.start(place.cast.workspace, place.agent, goal=nasty))
    row = scene.gate(work, title=nasty, description=nasty, reasons=(nasty,), args={"x": nasty})
    client = place.cast.client("manager")
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


def test_the_board_stays_small_however_many_threads(place: Scene) -> None:
    for _ in range(60):
        scene.start(place.cast.workspace, place.agent)
    client = place.cast.client("operator")
    html = client.get("/").content.decode()
    assert len(html.encode()) < 60_000
    assert 'data-count="queued">62<' in html
    first = client.get("/?status=queued").content.decode()
    found = re.findall(r'href="[^"]*after=([^"&]+)', first)
    assert len(found) == 1
    second = client.get(f"/?status=queued&after={found[0]}").content.decode()
    row = re.compile(r'<tr id="thread-([^"]+)"')
    assert len(row.findall(first)) == 50
    assert len(set(row.findall(first)) | set(row.findall(second))) == 62


def test_a_one_time_link_works_once(place: Scene) -> None:
    from dashboard.embedded.demo import login_path

    path = login_path("operator")
    first, second = Client(), Client()
    assert first.head(path).status_code == 405  # a preview of the link does not use it up
    answer = first.get(path)
    assert (answer.status_code, answer["Location"]) == (303, "/")
    assert first.get("/").status_code == 200
    used = second.get(path)
    assert used.status_code == 403
    assert "no longer works" in used.content.decode()
    assert second.get("/").status_code == 302
    assert second.get("/welcome/").status_code == 403


def test_signing_in_and_out(place: Scene) -> None:
    client = Client()
    wrong = client.post("/login/", {"username": "operator", "password": "wrong"})
    assert wrong.status_code == 401
    right = {"username": "operator", "password": "operator-password"}
    answer = client.post("/login/?next=/approvals/", right)
    assert answer["Location"] == "/approvals/"
    assert client.get("/logout/").status_code == 405
    assert client.post("/logout/").status_code == 302
    assert client.get("/").status_code == 302


def test_forms_need_the_token(place: Scene) -> None:
    client = place.cast.client("operator", enforce_csrf_checks=True)
    assert client.post(f"/threads/{place.queued}/pause/").status_code == 403
    assert queries.thread(place.queued, workspace=place.cast.workspace).status == "queued"


def test_unknown_addresses_get_our_page(place: Scene) -> None:
    answer = place.cast.client("viewer").get("/nothing/here/")
    assert answer.status_code == 404
    assert "There is nothing here" in answer.content.decode()
    assert not INLINE.search(answer.content.decode())
