"""Destinations as GATEPOST_ANCHORS names them."""

from __future__ import annotations

from typing import Any

import pytest

from approvals.anchors.destinations import parse
from dashboard.configuration import anchors
from dashboard.configuration.sources import Misconfigured


@pytest.mark.parametrize(
    ("text", "kind", "name", "every"),
    [
        ("file:///mnt/a/b.jsonl", "file", "file /mnt/a/b.jsonl", 60),
        ("mailto:a@b.example", "mailto", "mail a@b.example", 3600),
        ("mailto:a@b.example?every=600", "mailto", "mail a@b.example", 600),
        ("https://x.example/in/T0KEN", "webhook", "webhook https://x.example", 60),
        ("tsa+http://t.example/q?ca=/c.pem", "tsa", "time stamp http://t.example", 60),
    ],
)
def test_a_place_and_what_is_shown_of_it(text: str, kind: str, name: str, every: float) -> None:
    made = parse(text)
    assert (made.kind, made.name, made.every) == (kind, name, every)
    assert "T0KEN" not in repr(made)


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", "file:relative", "file://host/x", "mailto:nobody", "ftp://x/y", "tsa+file:///x"),
        *("https://", "https://u:p@x.example/", "mailto:a@b.example?every=1", "tsa+https:"),
        *("https://x.example:99999/", "tsa+http://x.example:0/", "https://x.example:nine/"),
        *(f"file:///{'x' * 200}", "file:///a%00b", "mailto:a@b.example%0d%0aBcc:c@d.example"),
    ],
)
def test_what_is_no_place_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"begins|needs|takes"):
        parse(text)


def test_a_wrong_setting_is_one_line_without_the_address(monkeypatch: Any) -> None:
    monkeypatch.setenv("GATEPOST_ANCHORS", "file:///a.jsonl, https://u:T0KEN@x.example/")
    with pytest.raises(Misconfigured, match="number 2") as error:
        anchors.destinations()
    assert "T0KEN" not in str(error.value)
    monkeypatch.setenv("GATEPOST_ANCHORS", "https://x.example/in")
    with pytest.raises(Misconfigured, match="GATEPOST_ANCHORS_SECRET"):
        anchors.destinations()
    monkeypatch.setenv("GATEPOST_ANCHORS_SECRET", "whsec_x")
    with pytest.raises(Misconfigured, match="GATEPOST_ANCHORS_SECRET"):
        anchors.secret()
    monkeypatch.setenv("GATEPOST_ANCHORS", "")
    assert anchors.destinations() == ()


def test_options_are_ours_and_the_rest_of_a_query_is_the_receivers() -> None:
    made = parse("https://x.example/in?sig=a%2Fb+c&every=90&v=1")
    assert (made.address, made.every) == ("https://x.example/in?sig=a%2Fb+c&v=1", 90)
    made = parse("tsa+http://t.example/q?ca=/c.pem&profile=2")
    assert (made.address, made.ca) == ("http://t.example/q?profile=2", "/c.pem")
