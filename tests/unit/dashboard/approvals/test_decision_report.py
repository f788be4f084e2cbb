"""The report on a decision: all that the record has of it, as page, as file, by API."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.urls import reverse

from approvals.gates import first_looks
from approvals.records import outcomes
from approvals.rules.terms import Seat, Terms
from checkpoints import store
from checkpoints.states import EventKind
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard import scene
from tests.unit.dashboard.people.test_people_as_code import call
from tests.unit.dashboard.records.exports.population import decide

pytestmark = pytest.mark.django_db


def decided(cast: Cast, proposed: dict[str, Any], verdict: str, comment: str, **more: Any) -> Any:
    work = scene.lease(scene.start(cast.workspace, scene.make_agent("payments")))
    scene.step(work, report="ready")
    row = scene.gate(work, args=proposed, tool="bank.pay", risk="high", title="Pay the invoices?")
    first_looks.note_look(row.id, workspace=cast.workspace, person=cast.actor("manager").person)
    decide(cast, row, verdict, comment, **more)
    return row


@pytest.mark.requirement("A38")
def test_the_report_has_all_of_a_decision(cast: Cast) -> None:
    before = decided(cast, {"payee": "ACME GmbH", "amount": "100.00"}, "approve", "first one")
    row = decided(cast, {"payee": "ACME GmbH", "amount": "151.50"}, "approve", "order <4711>")
    answer = cast.client("auditor").get(reverse("approval_report", args=[row.id]))
    assert answer.status_code == 200
    page = answer.content.decode()
    for text in (
        "Pay the invoices?",
        row.proposal_hash,
        "ACME GmbH",
        "manager",
        "order &lt;4711&gt;",
        str(before.id),
        "$.amount",
        "bank.pay",
        "There is nothing to undo.",
        "approval.requested",
        "approval.decided",
    ):
        assert text in page, text
    hashes = rows(
        "SELECT encode(hash, 'hex') FROM gp_event WHERE thread_id = %s::uuid "
        "AND kind LIKE 'approval.%%'",
        (row.thread,),
    )
    assert all(digest in page for (digest,) in hashes)
    result = cast.client("auditor").get(f"/api/v1/approvals/{row.id}/report/").json()
    assert [d["path"] for d in result["differs"]] == ["$.amount"]
    assert (result["last_time"], result["amount"]) == (str(before.id), "151.50")
    assert [(v["reviewer_name"], v["comment"]) for v in result["votes"]] == [
        ("manager", "order <4711>")
    ]
    assert [look["person"] for look in result["looks"]] == ["manager"]
    assert {p["hash"] for p in result["proof"]} == {digest for (digest,) in hashes}


def test_the_file_needs_nothing_else(cast: Cast) -> None:
    row = decided(cast, {"payee": "ACME"}, "reject", "not ordered")
    client = cast.client("viewer")
    for address in (
        f"/approvals/{row.id}/report/?form=file",
        f"/api/v1/approvals/{row.id}/report/?form=html",
    ):
        answer = client.get(address)
        assert answer.status_code == 200
        assert "attachment" in answer["Content-Disposition"]
        text = answer.content.decode()
        assert text.startswith("<!doctype html>")
        assert "not ordered" in text
        assert re.findall(r"<(?:link|script|img|style|iframe)|src=|href=|style=", text) == []


def test_an_edit_shows_as_a_difference(cast: Cast) -> None:
    row = decided(
        cast,
        {"payee": "ACME", "amount": "10"},
        "edit",
        "less",
        args={"payee": "ACME", "amount": "9"},
    )
    result = cast.client("auditor").get(f"/api/v1/approvals/{row.id}/report/").json()
    (vote,) = result["votes"]
    assert [(e["path"], e["before"], e["now"]) for e in vote["edits"]] == [("$.amount", "10", "9")]
    assert result["edited"]["amount"] == "9"
    page = cast.client("auditor").get(reverse("approval_report", args=[row.id])).content.decode()
    assert "What the edit changed" in page


@pytest.mark.parametrize("edit", [None, {"payee": "ACME", "amount": "9"}])
def test_arguments_stand_once_where_the_effect_had_the_same(
    cast: Cast, edit: dict[str, str] | None
) -> None:
    args = {"payee": "ACME", "amount": "10"}
    more = {"args": edit} if edit else {}
    row = decided(cast, args, "edit" if edit else "approve", "fine", **more)
    address = reverse("approval_report", args=[row.id])
    work = scene.lease(row.thread)
    scene.effect(work, approval=row.id, args=edit or args)
    page = cast.client("auditor").get(address).content.decode()
    says = "Exactly the arguments above, as edited." if edit else "Exactly the arguments above."
    assert says in page


def test_arguments_that_the_effect_had_instead_are_in_the_report(cast: Cast) -> None:
    row = decided(cast, {"payee": "ACME", "amount": "10"}, "approve", "fine")
    scene.effect(scene.lease(row.thread), approval=row.id, args={"payee": "ACME", "amount": "1000"})
    address = reverse("approval_report", args=[row.id])
    page = cast.client("auditor").get(address).content.decode()
    assert "Exactly the arguments above" not in page
    assert "&quot;amount&quot;: &quot;1000&quot;" in page


def test_other_workspaces_and_strangers_see_none(cast: Cast) -> None:
    row = decided(cast, {"payee": "ACME"}, "approve", "")
    for address in (f"/approvals/{row.id}/report/", f"/api/v1/approvals/{row.id}/report/"):
        assert cast.client("stranger").get(address).status_code == 404
        assert cast.client("nobody").get(address).status_code == 403
    assert cast.client("manager").get(f"/approvals/{row.id}/").content.count(b'id="report"') == 1


def test_an_open_request_has_a_report_too(cast: Cast) -> None:
    row = scene.waiting(cast.workspace, scene.make_agent())
    page = cast.client("viewer").get(reverse("approval_report", args=[row.id]))
    assert page.status_code == 200
    assert "Nobody has decided." in page.content.decode()


@pytest.mark.requirement("A38")
def test_search_report_api_and_command_say_alike_what_came_of_it(cast: Cast) -> None:
    row = decided(cast, {"payee": "ACME", "amount": "100.00"}, "approve", "as ordered")
    work = scene.lease(row.thread)
    scene.effect(work, approval=row.id)
    scene.step(work, report="reserved")
    later = scene.effect(work, key="publish:1", sentence="Pays ACME")
    client = cast.client("auditor")
    report = client.get(f"/api/v1/approvals/{row.id}/report/").json()
    relations = [(one["relation"], one["state"]) for one in report["came_of"]]
    assert relations == [("request", "done"), ("later", "done")]
    results = client.get("/api/v1/records/?payee=acme&decision=approve").json()["results"]
    assert [one["came_of"] for one in results] == [report["came_of"]]
    named = {one["seq"]: one["kind"] for one in report["proof"]}
    assert list(named.values()).count("effect.finished") == 2
    text = "later, without a request of its own: publish done"
    page = client.get(reverse("approval_report", args=[row.id])).content.decode()
    assert f"{text} (Pays ACME)" in page
    assert text in client.get("/admin/search/?payee=acme&decision=approve").content.decode()
    assert report["came_of"][1]["activity"] == str(later)


@pytest.mark.requirement("A38")
def test_page_file_api_and_command_name_an_undo_that_failed_and_a_list_that_was_cut(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = decided(cast, {"payee": "ACME", "amount": "100.00"}, "approve", "as ordered")
    work = scene.lease(row.thread)
    activity = scene.effect(work, approval=row.id)
    scene.step(work, report="reserved")
    for n in (1, 2):
        scene.effect(work, key=f"publish:{n}")
    store.record_compensation(
        work,
        activity,
        kind=EventKind.COMPENSATION_FAILED,
        tool="publish",
        error="The bank refused <b>it</b>.",
    )
    monkeypatch.setattr(outcomes, "PER_REQUEST", 1)
    client, cut = cast.client("auditor"), "There may be more: listed are the first 100 "
    report = client.get(f"/api/v1/approvals/{row.id}/report/").json()
    (event,) = client.get("/api/v1/records/?payee=acme&decision=approve").json()["results"]
    assert event["came_of"] == report["came_of"]
    assert event["came_of_all"] is report["came_of_all"] is False
    assert [(one["undo_failed"], one["undo_error"]) for one in report["came_of"]] == [
        (True, "The bank refused <b>it</b>."),
        (False, ""),
    ]
    for address in (
        reverse("approval_report", args=[row.id]),
        f"/approvals/{row.id}/report/?form=file",
    ):
        page = " ".join(client.get(address).content.decode().split())
        assert "<strong>Failed undo:</strong> <code>publish</code> is still in place." in page
        assert "The bank refused &lt;b&gt;it&lt;/b&gt;." in page
        assert cut in page
    page = client.get("/admin/search/?payee=acme&decision=approve").content.decode()
    assert "publish done, undo failed" in page
    assert cut in page
    code, out, _ = call("record", "report", str(row.id), "--json")
    assert (code, json.loads(out)["came_of_all"]) == (0, False)


def test_a_long_value_is_folded_on_the_page_and_whole_in_the_file(cast: Cast) -> None:
    lines = [{"payee": f"P {n}", "amount": f"{n}.00", "note": "x" * 30} for n in range(120)]
    decided(cast, {"lines": lines[:1]}, "approve", "fine")
    row = decided(cast, {"lines": lines, "picture": "A" * 3_700_000}, "approve", "fine")
    client = cast.client("auditor")
    page = client.get(reverse("approval_report", args=[row.id])).content.decode()
    assert len(page) < 200_000
    assert re.search(r"Arguments as JSON, 3\.7 MB: in <a[^>]*>the file of this report", page)
    assert "more differences" in page
    text = client.get(f"/approvals/{row.id}/report/?form=file").content.decode()
    assert "A" * 3_700_000 in text
    assert "P 119" in text
    assert "<details>" not in text


def test_short_values_are_not_folded(cast: Cast) -> None:
    row = decided(cast, {"payee": "ACME", "amount": "9"}, "approve", "fine")
    page = cast.client("auditor").get(reverse("approval_report", args=[row.id])).content.decode()
    assert (
        "<pre>{&quot;amount&quot;: &quot;9&quot;, &quot;payee&quot;: &quot;ACME&quot;}</pre>"
        in page
    )


def test_the_policy_in_force_is_a_sentence_with_its_parts(cast: Cast) -> None:
    treasury = Seat(people=("ben",), teams=("Treasury",))
    terms = Terms(
        stages=(Seat(count=2), treasury),
        four_eyes=True,
        undo_window=10,
        on_expiry="escalate",
        escalate_to=treasury,
        escalate_for=3600.0,
        reminders=(600.0, 7200.0),
        rule="Payments over 1,000 EUR need two people.",
    )
    work = scene.lease(scene.start(cast.workspace, scene.make_agent("payments")))
    row = scene.gate(work, args={}, tool="bank.pay", title="Pay?", terms=terms)
    page = cast.client("auditor").get(reverse("approval_report", args=[row.id])).content.decode()
    section = page.partition("Policy in force")[2].partition("</section>")[0]
    shown, fold, raw = re.split(r"(<details>|<pre>)", section, maxsplit=1)
    for words in (
        "Payments over 1,000 EUR need two people.",
        "2 of any reviewer, then 1 of ben or team Treasury",
        "People who started, forked or edited the thread can’t approve",
        "10 s",
        "24 h 00",
        "It goes to ben or team Treasury for 1 h 00",
        "after 10 min, after 2 h 00",
    ):
        assert words in shown
    assert fold
    assert "{" not in shown
    assert "escalate_to" in raw
