"""What pages send: buttons, forms, files and decisions, taken or refused in words."""

from __future__ import annotations

from uuid import UUID

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from approvals import queries as gates
from checkpoints import queries, store
from checkpoints.states import EventKind
from tests.support.cast import Cast
from tests.unit.dashboard import scene
from tests.unit.dashboard.examples import Examples, make_examples


@pytest.fixture
def examples(cast: Cast) -> Examples:
    return make_examples(cast)


def test_buttons_say_what_they_did(examples: Examples) -> None:
    client = examples.cast.client("operator")
    url = f"/threads/{examples.queued}/"
    answer = client.post(f"{url}pause/", follow=True)
    assert answer.redirect_chain == [(url, 303)]
    assert "Paused." in answer.content.decode()
    version = queries.thread(examples.queued, workspace=examples.cast.workspace).version
    answer = client.post(f"{url}resume/", {"version": version, "next": "/?status=queued"})
    assert (answer.status_code, answer["Location"]) == (303, "/?status=queued")
    for elsewhere in ("https://example.org/", "//example.org/x", "javascript:alert(1)"):
        client.post(f"{url}pause/")
        answer = client.post(f"{url}resume/", {"next": elsewhere})
        assert (answer.status_code, answer["Location"]) == (303, url)


def test_a_refused_button_shows_the_thread_and_the_reason(examples: Examples) -> None:
    client = examples.cast.client("operator")
    url = f"/threads/{examples.queued}/"
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
    forbidden = examples.cast.client("auditor").post(f"{url}pause/")
    assert forbidden.status_code == 403
    assert "Needs the role operator." in forbidden.content.decode()
    # Reloading the answer of a refusal leads back to the thread; its polls find the regions.
    assert client.get(f"{url}resume/")["Location"] == url
    polled = client.get(f"{url}resume/", headers={"X-Gatepost-Regions": "thread-head"})
    assert "thread-head" in polled.json()["regions"]
    assert client.post(url).status_code == 400


def test_starting_reads_the_form(examples: Examples) -> None:
    client = examples.cast.client("operator")
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
    row = queries.thread(thread_id, workspace=examples.cast.workspace)
    assert (row.title, row.pause_at) == ("Winter", "publish")
    assert row.started_by == examples.cast.actor("operator").id
    state = queries.state_at(row.id, row.head)
    assert (state["goal"], state["limit"], state["findings"]) == (
        "delays in winter",
        7,
        ["one", "two"],
    )
    assert client.post("/threads/new/", {"agent": "unknown"}).status_code == 404


