"""Questions to the record: each filter alone, pages without gaps, and what an index serves."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals import gates, records
from approvals import queries as approvals
from approvals.records import DECISIONS, NOTABLE, Question, RecordRow
from approvals.rules.terms import Seat, Terms
from checkpoints.errors import InvalidValue
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard import scene

pytestmark = pytest.mark.django_db


def paid(
    cast: Cast,
    args: dict[str, Any],
    *,
    risk: Any = "high",
    verdict: str = "approve",
    edited: Any = None,
) -> Any:
    """A decided request to pay."""
    work = scene.lease(scene.start(cast.workspace, scene.make_agent("payments")))
    scene.step(work, report="ready")
    row = scene.gate(work, args=args, tool="bank.pay", risk=risk, title="Pay the invoices?")
    gates.decide(
        row.id,
        workspace=cast.workspace,
        reviewer=gates.Reviewer(cast.actor("manager").id, "manager"),
        verdict=verdict,  # type: ignore[arg-type]
        proposal_hash=row.proposal_hash,
        comment="checked with the order",
        args=edited,
    )
    return row


def matches(question: Question, **more: Any) -> list[tuple[Any, str]]:
    return [(r.thread, r.kind) for r in records.answer(replace(question, **more), limit=200).rows]


@pytest.mark.requirement("A28")
def test_each_filter_narrows_and_a_payment_is_one_search(cast: Cast) -> None:
    acme = paid(cast, {"payments": [{"payee": "ACME GmbH", "amount": "151781.50"}]})
    other = paid(cast, {"payee": "Globex", "amount": "12.00"}, risk="low", verdict="reject")
    everything = Question(cast.workspace, payees=("payee",), amounts=("amount",))
    decided = (acme.thread, "approval.decided")
    refused = (other.thread, "approval.decided")
    assert {decided, refused} <= set(matches(everything))
    # Who let payment X happen: its payee, its amount or any word of it.
    for more in (
        {"text": "acme"},
        {"text": "151781.50"},
        {"payee": "acme"},
        {"least": Decimal(100_000)},
        {"risk": "high"},
        {"thread": acme.thread},
    ):
        kinds = matches(everything, **more)
        assert decided in kinds, more
        assert refused not in kinds, more
    (one,) = records.answer(replace(everything, payee="ACME", decision="approve")).rows
    assert (one.actor, one.tool, one.risk) == (cast.actor("manager").id, "bank.pay", "high")
    assert one.args["payments"][0]["amount"] == "151781.50"
    assert (one.approval, one.node, one.step, one.checkpoint) == (acme.id, "publish", 2, 1)
    assert matches(everything, decision="reject") == [refused]
    assert matches(everything, most=Decimal(20), decision="approve") == []
    assert len(matches(everything, tool="bank.pay")) == 4
    assert {kind for _, kind in matches(everything, kinds=DECISIONS)} == {
        "approval.requested",
        "approval.decided",
    }
    assert matches(everything, agent="nobody") == []
    assert matches(everything, actors=(cast.actor("manager").id,)) == [refused, decided]
    assert matches(everything, text="checked with the ORDER") == [refused, decided]
    steps = matches(everything, kinds=(), node="analyse")
    assert {kind for _, kind in steps} == {"checkpoint.committed"}
    assert matches(everything, kinds=(), step=1)
    elsewhere = replace(everything, workspace=cast.elsewhere)
    assert (matches(elsewhere, text="acme"), matches(elsewhere, kinds=())) == ([], [])
    assert matches(elsewhere, thread=acme.thread) == []


@pytest.mark.requirement("A28")
@pytest.mark.requirement("A28")
def test_what_a_reviewer_made_of_a_payment_is_searched_and_shown(cast: Cast) -> None:
    proposed = {"payee": "ACME GmbH", "amount": "5000.00"}
    became = {"payee": "Globex", "amount": "500.00"}
    row = paid(cast, proposed, verdict="edit", edited=became)
    everything = Question(cast.workspace, payees=("payee",), amounts=("amount",))
    decided = (row.thread, "approval.decided")
    for more in (
        {"payee": "globex"},
        {"most": Decimal(600), "least": Decimal(400)},
        {"text": "Globex"},
        # What was proposed stays a way to it: somebody decided on that, too.
        {"payee": "acme"},
        {"least": Decimal(4_000)},
    ):
        assert decided in matches(everything, **more), more
        (one,) = records.answer(replace(everything, decision="edit", **more)).rows  # type: ignore[arg-type]
        assert one.args == became, more
    [requested] = [r for r in records.answer(everything).rows if r.kind == "approval.requested"]
    assert requested.args == proposed
    assert matches(everything, payee="globex", least=Decimal(4_000)) != []
    assert matches(everything, least=Decimal(5_001)) == []


def test_who_approves_what_another_one_edited_is_shown_with_that(cast: Cast) -> None:
    proposed, became = {"payee": "ACME", "amount": "5000"}, {"payee": "Globex", "amount": "500"}
    work = scene.lease(scene.start(cast.workspace, scene.make_agent("payments")))
    scene.step(work, report="ready")
    two = Terms(stages=(Seat(count=2),))
    row = scene.gate(work, args=proposed, tool="bank.pay", title="Pay?", terms=two)
    votes = (("manager", "edit", became), ("second_manager", "approve", None))
    for name, verdict, edited in votes:
        gates.decide(
            row.id,
            workspace=cast.workspace,
            reviewer=gates.Reviewer(cast.actor(name).id, name),
            verdict=verdict,  # type: ignore[arg-type]
            proposal_hash=approvals.approval(row.id, workspace=cast.workspace).standing_hash,
            args=edited,
        )
    shown = records.answer(Question(cast.workspace, kinds=DECISIONS)).rows
    assert {(r.decision, r.args["payee"]) for r in shown} == {
        ("", "ACME"),
        ("edit", "Globex"),
        ("approve", "Globex"),
    }


@pytest.mark.requirement("A28")
@pytest.mark.parametrize(
    "text",
    ['say "hello"', "C:\\temp", "two\nlines", "a\ttab", "MÜLLER & Söhne", "50 %_?*[x]", "l'été"],
)
def test_a_text_is_found_as_it_was_written(cast: Cast, text: str) -> None:
    work = scene.lease(scene.start(cast.workspace, scene.make_agent("payments")))
    scene.step(work, report="ready")
    inside, title = f"before {text} after", text.replace("\n", " ").replace("\t", " ")
    scene.gate(work, args={"note": [{"x": inside}]}, tool="bank.pay", title=f"Pay {title}?")
    everything = Question(cast.workspace, kinds=DECISIONS)
    for one in (text, text.upper(), inside, title):
        assert matches(everything, text=one) == [(work.thread, "approval.requested")], one
    assert matches(everything, text=f"{text}{text}") == []


def test_dates_narrow_every_walk(cast: Cast) -> None:
    row = paid(cast, {"payee": "ACME"})
    question = Question(cast.workspace)
    at = records.answer(question).rows[0].at
    for kinds in (NOTABLE, DECISIONS, ()):
        every = replace(question, kinds=kinds)
        assert matches(every, since=at - timedelta(hours=1), until=at + timedelta(hours=1))
        assert matches(every, until=at - timedelta(hours=1)) == []
        assert matches(every, since=at + timedelta(hours=1)) == []
    assert matches(question, thread=row.thread, until=at - timedelta(hours=1)) == []


def test_pages_have_neither_gaps_nor_doubles(cast: Cast) -> None:
    for _ in range(3):
        paid(cast, {"payee": "ACME"})
    thread = matches(Question(cast.workspace))[0][0]
    for question in (
        Question(cast.workspace),
        Question(cast.workspace, kinds=()),
        Question(cast.workspace, kinds=DECISIONS),
        Question(cast.workspace, thread=thread, kinds=()),
    ):
        whole = records.answer(question, limit=200)
        assert whole.searched_all
        assert whole.next_cursor == ""
        assert whole.count == len(whole.rows)
        pages, cursor = [], ""
        while True:
            page = records.answer(question, cursor=cursor, limit=2)
            pages += page.rows
            if not (cursor := page.next_cursor):
                break
        assert pages == list(whole.rows)
        forth = [row for some in records.oldest_first(question) for row in some]
        assert forth == pages[::-1]
        assert in_parts(question, 2) == forth


def in_parts(question: Question, limit: int) -> list[RecordRow]:
    """All rows of all parts, each of `limit` rows but the last."""
    rows: list[RecordRow] = []
    cursor = ""
    while True:
        part = records.Part(question, cursor=cursor, limit=limit)
        new = [row for some in part.pages() for row in some]
        rows += new
        if not (cursor := part.next_cursor):
            assert 0 < len(new) <= limit
            return rows
        assert len(new) == limit


def test_a_cursor_belongs_to_its_question(cast: Cast) -> None:
    paid(cast, {"payee": "ACME"})
    cursor = records.answer(Question(cast.workspace), limit=1).next_cursor
    for wrong, question in (
        (cursor, Question(cast.workspace, kinds=())),
        ("x", Question(cast.workspace)),
        (cursor[:-9], Question(cast.workspace)),
    ):
        with pytest.raises(InvalidValue):
            records.answer(question, cursor=wrong)


def test_what_is_looked_at_in_vain_says_where_to_look_on(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = paid(cast, {"payee": "ACME"})
    for _ in range(4):
        scene.start(cast.workspace, scene.make_agent())
    monkeypatch.setattr("approvals.records.questions.WINDOW", 2)
    monkeypatch.setattr("approvals.records.questions.LOOKS", 1)
    question = Question(cast.workspace, text="acme")
    page = records.answer(question)
    assert (page.rows, page.searched_all) == ((), False)
    n = 0
    while not page.rows:
        page = records.answer(question, cursor=page.next_cursor)
        n += 1
    assert n == 2
    assert page.rows[0].thread == row.thread


def test_the_indexes_are_over_the_kinds_that_questions_name(db: None) -> None:
    indexes = {"gp_event_decisions": DECISIONS, "gp_event_notable": NOTABLE}
    with connection.cursor() as cursor:
        for name, kinds in indexes.items():
            cursor.execute("SELECT pg_get_indexdef(%s::regclass)", [name])
            assert re.findall(r"'([^']+)'", cursor.fetchone()[0]) == list(kinds)


def test_a_verdict_that_few_gave_is_looked_for_among_its_own(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = paid(cast, {"payee": "ACME"}, verdict="reject")
    for _ in range(4):
        paid(cast, {"payee": "Globex"})
    monkeypatch.setattr("approvals.records.questions.WINDOW", 2)
    monkeypatch.setattr("approvals.records.questions.LOOKS", 1)
    page = records.answer(Question(cast.workspace, decision="reject"))
    assert [(row.thread, row.kind) for row in page.rows] == [(wanted.thread, "approval.decided")]
    assert page.searched_all
    for kinds in ((), NOTABLE, DECISIONS):
        page = records.answer(Question(cast.workspace, decision="edit", kinds=kinds))
        assert (page.rows, page.searched_all) == ((), True)


def plan_of(sql: str) -> dict[str, Any]:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}")
        plan = cursor.fetchone()[0]
    result: dict[str, Any] = (json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]
    return result


def scans(plan: dict[str, Any]) -> list[tuple[str, str]]:
    """(how, by which index) of each look at the log."""
    of_log = plan.get("Relation Name") == "gp_event" or "Index Name" in plan
    own = [(plan["Node Type"], plan.get("Index Name", ""))] * of_log
    return own + [one for child in plan.get("Plans", ()) for one in scans(child)]


@pytest.mark.requirement("A28")
def test_every_question_goes_along_an_index(cast: Cast) -> None:
    work = scene.lease(scene.start(cast.workspace, scene.make_agent()))
    rows("SET session_replication_role = replica")
    rows(
        "INSERT INTO gp_event (thread_id, workspace_id, seq, kind, v, actor, data, salt, "
        "data_hash, at, prev_hash, hash) SELECT gen_random_uuid(), workspace_id, n, "
        "CASE mod(n, 20) WHEN 0 THEN 'approval.decided' WHEN 1 THEN 'effect.started' "
        "ELSE 'checkpoint.committed' END, v, actor, data, salt, data_hash, "
        "at - make_interval(secs => n), prev_hash, hash "
        "FROM gp_event, generate_series(10, 20000) n WHERE seq = 1 AND thread_id = %s::uuid",
        (work.thread,),
    )
    rows("SET session_replication_role = DEFAULT")
    rows("ANALYZE gp_event")
    question = Question(cast.workspace, text="nothing like it")
    expected = {
        "gp_event_decisions": replace(question, kinds=("approval.decided",)),
        "gp_event_verdicts": replace(question, decision="reject"),
        "gp_event_notable": question,
        "gp_event_feed": replace(question, kinds=()),
    }
    for index, one in expected.items():
        for read in (records.answer, lambda q: next(records.oldest_first(q), None)):
            with CaptureQueriesContext(connection) as captured:
                read(one)
            (statement,) = [q["sql"] for q in captured.captured_queries][:1]
            used = scans(plan_of(statement))
            assert ("Seq Scan", "") not in used, (index, used)
            assert index in {name for _, name in used}, (index, used)
    with CaptureQueriesContext(connection) as captured:
        records.answer(replace(question, thread=work.thread, kinds=()))
    assert ("Seq Scan", "") not in scans(plan_of(captured.captured_queries[0]["sql"]))


def test_a_question_that_most_events_answer_looks_at_few(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = scene.make_agent()
    for _ in range(5):
        scene.start(cast.workspace, agent)
    monkeypatch.setattr("approvals.records.questions.COUNT_CAP", 2)
    monkeypatch.setattr("approvals.records.questions.FIRST", 4)
    windows: list[int] = []

    def look(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if isinstance(params, dict) and "window" in params:
            windows.append(params["window"])
        return execute(sql, params, many, context)

    with connection.execute_wrapper(look):
        page = records.answer(Question(cast.workspace), limit=1)
        assert (windows, page.count, page.searched_all) == ([4], 3, False)
        windows.clear()
        page = records.answer(Question(cast.workspace, text="nobody wrote this"), limit=1)
        assert (page.count, page.searched_all) == (0, True)
    assert windows == [4, records.WINDOW - 4]
