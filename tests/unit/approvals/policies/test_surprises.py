"""What CEL does silently is said beside the editor, by call and by command."""

from __future__ import annotations

import cel
import pytest

from approvals.policies import changes as policies
from approvals.policies.conditions import condition
from approvals.policies.drafts import Draft
from approvals.policies.surprises import (
    ORDER_OF_TEXTS,
    OUTER_SIZE,
    TEXT_AGAINST_NUMBER,
    WHOLE_DIVISION,
    warnings,
)
from tests.support.cast import Cast
from tests.unit.dashboard import calls


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("args.n == 5", [TEXT_AGAINST_NUMBER]),
        ("args.n != -5", [TEXT_AGAINST_NUMBER]),
        ("5 == args.n", [TEXT_AGAINST_NUMBER]),
        ("amount(args.n) == '5'", [TEXT_AGAINST_NUMBER]),
        ("'5' == amount(args.n)", [TEXT_AGAINST_NUMBER]),
        ("cost == '5'", [TEXT_AGAINST_NUMBER]),
        ("lower(args.n) == 5", [TEXT_AGAINST_NUMBER]),
        ("args.n in [1, 2]", [TEXT_AGAINST_NUMBER]),
        ("args.n > '10'", [ORDER_OF_TEXTS]),
        ("'9' <= args.n", [ORDER_OF_TEXTS]),
        ("args.a / args.b > 3", [WHOLE_DIVISION]),
        ("7 / 2 == 3", [WHOLE_DIVISION]),
        ("size(args.lists) > 3", [OUTER_SIZE]),
        ("args.lists.size() > 3", [OUTER_SIZE]),
        ("amount(args.n) == 5", []),
        ("amount(args.n) / 2.0 > 5", []),
        ("tool == 'pay' && amount(args.total) >= 10000", []),
        ("tool == '5'", []),
        ("cost > 20", []),
        ("args.n == '5' // == 5", []),
        ("args.text == '7 / 2 == 3'", []),
    ],
)
def test_each_surprise_is_warned_of_and_no_plain_condition(text: str, expected: list[str]) -> None:
    condition(text)
    assert list(warnings(text)) == expected


@pytest.mark.parametrize(
    "text", ["1 == '1'", "7 / 2 != 3", "'9' < '10'", "size([[1, 2, 3]]) == 3", "1 in ['1']"]
)
def test_the_library_does_what_the_warnings_say(text: str) -> None:
    assert cel.compile(text).execute(cel.Context({})) is False


@pytest.mark.django_db
@pytest.mark.requirement("E02")
def test_editor_and_api_show_them_and_save_all_the_same(cast: Cast) -> None:
    client = cast.client("admin")
    made = calls.post(client, "/policies/", {"name": "One", "condition": "args.n == 5"})
    assert made.status_code == 201
    assert made.json()["warnings"] == [TEXT_AGAINST_NUMBER]
    tried = calls.post(client, "/policies/try/", {"condition": "args.a / 2 > 3"})
    assert tried.json()["warnings"] == [WHOLE_DIVISION]
    page = client.get(f"/admin/policies/{made.json()['id']}/").content.decode()
    assert 'class="warns" role="note"' in page
    assert "A number never equals a text" in page
    row = policies.make(cast.workspace, Draft("Two", "tool == 'x'"), actor="user:9")
    assert 'class="warns"' not in client.get(f"/admin/policies/{row.policy}/").content.decode()