def test_a_file_goes_from_the_form_into_the_state_and_back_out(examples: Examples) -> None:
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
    client = examples.cast.client("operator")
    table = SimpleUploadedFile("../table <1>.html", b"<script>alert(1)</script>")
    answer = client.post(
        "/threads/new/", {"agent": "reader", "f-goal": "read this", "f-file": table}
    )
    assert answer.status_code == 303, answer.content.decode()
    thread_id = UUID(answer["Location"].split("/")[2])
    row = queries.thread(thread_id, workspace=examples.cast.workspace)
    ref = queries.state_at(row.id, row.head)["file"]
    assert ref["name"] == "table <1>.html"
    page = client.get(f"/threads/{thread_id}/").content.decode()
    assert f"/artifacts/{ref['$artifact']}/" in page
    response = examples.cast.client("auditor").get(f"/artifacts/{ref['$artifact']}/")
    assert b"".join(response.streaming_content) == b"<script>alert(1)</script>"
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert response["Content-Disposition"].startswith('attachment; filename="table _1_.html"')
    assert response["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in response["Content-Security-Policy"]
    inline = client.get(f"/artifacts/{ref['$artifact']}/?inline=1")
    assert inline["Content-Disposition"].startswith("attachment")
    b"".join(inline.streaming_content)
    stranger = examples.cast.client("stranger")
    assert stranger.get(f"/artifacts/{ref['$artifact']}/").status_code == 404


def test_only_real_pictures_are_shown_inline(examples: Examples) -> None:
    client = examples.cast.client("viewer")
    png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1" + bytes(20)
    gif = b"GIF89a\1\0\1\0<script>alert(1)</script>"
    svg = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"
    for name, content, shown, kind in (
        ("chart.png", png, "inline", "image/png"),
        ("chart.gif", gif, "inline", "image/gif"),
        ("a page.html", gif + b" ", "inline", "image/gif"),
        ("half.png", b"\x89PNG\r\n\x1a\n" + bytes(20), "attachment", "image/png"),
        ("fake.png", svg, "attachment", "image/png"),
        ("chart.svg", svg + b" ", "attachment", "text/plain; charset=utf-8"),
        ("report.html", b"<p>", "attachment", "text/plain; charset=utf-8"),
        ("table.csv", b"a,b", "attachment", "text/csv; charset=utf-8"),
    ):
        ref = store.put_artifact(
            examples.cast.workspace, name=name, media_type="image/png", chunks=[content]
        )
        answer = client.get(f"/artifacts/{ref['$artifact']}/?inline=1")
        assert answer["Content-Disposition"].split(";")[0] == shown, name
        assert answer["Content-Type"] == kind, name
        assert "sandbox" in answer["Content-Security-Policy"]
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert b"".join(answer.streaming_content) == content


def test_forking_changes_values(examples: Examples) -> None:
    client = examples.cast.client("manager")
    url = f"/threads/{examples.done}/fork/?checkpoint=1"
    assert 'name="f-goal"' in client.get(url).content.decode()
    refused = client.post(url, {"f-goal": "x", "title": "Mine"})
    assert refused.status_code == 422
    assert "Mine" in refused.content.decode()
    answer = client.post(url, {"f-goal": "weather", "title": "Mine", "effects": "ask"})
    assert answer.status_code == 303, answer.content.decode()
    born = queries.thread(UUID(answer["Location"].split("/")[2]), workspace=examples.cast.workspace)
    assert (born.title, born.base, born.effects) == ("Mine", examples.done, "ask")
    assert queries.state_at(born.id, born.head)["goal"] == "weather"


def test_editing_withdraws_and_is_refused_when_stale(examples: Examples) -> None:
    client = examples.cast.client("operator")
    url = f"/threads/{examples.waiting}/edit/"
    assert "will be withdrawn" in client.get(url).content.decode()
    row = queries.thread(examples.waiting, workspace=examples.cast.workspace)
    for data, status, words in (
        ({"f-goal": "weather", "version": row.version}, 422, "is required"),
        ({"reason": "typo", "version": row.version}, 422, "Change at least one value"),
        ({"f-goal": "x", "reason": "typo", "version": row.version}, 422, "aria-invalid"),
        (
            {"f-goal": "weather", "reason": "typo", "version": 1},
            412,
            "Your text is still here; check it and send it again.",
        ),
    ):
        answer = client.post(url, data)
        assert answer.status_code == status, answer.content.decode()
        assert words in answer.content.decode()
    answer = client.post(url, {"f-goal": "weather", "reason": "typo", "version": row.version})
    assert answer.status_code == 303
    approval = gates.approval(examples.request.id, workspace=examples.cast.workspace)
    assert approval.status == "withdrawn"


def test_rolling_back_shows_the_fate_of_effects_first(examples: Examples) -> None:
    client = examples.cast.client("manager")
    url = f"/threads/{examples.done}/rollback/?checkpoint=0"
    html = client.get(url).content.decode()
    assert "Will be undone" in html
    assert "unpublish" in html
    row = queries.thread(examples.done, workspace=examples.cast.workspace)
    assert client.post(url, {"version": row.version}).status_code == 422
    stale = client.post(url, {"version": 1, "reason": "wrong data"})
    assert stale.status_code == 412
    assert "wrong data" in stale.content.decode()
    assert "Your text is still here" in stale.content.decode()
    assert "reload" not in stale.content.decode().partition("<main")[2]
    answer = client.post(url, {"version": row.version, "reason": "wrong data"})
    assert answer.status_code == 303, answer.content.decode()
    row = queries.thread(examples.done, workspace=examples.cast.workspace)
    assert row.status == "rolling_back"
    assert client.get(url).status_code == 409


def test_what_cannot_be_undone_must_be_known(examples: Examples) -> None:
    work = scene.lease(scene.start(examples.cast.workspace, examples.agent))
    scene.effect(work, undo="")
    scene.step(work, report="sent", leave_by=EventKind.THREAD_SUCCEEDED)
    client = examples.cast.client("manager")
    url = f"/threads/{work.thread}/rollback/"
    assert "can’t be undone" in client.get(url).content.decode()
    assert client.post(url, {"reason": "wrong"}).status_code == 422
    assert client.post(url, {"reason": "wrong", "known": "1"}).status_code == 303


def test_a_decision_is_a_post_with_the_hash_that_was_seen(examples: Examples) -> None:
    client = examples.cast.client("manager")
    page, url = f"/approvals/{examples.request.id}/", f"/approvals/{examples.request.id}/decide/"
    assert client.get(url)["Location"] == page
    assert client.get(f"{page}?verdict=approve").status_code == 422
    seen = {"proposal_hash": examples.request.proposal_hash}
    assert client.post(url, {"verdict": "approve"}).status_code == 422
    changed = client.post(url, {"verdict": "approve", "proposal_hash": "0" * 64})
    assert changed.status_code == 409
    assert "changed since you opened it" in changed.content.decode()
    unexplained = client.post(url, seen | {"verdict": "reject"})
    assert unexplained.status_code == 422
    assert "Give a reason" in unexplained.content.decode()
    forbidden = examples.cast.client("operator").post(url, seen | {"verdict": "approve"})
    assert forbidden.status_code == 403
    assert gates.approval(examples.request.id, workspace=examples.cast.workspace).open
    answer = client.post(url, seen | {"verdict": "approve", "comment": "fine"}, follow=True)
    assert answer.redirect_chain == [(page, 303)]
    assert "Approved" in answer.content.decode()
    late = examples.cast.client("second_manager").post(url, seen | {"verdict": "approve"})
    html = late.content.decode()
    assert late.status_code == 409
    assert "manager approved this at" in html
    assert "fine" in html


def test_answers_are_read_by_the_question_s_schema(examples: Examples) -> None:
    client = examples.cast.client("manager")
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
            examples.cast.workspace,
            examples.agent,
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
        decided = gates.approval(row.id, workspace=examples.cast.workspace)
        assert (decided.outcome, decided.decided_args) == ("respond", expected)
