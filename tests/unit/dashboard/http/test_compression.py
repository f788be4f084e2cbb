"""Pages and answers to tokens come compressed where the caller takes it; nothing else does."""

from __future__ import annotations

import gzip
import re
from typing import Any

import pytest
from django.test import Client

from dashboard.identity import tokens
from tests.support.cast import Cast
from tests.unit.dashboard import scene

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


def test_an_answer_to_a_token_is_the_same_and_smaller(cast: Cast) -> None:
    """Of a GET: what is shown only once is an answer to a POST."""
    agent = scene.make_agent()
    for _ in range(20):
        scene.start(cast.workspace, agent)
    made = tokens.make(cast.users["operator"], made_by="test")[1]
    token = {"authorization": f"Bearer {made}"}
    client, path = Client(), "/api/v1/threads/"
    plain = client.get(path, headers=token)
    packed = client.get(path, headers=token | GZIP)
    assert not plain.has_header("Content-Encoding")
    assert packed["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in packed["Vary"]
    assert len(packed.content) < len(plain.content) / 4
    assert gzip.decompress(packed.content) == plain.content
    thread = plain.json()["results"][0]["id"]
    one = client.get(f"{path}{thread}/", headers=token | GZIP)
    assert one["Content-Encoding"] == "gzip"
    versioned = token | {"if-match": one["ETag"]}
    paused = client.post(
        f"{path}{thread}/pause/", {}, content_type="application/json", headers=versioned | GZIP
    )
    assert paused.status_code == 200
    assert not paused.has_header("Content-Encoding")


def test_the_parts_that_a_page_fetches_are_compressed(cast: Cast) -> None:
    parts = {"x-gatepost-regions": "board-lanes,board-counts,board-feed"}
    answer = fetch(cast, "/", **parts, **GZIP)
    assert answer["Content-Encoding"] == "gzip"
    assert gzip.decompress(answer.content).startswith(b'{"seq"')


@pytest.mark.parametrize("path", ["/api/v1/threads/", "/overview/outcomes.csv"])
def test_what_is_no_page_stays_as_it_is(cast: Cast, path: str) -> None:
    answer = fetch(cast, path, **GZIP)
    assert answer.status_code == 200
    assert not answer.has_header("Content-Encoding")


def test_a_refusal_is_a_page_too(cast: Cast) -> None:
    answer = fetch(cast, "/threads/00000000-0000-4000-8000-000000000000/", **GZIP)
    assert (answer.status_code, answer["Content-Encoding"]) == (404, "gzip")
