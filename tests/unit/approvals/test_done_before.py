"""A request shows the effects that its node did before it: page, mail, API, report and file."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse
from uuid_utils.compat import uuid7

from approvals.gates.prior_effects import PRIOR_MAX, prior_effects
from approvals.notify.sender import Sender
from checkpoints import store
from checkpoints.records import NewActivity, Position, Work
from tests.support.cast import Cast
from tests.unit.approvals.news import endpoint, tell
from tests.unit.approvals.post import Mailbox
from tests.unit.dashboard import scene

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("C32")]


def did(
    work: Work,
    tool: str,
    node: str = "publish",
    state: str = "done",
    *,
    undo: str = "",
    sentence: str = "",
) -> None:
    """An effect of the step in progress."""
    made = NewActivity(
        id=uuid7(),
        position=Position(work.branch, work.step + 1, node, 0, f"{tool}#{uuid7()}"),
        kind="effect",
        tool=tool,
        args={"report": "r"},
        idempotency_key=uuid7().hex,
        undo=undo,
    )
    store.start_activity(work, made)
    usage = {"sentence": sentence} if sentence else None
    if state == "done":
        store.finish_activity(
            work, made, state="done", result={"receipt": f"of {tool} <b>"}, usage=usage
        )
    elif state == "failed":
        store.finish_activity(work, made, state="failed", error="no")


@pytest.fixture
def request_after(people: Cast) -> Any:
    """A request of a node that did three effects before; another node and step did others."""
    work = scene.lease(scene.start(people.workspace, scene.make_agent()))
    did(work, "step.before")
    scene.step(work, report="draft")
    did(work, "bank.reserve", undo="bank.free", sentence="Reserve 9 EUR <i>")
    did(work, "mail.send")
    did(work, "sms.send", state="failed")
    did(work, "other.node", node="audit")
    return scene.gate(work)


def test_page_api_and_report_list_what_the_node_did_before(
    people: Cast, request_after: Any
) -> None:
    client = people.client("manager")
    page = client.get(reverse("approval", args=[request_after.id])).content.decode()
    report = people.client("auditor").get(reverse("approval_report", args=[request_after.id]))
    for text in (page, report.content.decode()):
        part = text.partition("Done before by the same node")[2].partition("</ol>")[0]
        shown = [part.index(name) for name in ("bank.reserve", "mail.send", "sms.send")]
        assert shown == sorted(shown)
        assert "Reserve 9 EUR &lt;i&gt;" in part
        assert "done; it can be undone" in part
        assert "done; it cannot be undone" in part
        assert "of mail.send &lt;b&gt;" in part
        assert "step.before" not in part
        assert "other.node" not in part
    address = f"/api/v1/approvals/{request_after.id}/"
    for payload in (client.get(address), people.client("auditor").get(f"{address}report/")):
        rows = payload.json()["done_before"]
        assert [(r["tool"], r["state"], r["undo"]) for r in rows] == [
            ("bank.reserve", "done", "bank.free"),
            ("mail.send", "done", ""),
            ("sms.send", "failed", ""),
        ]
        assert rows[0]["result"] == '{"receipt":"of bank.reserve <b>"}'
        assert rows[0]["at"]


@pytest.mark.usefixtures("loopback")
def test_mail_lists_them_too(people: Cast, request_after: Any, box: Mailbox) -> None:
    endpoint(people, "email")
    tell(request_after)
    Sender().drain()
    text = box.text()
    assert "Done before by the same node: Reserve 9 EUR <i>, " in text
    assert "UTC: done; it can be undone" in text
    assert "Done before by the same node: mail.send, " in text
    assert "sms.send" in text
    assert "other.node" not in text
    assert "Reserve 9 EUR &lt;i&gt;" in box.html()


def test_what_came_afterwards_is_not_listed(people: Cast) -> None:
    work = scene.lease(scene.start(people.workspace, scene.make_agent()))
    row = scene.gate(work)
    assert prior_effects(row).rows == ()
    page = people.client("manager").get(reverse("approval", args=[row.id])).content.decode()
    assert "Done before by the same node" not in page
    report = people.client("auditor").get(reverse("approval_report", args=[row.id]))
    assert "The node had no effects before it asked." in report.content.decode()


def test_a_long_list_says_that_there_are_more(people: Cast) -> None:
    work = scene.lease(scene.start(people.workspace, scene.make_agent()))
    for _ in range(PRIOR_MAX + 1):
        did(work, "mail.send", state="started")
    row = scene.gate(work)
    result = prior_effects(row)
    assert (len(result.rows), result.complete) == (PRIOR_MAX, False)
    page = people.client("manager").get(reverse("approval", args=[row.id])).content.decode()
    assert "There are more; see the thread." in page
    assert "outcome not known yet" in page
