"""Verifying covers the life of a request with several people: each column altered is found."""

from __future__ import annotations

from uuid import UUID

import pytest

from approvals import gates
from approvals.gates import Reviewer
from approvals.rules.terms import Seat, Terms
from approvals.verification.proof import verify
from tests.unit.checkpoints.builders import drive, make_thread, rows
from tests.unit.dashboard.records.integrity.altered_columns import (
    FREE,
    altered_rows,
    columns_of,
    unguarded,
)

from .cast import LENA, MIRA, NEW, OMAR, back, now, open_request, say
from .gates.test_gates import gate

pytestmark = pytest.mark.django_db
__all__ = ["unguarded"]


@pytest.fixture
def voted(db: None) -> UUID:
    """Votes, an edit, a question, a decision taken back and one held, a deadline moved."""
    work = drive(make_thread(), 1).work
    gates.decide_by_policy(work, gate(work, "publish#1", policy_version="p@3", allowed_by="small"))
    terms = Terms(
        stages=(Seat(count=2),),
        undo_window=3600,
        on_expiry="escalate",
        escalate_to=Seat(people=("boss",)),
        escalate_for=7200,
    )
    row = open_request(terms, work=work, expires_in=3600.0)
    rows("UPDATE gp_approval SET decide_by = clock_timestamp() WHERE id = %s::uuid", [row.id])
    assert gates.expire_due() == 1
    say(row, MIRA, "respond", comment="why?")
    say(row, LENA)
    say(row, MIRA, "edit", args=NEW)
    say(row, OMAR, comment="fine")
    back(row, OMAR)
    say(row, Reviewer("user:9", "Bea", "boss"), comment="so be it")
    assert now(row).status == "held"
    report = verify(work.thread)
    assert report.intact, report.what
    return work.thread


@pytest.mark.slow
@pytest.mark.usefixtures("unguarded")
@pytest.mark.parametrize("table", ["gp_approval", "gp_decision"])
def test_whatever_column_of_a_vote_is_altered_is_found(table: str, voted: UUID) -> None:
    unseen, tried = [], 0
    for column, kind in columns_of(table):
        if (table, column) in FREE:
            continue
        for what in altered_rows(table, column, kind, voted):
            tried += 1
            if verify(voted, files=False).intact:
                unseen.append(what)
    assert not unseen, sorted(set(unseen))
    assert tried >= len(columns_of(table)) - len(FREE)
