"""Each column of a request that holds text is emptied by an erasure, or says why it stays."""

from __future__ import annotations

import re
from typing import Final

import pytest
from django.db import connection

from approvals.columns import APPROVAL

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("G02")]
# What an erasure leaves: it says what was decided, when, by whom and under which rule.
STAYS: Final = {
    "key": "its position",
    "kind": "gate, question, repeat or operation",
    "node": "its position",
    "tool": "a registered name",
    "undo": "a registered name",
    "risk": "one of four words",
    "terms": "who has to decide, of a policy or the code of the agent",
    "tally": "who has decided",
    "policies": "a hash",
    "policy_version": "names a policy",
    "proposal_hash": "a hash",
    "standing_hash": "a hash",
    "outcome": "the verdict",
    "what_next": "one of a few words",
    "decided_by": "who decided",
    "decided_by_name": "who decided",
}


def test_each_text_of_a_request_is_erased_or_says_why_it_stays() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT prosrc FROM pg_proc WHERE proname = 'gp_erase_requests' "
            "AND pronamespace = current_schema()::regnamespace"
        )
        [(body,)] = cursor.fetchall()
    [emptied] = re.findall(r"UPDATE gp_approval SET (.*?)\s+WHERE thread_id", body, re.DOTALL)
    erased = set(re.findall(r"\b(\w+) = ", emptied))
    texts = {
        name
        for name, column in APPROVAL.items()
        if column.type in ("text", "varchar", "jsonb", "text[]")
    }
    assert texts - erased == {*STAYS}
