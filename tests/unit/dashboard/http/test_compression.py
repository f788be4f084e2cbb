"""Pages come compressed where the browser takes it; nothing else does."""

from __future__ import annotations

import gzip
import re
from typing import Any

import pytest

from tests.support.cast import Cast

pytestmark = pytest.mark.django_db
TOKEN = re.compile(rb"[A-Za-z0-9]{64}")  # of forms, another one each time
NUMBERS = re.compile(rb"[0-9]+")  # of clocks
GZIP = {"accept-encoding": "gzip, br"}


def fetch(cast: Cast, path: str, **headers: str) -> Any:
    return cast.client("operator").get(path, headers=headers)


def test_a_page_is_the_same_and_smaller(cast: Cast) -> None:
    plain = fetch(cast, "/")
    packed = fetch(cast, "/", **GZIP)
    assert not plain.has_header("Content-Encoding")
    assert packed["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in packed["Vary"]
    assert "Cookie" in packed["Vary"]
    assert packed["Content-Length"] == str(len(packed.content))
    assert packed["Cache-Control"] == plain["Cache-Control"]
    assert len(packed.content) < len(plain.content) / 3
    page = gzip.decompress(packed.content)
    assert TOKEN.search(page)
    same = [NUMBERS.sub(b"", TOKEN.sub(b"", one)) for one in (page, plain.content)]
    assert same[0] == same[1]


def test_its_length_says_little(cast: Cast) -> None:
    """Of the very same page with another token and padding."""
    assert len({len(fetch(cast, "/approvals/", **GZIP).content) for _ in range(12)}) > 4


@pytest.mark.parametrize("path", ["/api/v1/threads/", "/overview/outcomes.csv"])
def test_what_is_no_page_stays_as_it_is(cast: Cast, path: str) -> None:
    answer = fetch(cast, path, **GZIP)
    assert answer.status_code == 200
    assert not answer.has_header("Content-Encoding")


def test_a_refusal_is_a_page_too(cast: Cast) -> None:
    answer = fetch(cast, "/threads/00000000-0000-4000-8000-000000000000/", **GZIP)
    assert (answer.status_code, answer["Content-Encoding"]) == (404, "gzip")
