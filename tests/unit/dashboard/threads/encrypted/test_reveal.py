"""Reading encrypted channels: page, call and command, by the roles that the agent names."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from approvals.verification.proof import workspace_report
from checkpoints import queries
from dashboard.errors import Conflict, Forbidden, Missing
from dashboard.identity import tokens
from dashboard.threads.reveal import reveal
from tests.contract.secrets import grep
from tests.contract.written import taken_back
from tests.support.cast import Cast
from tests.unit.dashboard.carried import run
from tests.unit.workers.conftest import Bench
from tests.unit.workers.encrypted.agent import WORD

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("G09")]
MEMBERS = ("operator", "manager", "auditor", "viewer", "admin")


def readings(cast: Cast) -> list[tuple[str, dict[str, Any]]]:
    rows = queries.workspace_events(cast.workspace, limit=100).rows
    return [(e.actor, e.data) for e in rows if e.kind == "channel.revealed"]


def call(cast: Cast, who: str, thread: UUID, **body: Any) -> Any:
    return cast.client(who).post(
        f"/api/v1/threads/{thread}/reveal/", json.dumps(body), content_type="application/json"
    )


@pytest.mark.slow
def test_only_the_roles_of_the_channel_read_it(cast: Cast, thread: UUID) -> None:
    roles = {"diagnosis": {"auditor", "admin"}, "findings": {"auditor"}}
    for channel, readers in roles.items():
        for who in MEMBERS:
            before = len(readings(cast))
            answer = call(cast, who, thread, channel=channel)
            page = cast.client(who).post(f"/threads/{thread}/reveal/", {"channel": channel})
            code, output, _ = run("threads", "reveal", str(thread), channel, "--as", who)
            if who in readers:
                assert (answer.status_code, page.status_code, code) == (200, 200, 0)
                value = answer.json()["value"]
                assert value == (WORD if channel == "diagnosis" else {"of": WORD, "n": 1})
                assert output["value"] == value
                assert WORD in page.content.decode()
                assert len(readings(cast)) == before + 3
            else:
                assert (answer.status_code, page.status_code) == (403, 403), who
                assert code != 0
                assert WORD not in f"{answer.content!r} {page.content!r} {output}"
                assert len(readings(cast)) == before
    assert call(cast, "stranger", thread, channel="diagnosis").status_code == 404
    assert grep.everywhere(WORD) == set()


def test_a_reading_is_on_record_and_kept_nowhere(cast: Cast, thread: UUID) -> None:
    first = queries.checkpoint_by_number(thread, 0)
    answer = call(cast, "auditor", thread, channel="diagnosis", checkpoint=str(first.id))
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.json() == {
        "thread": str(thread),
        "checkpoint": str(first.id),
        "number": 0,
        "channel": "diagnosis",
        "readers": ["auditor", "admin"],
        "value": WORD,
    }
    data = {"thread": str(thread), "channel": "diagnosis", "checkpoint": str(first.id)}
    assert readings(cast) == [(cast.actor("auditor").id, data | {"number": 0})]
    page = cast.client("auditor").post(f"/threads/{thread}/reveal/", {"channel": "diagnosis"})
    assert "no-store" in page.headers["Cache-Control"]
    key = {"Idempotency-Key": "one"}
    for _ in range(2):  # no answer of before is kept under a key
        answer = cast.client("admin").post(
            f"/api/v1/threads/{thread}/reveal/",
            json.dumps({"channel": "diagnosis"}),
            content_type="application/json",
            headers=key,
        )
        assert answer.status_code == 200
        assert "Idempotency-Replayed" not in answer.headers
    assert len(readings(cast)) == 4
    assert grep.everywhere(WORD) == set()
    assert workspace_report(cast.workspace, {}).intact


def test_the_page_asks_before_it_shows(cast: Cast, thread: UUID) -> None:
    address = f"/threads/{thread}/reveal/?channel=diagnosis"
    page = cast.client("admin").get(address)
    html = page.content.decode()
    assert "readable by auditor and admin" in html
    assert 'id="reveal" method="post"' in html
    assert WORD not in html
    assert "You can’t read this value" in cast.client("operator").get(address).content.decode()
    assert cast.client("admin").get(f"{address}&checkpoint=0").status_code == 200
    for unknown in ("patient", "nothing", ""):
        address = f"/threads/{thread}/reveal/?channel={unknown}"
        assert cast.client("admin").get(address).status_code == 404
    assert readings(cast) == []


def test_pages_and_answers_show_that_it_is_encrypted(cast: Cast, thread: UUID) -> None:
    for tab in ("", "?tab=state", "?cp=1"):
        html = cast.client("admin").get(f"/threads/{thread}/{tab}").content.decode()
        assert "(readable by auditor and admin)" in html
        assert html.count("/reveal/?channel=") == 1  # findings are for auditors
    html = cast.client("viewer").get(f"/threads/{thread}/?tab=state").content.decode()
    assert '<span class="x">encrypted</span>' in html
    assert "/reveal/?channel=" not in html
    state = cast.client("viewer").get(f"/api/v1/threads/{thread}/state/").json()
    assert state["context"]["encrypted"] == {
        "diagnosis": ["auditor", "admin"],
        "findings": ["auditor"],
    }
    assert state["state"]["diagnosis"].keys() == {"$encrypted"}
    first, last = (queries.checkpoint_by_number(thread, n) for n in (0, 3))
    for address in (
        f"/threads/compare/?left={thread}:0&right={thread}:3",
        f"/threads/value/?of={thread}:0&at=/diagnosis",
        f"/threads/{thread}/?tab=anatomy",
        f"/api/v1/threads/{thread}/diff/?from={first.id}&to={last.id}",
        f"/api/v1/threads/{thread}/checkpoints/?show=diagnosis",
    ):
        assert cast.client("admin").get(address).status_code == 200, address


def test_a_token_reads_with_the_scope_only(cast: Cast, thread: UUID) -> None:
    admin = cast.users["admin"]
    for scopes, status in ((("read",), 403), (("reveal",), 200)):
        _, token = tokens.make(admin, made_by="user:1", scopes=scopes)
        answer = cast.client("nobody").post(
            f"/api/v1/threads/{thread}/reveal/",
            json.dumps({"channel": "diagnosis"}),
            content_type="application/json",
            headers={"Authorization": f"Bearer {token}"},
        )
        assert answer.status_code == status, answer.content
    assert "/token:" in readings(cast)[0][0]


def test_what_cannot_be_read_is_said(cast: Cast, bench: Bench, thread: UUID, settings: Any) -> None:
    auditor = cast.actor("auditor")
    with pytest.raises(Missing):
        reveal(auditor, thread, "patient")
    with pytest.raises(Forbidden, match="Needs the role auditor"):
        reveal(cast.actor("admin"), thread, "findings")
    other = bench.start(patient="Bob", diagnosis="other words of Bob")
    with taken_back():  # past all entry points: the ciphertext of another thread
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE gp_checkpoint DISABLE TRIGGER USER")
            cursor.execute(
                "UPDATE gp_checkpoint c SET delta = (SELECT jsonb_set(c.delta, '{set,diagnosis}', "
                "o.delta #> '{set,diagnosis}') FROM gp_checkpoint o WHERE o.thread_id = %s "
                "AND o.number = 0) WHERE c.thread_id = %s AND c.number = 0",
                (thread, other),
            )
        with pytest.raises(Conflict, match="Its key is not here"):
            reveal(auditor, other, "diagnosis")
    settings.SECRET_KEY = "another" * 10
    with pytest.raises(Conflict, match="GATEPOST_ENCRYPTION_KEYS"):
        reveal(auditor, thread, "diagnosis")
    assert readings(cast) == []
