"""A cast that is inserted from saved rows is the one that the product writes."""

import pytest
from django.db import connection, transaction

from checkpoints.chain import verify_workspace
from tests.support import saved_cast
from tests.support.cast import PEOPLE, Cast


def rolled_back_cast() -> tuple[Cast, dict[str, set[str]]]:
    """A cast and all rows beside it; both are gone afterwards."""
    with transaction.atomic():
        cast, written = saved_cast.load_cast(), saved_cast.written()
        transaction.set_rollback(True)
    return cast, written


def test_the_inserted_rows_are_those_that_the_product_wrote(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved_cast, "_saved", None)
    made, written = rolled_back_cast()
    made.users["another"] = made.users["admin"]  # a test's own
    inserted, rows = rolled_back_cast()
    assert rows == written
    assert inserted.users == {name: made.users[name] for name in PEOPLE}
    assert (inserted.workspace, inserted.elsewhere) == (made.workspace, made.elsewhere)
    assert len(rows["gp_membership"]) == sum(len(roles) for _, roles in PEOPLE.values())
    assert not any(inserted.users[name] is made.users[name] for name in PEOPLE)


def test_the_workspaces_of_an_inserted_cast_are_intact(cast: Cast) -> None:
    assert verify_workspace(cast.workspace).intact
    with connection.cursor() as cursor:
        cursor.execute("SHOW session_replication_role")
        assert cursor.fetchone() == ("origin",)
