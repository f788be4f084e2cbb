"""A thread whose request was voted on travels with its votes; what was held opens nothing there."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest
from django.contrib.auth import get_user_model

from approvals import gates, queries
from approvals.rules.terms import Seat, Terms
from approvals.verification.proof import verify
from checkpoints import store
from tests.unit.approvals.cast import LENA, MIRA, NEW, OMAR, back, now, open_request, say
from tests.unit.checkpoints.builders import drive, make_thread
from tests.unit.dashboard.carried import another_workspace, brought, empty, export

pytestmark = pytest.mark.django_db


@pytest.fixture
def voted(db: None) -> UUID:
    """Votes, an edit, a decision taken back, and one that is held; `carrier` may carry it."""
    work = drive(make_thread(), 1).work
    user = get_user_model()._default_manager.create_user(username="carrier")
    store.grant(work.workspace, user.pk, "operator", actor="user:0")
    row = open_request(Terms(stages=(Seat(count=2),), undo_window=3600), work=work)
    say(row, LENA)
    say(row, MIRA, "edit", args=NEW)
    say(row, OMAR)
    back(row, OMAR)
    say(row, LENA)
    assert now(row).status == "held"
    return work.thread


def test_votes_travel_and_what_was_held_is_withdrawn(voted: UUID, tmp_path: Path) -> None:
    [row] = queries.for_thread(voted)
    before = queries.votes(row.id)
    capsule = export(voted, tmp_path)
    empty()
    there = another_workspace()
    assert brought(capsule)["thread"] == str(voted)
    report = verify(voted)
    assert report.intact, report.what
    [result] = queries.for_thread(voted)
    assert (result.workspace, result.imported) == (there, True)
    assert (result.status, result.outcome, result.shown_args) == ("withdrawn", "", NEW)
    assert queries.votes(row.id) == before
    assert gates.settle_due() == 0
