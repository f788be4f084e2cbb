"""Claims as hostile as a provider can send them name nobody wrongly and fail nowhere."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import RequestFactory

from dashboard.kit.pages.base import page_of_ours
from dashboard.people.sso.claims import GROUPS_MAX, names, text

ODD: tuple[Any, ...] = (
    *(None, True, 0, 7.5, "", " ", "\0", "a\0b", "a\r\nBcc: b@example.com", "\ud800", "x" * 600),
    *([], ["ada"], {}, {"ada": 1}, [["ada"]]),
)


def test_a_claim_is_plain_text_that_can_be_stored_or_nothing() -> None:
    for value in ODD:
        taken = {text({"name": value}, "name", 255), *names({"name": value}, "name")}
        for one in taken | names({"name": [value]}, "name"):
            assert not set(one) & set("\0\r\n\ud800"), value
    assert text({"name": " ada\n"}, "name", 255) == "ada"


def test_groups_come_as_a_list_or_one_name() -> None:
    assert names({"groups": "ops"}, "groups") == {"ops"}
    assert names({}, "groups") == names({"groups": {"ops": 1}}, "groups") == frozenset()
    assert names({"groups": ["ops", "", 7, None, ["x"], "a\0", "\udfff"]}, "groups") == {"ops"}
    many = [f"g{i}" for i in range(GROUPS_MAX + 5)]
    assert len(names({"groups": many}, "groups")) == GROUPS_MAX
    assert text({"a": {"b": " c "}}, "a.b", 10) == "c"


@pytest.mark.parametrize(
    "wanted",
    [
        *("//evil.example", "/\\evil.example", "\\\\evil.example", "///evil.example"),
        *("https:evil.example", "http:///evil.example", "javascript:alert(1)", "/\t/evil.example"),
        *("https://evil.example@testserver.evil", "\x08//evil.example", " //evil.example", ""),
        *("https://testserver@evil.example/", "HTTPS://evil.example", "data:text/html,x"),
    ],
)
def test_no_address_of_others_is_where_a_sign_in_ends(wanted: str) -> None:
    assert page_of_ours(RequestFactory().get("/sso/"), wanted, "/") == "/"
