"""A database that stores nothing is told as what it is, on pages and by the API; never a 500."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client

from approvals import queries as gates
from tests.unit.dashboard.calls import post, refused


@pytest.mark.parametrize(
    ("code", "words"),
    [("53100", "disk is full"), ("25006", "read-only"), ("42501", "lacks a right")],
)
def test_an_outage_is_a_503_in_words(
    operator: Client, row: gates.ApprovalRow, code: str, words: str
) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$BEGIN RAISE EXCEPTION 'inner words' USING ERRCODE = '{code}'; END$$; "
            "CREATE TRIGGER refuse BEFORE INSERT ON gp_event "
            "FOR EACH ROW EXECUTE FUNCTION refuse()"
        )
    operator.raise_request_exception = False
    body = refused(post(operator, f"/threads/{row.thread}/cancel/", {"reason": "late"}), 503)
    assert words in body["detail"]
    page = operator.post(f"/threads/{row.thread}/cancel/", {"reason": "late"})
    assert page.status_code == 503
    assert words in page.content.decode()
    assert page["Retry-After"] == "5"
    for line in (str(body), page.content.decode()):
        assert "inner words" not in line
