"""Threads that name a payee are found by an index, and a search by it answers as a walk does."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals import records
from approvals.records import Question, questions, threads
from dashboard.wording.parties import PAYEES
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard import scene

from .test_questions import paid, plan_of, scans

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("A28")]

ODD: tuple[Any, ...] = (
    {"payee": "ACME GmbH"},
    {"payments": [{"to": "acme"}, {"to": "Globex"}]},
    {"order": {"vendor": {"name": "ACME", "number": 4711}}},
    {"recipient": 4711},
    {"customer": ["Öztürk & Söhne", None]},
    {"creditor": 'the "ACME" \\ Group\nBerlin'},
    {"beneficiary": "İSTANBUL ΑΣ STRASSE straße"},
    {"supplier": "日本電気株式会社"},
    {"payee": ""},
    {"payee": None, "note": "ACME"},
    {"amount": 1},
    [{"payee": "A€ME"}, "payee", 3],
    {"customer": {"number": 1, "history": "x" * 1_200, "short": "Umbrella"}},
)
LOOKED_FOR = (
    *("acme", "ACME", "4711", "me", "öztürk", "& söhne", '"acme" \\', "group\nber", "istanbul"),
    *("İST", "ας", "straße", "電気株", "globex", "a€m", "umbrella", "null", "name"),
    "nobody & sons",
)


@pytest.fixture
def everything(cast: Cast) -> Question:
    for args in ODD:
        paid(cast, args)
    paid(cast, {"payee": "Initech"}, verdict="edit", edited={"payee": "ACME Ltd"})
    work = scene.lease(scene.start(cast.workspace, scene.make_agent()))
    scene.effect(work, args={"to": "acme@example.com"})  # without a request
    return Question(cast.workspace, payees=PAYEES)


def answers_to(question: Question) -> list[tuple[Any, int]]:
    return [(row.thread, row.seq) for row in records.answer(question, limit=200).rows]


@pytest.mark.parametrize("decided", ["", "approve"])
def test_the_index_and_a_walk_answer_alike(
    everything: Question, decided: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_answered = 0
    for payee in LOOKED_FOR:
        question = replace(everything, payee=payee, decision=decided)
        by_walk = answers_to(question)
        with monkeypatch.context() as patch:
            patch.setattr(questions, "FIRST", 1)
            assert answers_to(question) == by_walk, payee
        n_answered += bool(by_walk)
    assert n_answered >= 14


def test_what_was_paid_long_ago_is_in_the_first_answer(
    everything: Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(questions, "FIRST", 2)
    monkeypatch.setattr(questions, "WINDOW", 10)
    monkeypatch.setattr(questions, "LOOKS", 1)
    question = replace(everything, payee="öztürk")
    page = records.answer(question)
    assert page.searched_all
    assert {row.kind for row in page.rows} >= {"approval.requested", "approval.decided"}
    with CaptureQueriesContext(connection) as captured:
        page = records.answer(replace(question, payee="nobody & sons"))
    assert (page.rows, page.searched_all, len(captured)) == ((), True, 3)
    assert not records.answer(replace(question, payee="no")).searched_all, "shorter than a trigram"


def test_a_payee_of_many_threads_is_walked_to(
    everything: Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = everything.workspace
    named = threads.threads_naming("ACME", workspace=workspace)
    assert named is not None
    assert len(named) >= 5
    monkeypatch.setattr(threads, "THREADS_MAX", len(named) - 1)
    assert threads.threads_naming("ACME", workspace=workspace) is None
    monkeypatch.setattr(threads, "THREADS_MAX", len(named))
    assert threads.threads_naming("ACME", workspace=workspace) is not None
    monkeypatch.setattr(threads, "EVENTS_MAX", 5)
    assert threads.threads_naming("ACME", workspace=workspace) is None


def test_an_agent_of_few_threads_is_in_the_first_answer(
    everything: Question, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = everything.workspace
    work = scene.lease(scene.start(workspace, scene.make_agent("seldom")))
    scene.effect(work, args={"to": "acme@example.com"})
    for _ in range(8):  # newer ones
        scene.start(workspace, scene.make_agent())
    questions_of = [
        Question(workspace, agent=agent, kinds=kinds, payee=payee, payees=PAYEES)
        for agent in ("seldom", "nobody", "payments")
        for kinds in ((), records.NOTABLE, records.DECISIONS)
        for payee in ("", "acme")
    ]
    by_walk = [answers_to(question) for question in questions_of]
    assert sum(map(bool, by_walk)) >= 6
    monkeypatch.setattr(questions, "FIRST", 1)
    assert [answers_to(question) for question in questions_of] == by_walk
    monkeypatch.setattr(questions, "WINDOW", 3)
    monkeypatch.setattr(questions, "LOOKS", 1)
    assert records.answer(Question(workspace, agent="nobody")).searched_all
    page = records.answer(Question(workspace, agent="seldom"))
    assert [row.kind for row in page.rows][-1] == "effect.started"
    monkeypatch.setattr(threads, "THREADS_MAX", 0)
    assert not records.answer(Question(workspace, agent="seldom")).searched_all


def test_threads_of_an_agent_are_read_by_their_index(everything: Question) -> None:
    rows("SET LOCAL session_replication_role = replica")
    rows(
        "INSERT INTO gp_thread SELECT (jsonb_populate_record(one, jsonb_build_object('id', "
        "gen_random_uuid(), 'agent', 'agent ' || n))).* "
        "FROM (SELECT t AS one FROM gp_thread t LIMIT 1) s, generate_series(1, 2000) n"
    )
    rows("ANALYZE gp_thread")
    with CaptureQueriesContext(connection) as captured:
        threads.threads_of("agent 7", workspace=everything.workspace)
    used = {name for _, name in scans(plan_of(captured.captured_queries[0]["sql"]))}
    assert used <= {"gp_thread_agent", "gp_thread_name"}


@pytest.mark.slow
def test_each_part_is_read_by_its_index(everything: Question) -> None:
    rows("SET LOCAL session_replication_role = replica")
    for table in ("gp_activity", "gp_approval", "gp_decision"):
        rows(
            f"INSERT INTO {table} SELECT (jsonb_populate_record(one, jsonb_build_object('id', "
            "gen_random_uuid(), 'thread_id', gen_random_uuid(), 'approval_id', gen_random_uuid(), "
            "'args', jsonb_build_object('payee', 'company ' || n)))).* "
            f"FROM (SELECT t AS one FROM {table} t LIMIT 1) s, generate_series(1, 2000) n"
        )
        rows(f"ANALYZE {table}")
    with CaptureQueriesContext(connection) as captured:
        threads.threads_naming("ACME", workspace=everything.workspace)
    used = {name for _, name in scans(plan_of(captured.captured_queries[0]["sql"]))}
    assert {"gp_activity_payee", "gp_approval_payee", "gp_decision_payee"} <= used


def test_the_index_has_the_names_that_a_search_has() -> None:
    [(definition,)] = rows("SELECT pg_get_functiondef('gp_payee_trigrams'::regproc)")
    for listed in (r'~ \'"\((.*?)\)":', r"ANY \(ARRAY\[(.*?)\]\)"):
        match = re.search(listed, definition, re.DOTALL)
        assert match is not None, definition
        assert tuple(re.findall(r"[a-z_]{2,}", match[1].replace("::text", ""))) == PAYEES
