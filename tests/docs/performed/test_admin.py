"""docs/howto/admin.md: who enters the records, what is looked up there, how people are kept."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest

from checkpoints import queries
from tests.contract.things import make_factor
from tests.docs.performing import Performance
from tests.support.cast import Cast
from tests.unit.dashboard import scene
from tests.unit.dashboard.carried import run
from tests.unit.dashboard.records.exports.population import decide

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def text_of(answer: Any) -> str:
    return unescape(answer.content.decode())


def kinds(cast: Cast) -> list[str]:
    return [str(event.kind) for event in queries.workspace_events(cast.workspace, limit=50).rows]


def test_the_records_answer_as_the_page_says(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Performance("admin", cast)
    row = scene.waiting(cast.workspace, scene.make_agent("payments"), args={"payee": "ACME"})
    decide(cast, row, "approve", "as ordered")
    foreign = scene.start(cast.elsewhere, scene.make_agent("payments"))
    auditor, admin = cast.client("auditor"), cast.client("admin")

    # Who may enter, and what the others read.
    home = page.page("/admin/", "auditor")
    for name in ("Decisions", "Events", "Workspace events", "Search the record", "Policies"):
        assert f">{name}" in re.sub(r">\s+", ">", home), name
    refused = cast.client("operator").get("/admin/")
    assert (refused.status_code, "auditor" in text_of(refused)) == (403, True)
    thread = "/admin/checkpoints/thread/{}/change/"
    assert auditor.get(thread.format(foreign)).status_code == 404

    # Who decided what.
    decisions = text_of(auditor.get("/admin/approvals/decision/"))
    assert "manager" in decisions
    assert "as ordered" in decisions
    for address, word in (
        ("/admin/approvals/decision/?q=manager", "as ordered"),
        ("/admin/approvals/decision/?verdict=approve", "as ordered"),
        ("/admin/checkpoints/event/?q=approval.decided", f"{row.thread}"),
        (f"/admin/checkpoints/event/?q={str(row.thread)[:8]}", f"{row.thread}"),
        (f"/admin/checkpoints/event/?thread_id={row.thread}", f"{row.thread}"),
    ):
        assert word in text_of(auditor.get(address)), address
    assert "as ordered" not in text_of(auditor.get("/admin/approvals/decision/?verdict=reject"))
    record = text_of(auditor.get(thread.format(row.thread)))
    for part in ("checkpoint", "content", "event", "activity"):
        assert f"/admin/checkpoints/{part}/?thread_id={row.thread}" in record
    assert f"/admin/approvals/approval/?thread_id={row.thread}" in record
    event = text_of(auditor.get(f"/admin/checkpoints/event/{row.thread}.1/change/"))
    assert queries.events_after(row.thread, 0)[0].hash in event

    # Records are not changed here; the refusal names the place.
    for part in ("event", "thread"):
        answer = admin.post(f"/admin/checkpoints/{part}/add/")
        assert answer.status_code == 403, text_of(answer)
    answer = admin.get("/admin/dashboard/token/add/")
    assert (answer.status_code, page.unit("./manage.py token") in text_of(answer)) == (403, True)

    # People: the second factor, the sign-ins, the first superuser.
    for start, call in (
        ("user remove-second-factor NAME", False),
        ("POST /users/{id}/second-factor/remove/", True),
    ):
        make_factor(cast, "operator")
        form = text_of(admin.get(f"/admin/auth/user/{cast.users['operator'].pk}/change/"))
        assert "Remove the second factor" in form
        if call:
            page.call(start, "admin", scopes=("administer",), ID=cast.users["operator"].pk)
        else:
            page.run(start, "admin", NAME="operator")
        assert kinds(cast)[0] == "factor.removed"
    workspace = text_of(admin.get(f"/admin/checkpoints/workspace/{cast.workspace}/change/"))
    assert "Second factor" in workspace
    page.run("workspace second-factor ROLES", "admin", ROLES="reviewer")
    assert kinds(cast)[0] == "factor.required"
    body: dict[str, Any] = {"roles": []}
    page.call("POST /workspace/second-factor/", "admin", body, scopes=("administer",))
    assert queries.workspace_events(cast.workspace, limit=1).rows[0].data["from"] == ["reviewer"]

    other = cast.client("operator")
    assert "Sign out everywhere" in text_of(
        admin.get(f"/admin/auth/user/{cast.users['operator'].pk}/change/")
    )
    page.run("user sign-out NAME", "admin", NAME="operator")
    assert other.get("/").status_code == 302
    other = cast.client("manager")
    page.run("user sign-out --mine", "manager")
    assert other.get("/").status_code == 302
    other = cast.client("viewer")
    ident = cast.users["viewer"].pk
    page.call("POST /users/{id}/sign-out/", "admin", scopes=("administer",), ID=ident)
    assert other.get("/").status_code == 302
    assert cast.client("viewer").get("/").status_code == 200, "they may sign in again"

    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", "a-long-password")
    page.run("./manage.py createsuperuser", more="--username root --email r@e.example --noinput")
    assert kinds(cast)[0] == "user.created"

    page.complete({"./manage.py shell": "what is done in it is not recorded, as the page says"})


def test_somebody_is_left_who_can_give_a_role_back(cast: Cast) -> None:
    assert "the last admin's role cannot be taken" in Performance("admin", cast).text
    for words in (("roles", "admin", "viewer"), ("disable", "admin")):
        code, _, why = run("user", *words, "--as", "admin")
        assert (code, bool(why)) == (1, True), words
    assert queries.memberships(cast.users["admin"].pk)[0][2] == "admin"
    assert cast.client("admin").get("/admin/").status_code == 200
