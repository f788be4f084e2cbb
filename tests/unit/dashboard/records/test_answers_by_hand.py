"""The search of the record against a reading of all events, one by one: the same rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Any

import pytest

from approvals.records import DECISIONS, NOTABLE
from approvals.records.kinds import OF_REQUESTS
from tests.contract.world import make_world
from tests.support.cast import Cast
from tests.unit.dashboard import scene
from tests.unit.dashboard.calls import post

pytestmark = pytest.mark.django_db
type Row = Mapping[str, Any]
type Fits = Callable[[Row], bool]
OF_PROPOSALS = {"risk", "decision", "payee", "amount_from", "amount_to"}
PAY = {"payee": "ACME", "amount": "5000.00", "currency": "EUR"}


def answered(client: Any, **filters: str) -> list[Row]:
    """All rows of an answer, by its pages."""
    results: list[Row] = []
    cursor = ""
    while True:
        more = {"cursor": cursor} if cursor else {}
        answer = client.get("/api/v1/records/", {**filters, "limit": 100, **more})
        assert answer.status_code == 200, (filters, answer.content)
        page = answer.json()
        results += page["results"]
        cursor = page["next_cursor"]
        if not cursor:
            assert page["searched_all"]
            return results


def key_of(row: Row) -> tuple[str, int]:
    return row["thread"], row["seq"]


def paid(cast: Cast) -> str:
    """A payment that was edited, and what was done under its approval; the request's id."""
    work = scene.lease(scene.start(cast.workspace, scene.make_agent("payments")))
    scene.step(work, report="ready")
    row = scene.gate(work, args=PAY, risk="high", title="Pay?")
    verdict = {"verdict": "edit", "proposal_hash": row.proposal_hash}
    less = {**PAY, "payee": "Globex", "amount": "500.00"}
    answer = post(cast.client("manager"), f"/approvals/{row.id}/decide/", {**verdict, "args": less})
    assert answer.status_code == 200, answer.content
    scene.effect(scene.lease(work.thread), key="publish:2", approval=row.id)
    return str(row.id)


def questions(rows: list[Row], payment: str) -> Iterator[tuple[dict[str, str], Fits]]:
    """Filters that have answers, each with its meaning."""
    for name in ("agent", "tool", "risk", "decision", "thread"):
        for value in sorted({row[name] for row in rows if row[name]}):
            yield {name: value}, lambda row, n=name, v=value: row[n] == v  # type: ignore[misc]
    for value in sorted({row["at"] for row in rows})[::20]:
        yield {"since": value}, lambda row, v=value: row["at"] >= v  # type: ignore[misc]
        yield {"until": value}, lambda row, v=value: row["at"] < v  # type: ignore[misc]
    for filters in (
        {"payee": "ACME"},
        {"payee": "globex"},
        {"amount_to": "600"},
        {"amount_from": "4999", "risk": "high"},
    ):
        yield filters, lambda row: row["approval"] == payment


def of_kinds(rows: list[Row]) -> Iterator[tuple[str, Fits]]:
    yield "all", lambda row: True
    yield "", lambda row: row["kind"] in NOTABLE
    for kind in sorted({row["kind"] for row in rows}):
        yield kind, lambda row, k=kind: row["kind"] == k  # type: ignore[misc]
    yield "effect,approval", lambda row: row["kind"].partition(".")[0] in ("effect", "approval")


@pytest.mark.slow
@pytest.mark.requirement("A28")
def test_every_filter_with_every_kind_answers_what_a_reading_finds(cast: Cast) -> None:
    make_world(cast)
    payment = paid(cast)
    client = cast.client("auditor")
    everything = answered(client, kind="all")
    assert len({key_of(row) for row in everything}) == len(everything) >= 60
    assert {row["kind"] for row in everything if row["approval"]} <= {*OF_REQUESTS}
    assert "effect.started" in {row["kind"] for row in everything if row["approval"] == payment}
    pairs = list(itertools.product(questions(everything, payment), of_kinds(everything)))
    n_answers = 0
    for (filters, fits), (kind, is_kind) in Random(21).sample(pairs, 280):
        if OF_PROPOSALS & {*filters} and not kind:
            # Without kinds of its own it is about decisions, and of a payee also about effects.
            is_kind = of_decisions if {"decision", "risk"} & {*filters} else of_requests
        wanted = {key_of(row) for row in everything if fits(row) and is_kind(row)}
        asking = {**filters, "kind": kind} if kind else filters
        got = {key_of(row) for row in answered(client, **asking)}
        assert got == wanted, (asking, got ^ wanted)
        n_answers += len(got)
    assert n_answers >= 300


def of_decisions(row: Row) -> bool:
    return row["kind"] in DECISIONS


def of_requests(row: Row) -> bool:
    return row["kind"] in OF_REQUESTS
