"""Code of the release before goes on to write requests after the migration, and is read right."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth import get_user_model
from django.db import connection

from approvals import gates, queries
from approvals.gates import Reviewer, validity
from approvals.inbox import rows as inbox_rows
from approvals.queries import ApprovalRow
from approvals.rules.terms import Seat, Terms
from approvals.verification.proof import verify
from checkpoints.models import Membership
from tests.unit.approvals.cast import BOSS, MIRA, OMAR, now, open_request, say, two
from tests.unit.checkpoints.builders import rows

pytestmark = pytest.mark.django_db
STAGES = Terms(stages=(Seat(teams=("finance",)), Seat(people=("boss",))))


def former(row: ApprovalRow, sets: str) -> None:
    """Write a request by a statement of that code, which knows no column of the count."""
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE gp_approval a SET {sets} WHERE id = %s", [row.id])


def count(row: ApprovalRow) -> list[Any]:
    return list(
        rows("SELECT tally, due_seats, due_except FROM gp_approval WHERE id = %s", [row.id])[0]
    )


def counted_anew(row: ApprovalRow) -> list[Any]:
    """The count after the next sweep."""
    assert count(row)[0] is None
    assert gates.tally_due() == 1
    assert gates.tally_due() == 0
    return count(row)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "sets",
    [
        "status = 'settled', outcome = 'approve', effective_at = clock_timestamp()",
        "status = 'held', outcome = 'reject'",
        "status = 'expired', decided_at = clock_timestamp()",
        "status = 'withdrawn', comment = 'rolled back'",
    ],
)
def test_what_it_closes_is_nobodys_turn(sets: str) -> None:
    row = open_request(two())
    former(row, sets)
    assert count(row)[1:] == [[], []]
    assert counted_anew(row)[1:] == [[], []]


@pytest.mark.slow
def test_what_it_takes_back_is_somebodys_turn_again() -> None:
    row = open_request(two())
    before = count(row)
    former(row, "status = 'held', outcome = 'approve'")
    former(row, "status = 'pending', outcome = ''")
    assert counted_anew(row) == before


def test_a_vote_that_it_recorded_counts() -> None:
    row = open_request(STAGES)
    before = count(row)
    say(row, MIRA)
    after = count(row)
    assert list(now(row).due_seats) == ["user:boss"]
    # The vote stands in its table; the request is as that code leaves it.
    rows(
        "UPDATE gp_approval SET tally = (%s)::jsonb, due_seats = %s, due_except = %s "
        "WHERE id = %s RETURNING 1",
        [_json(before[0]), before[1], before[2], row.id],
    )
    former(row, "status = a.status")
    assert counted_anew(row) == after
    assert say(row, BOSS).outcome == "approve"
    assert verify(row.thread).intact


def test_a_request_that_it_made_reaches_its_people() -> None:
    row = open_request(two())
    before = count(row)
    former(row, "tally = NULL, due_seats = '{}', due_except = '{}'")
    assert counted_anew(row) == before
    say(row, MIRA)
    assert say(row, OMAR).outcome == "approve"


def test_verdicts_and_reminders_of_this_code_need_no_second_count() -> None:
    row = open_request(STAGES)
    say(row, MIRA)
    former(row, "reminded = 1")
    assert count(row)[0] is not None
    say(row, BOSS)
    assert count(row)[0] is not None
    assert gates.tally_due() == 0


def _json(value: Any) -> str:
    import json

    return value if isinstance(value, str) else json.dumps(value)


def test_counting_all_of_them_is_done_once(django_assert_max_num_queries: Any) -> None:
    """What a migration fills: requests of every status, in few statements."""
    idents: list[UUID] = []
    before = {}
    for made in range(3):
        row = open_request(two())
        if made:
            say(row, MIRA)
        if made == 2:
            say(row, OMAR)
        before[row.id] = count(row)
        idents.append(row.id)
    former_all = "UPDATE gp_approval SET tally = NULL, due_seats = '{}', due_except = '{}'"
    with connection.cursor() as cursor:
        cursor.execute(former_all)
    from approvals.gates.verdict import tallies

    with django_assert_max_num_queries(6):
        tallies.tally_all()
    results = {
        i: rows("SELECT tally, due_seats, due_except FROM gp_approval WHERE id=%s", [i])[0]
        for i in idents
    }
    assert {i: list(v) for i, v in results.items()} == before


def test_until_the_sweep_counts_every_reader_counts_for_itself() -> None:
    row = open_request(STAGES)
    say(row, MIRA)
    before = now(row)
    [listed] = inbox_rows.rows([row.id], workspace=row.workspace).values()
    voted = queries.votes(row.id)
    former(row, "tally = NULL, due_seats = '{}', due_except = '{}'")
    after = now(row)
    assert after.progress == before.progress
    assert list(after.due_seats) == ["user:boss"]
    assert [v.counts for v in queries.votes(row.id)] == [v.counts for v in voted] == [True]
    assert inbox_rows.rows([row.id], workspace=row.workspace)[row.id] == listed
    assert count(row)[0] is None, "a reader writes nothing"


def test_what_it_let_happen_happens_though_the_sweep_has_not_counted() -> None:
    user = get_user_model().objects.create_user("mira")
    row = open_request(Terms())
    who = Reviewer(f"user:{user.pk}", "Mira", "mira")
    say(row, who)
    after = now(row)
    assert "may no longer decide" in validity.doubts(after)  # no role yet
    Membership.objects.create(workspace_id=row.workspace, user_id=user.pk, role="reviewer")
    assert validity.doubts(after) == ""
    former(row, "tally = NULL")
    assert validity.doubts(now(row)) == ""
    assert count(row)[0] is not None
