"""Files that agents and people keep, as a browser gets them: never a page of this site."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable
from html import unescape
from urllib.parse import unquote
from uuid import UUID

import pytest
from django.test import Client

from checkpoints import store
from dashboard.html.file_links import file_url
from dashboard.html.trees import render
from tests.support.cast import Cast

pytestmark = pytest.mark.requirement("B23")

# What an agent may call a file, and what it is called on somebody's disk.
NAMES = {
    "../../etc/passwd": "passwd",
    "..": "file",
    "/": "file",
    ".bashrc": "bashrc",
    "a\\b\\c.txt": "c.txt",
    'a"; filename="evil.exe': 'a"; filename="evil.exe',
    "a\r\nSet-Cookie: x=1": "aSet-Cookie: x=1",
    "invoice\u202efdp.exe": "invoicefdp.exe",
    "zero\u200bwidth.txt": "zerowidth.txt",
    "Übergröße 表.csv": "Übergröße 表.csv",
    "x" * 255: "x" * 255,
    "表" * 255: "表" * 255,
    " . ": "file",
}
# Each is something that a browser would run or show as a page.
ACTIVE = {
    "page.html": ("text/html", b"<script>alert(1)</script>"),
    "page.xhtml": ("application/xhtml+xml", b"<html xmlns='http://www.w3.org/1999/xhtml'/>"),
    "picture.svg": ("image/svg+xml", b"<svg xmlns='http://www.w3.org/2000/svg' onload='x()'/>"),
    "feed.xml": ("application/xml", b"<?xml-stylesheet href='x.xsl'?><a/>"),
    "script.js": ("text/javascript", b"alert(1)"),
    "script.mjs": ("application/javascript", b"alert(1)"),
    "mail.mht": ("multipart/related", b"From: a"),
    "plugin.swf": ("application/x-shockwave-flash", b"FWS"),
    "a.manifest": ("text/cache-manifest", b"CACHE MANIFEST"),
    "style.css": ("text/css", b"*{}"),
    "no name for it": ("text/html", b"<script>alert(1)</script>"),
    "not.png": ("image/png", b"<script>alert(1)</script>"),
    "half.png": ("text/html", b"\x89PNG\r\n"),
}
HARMLESS = {"text/plain; charset=utf-8", "image/png", "application/octet-stream"}


@pytest.fixture
def stored(cast: Cast) -> Callable[..., str]:
    """Keeps a file as an agent does; its address."""

    def keep(name: str, content: bytes = b"", media_type: str = "text/plain") -> str:
        workspace: UUID = cast.workspace
        content = content or os.urandom(8)
        ref = store.put_artifact(workspace, name=name, media_type=media_type, chunks=[content])
        return f"/artifacts/{ref['$artifact']}/"

    return keep


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_tame_when_it_leaves(cast: Cast, stored: Callable[..., str], name: str) -> None:
    answer = cast.client("viewer").get(stored(name))
    assert answer.status_code == 200
    b"".join(answer.streaming_content)
    payload = answer.headers["Content-Disposition"]
    shown, plain, encoded = payload.split("; ", 2)
    assert shown == "attachment"
    assert plain.startswith('filename="')
    assert plain.count('"') == 2
    assert not set(plain) & set("/\\\r\n")
    result = unquote(encoded.removeprefix("filename*=UTF-8''"))
    assert result == NAMES[name]
    assert not any(unicodedata.category(c)[0] == "C" for c in result)


@pytest.mark.slow
@pytest.mark.parametrize("query", ["", "?inline=1"])
@pytest.mark.parametrize("name", ACTIVE)
def test_nothing_that_a_browser_would_run_is_shown(
    cast: Cast, stored: Callable[..., str], name: str, query: str
) -> None:
    media_type, content = ACTIVE[name]
    answer = cast.client("viewer").get(stored(name, content, media_type) + query)
    assert answer.headers["Content-Disposition"].startswith("attachment; ")
    assert answer.headers["Content-Type"] in HARMLESS
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "sandbox" in policy
    assert b"".join(answer.streaming_content) == content


def test_a_part_is_answered_with_the_whole(cast: Cast, stored: Callable[..., str]) -> None:
    client: Client = cast.client("viewer")
    address = stored("list.csv", b"0123456789")
    for request in (
        "bytes=0-3",
        "bytes=-3",
        "bytes=20-",
        "bytes=3-1",
        "bytes=0-1,4-5",
        "x" * 5_000,
    ):
        answer = client.get(address, headers={"Range": request})
        assert answer.status_code == 200
        assert b"".join(answer.streaming_content) == b"0123456789"  # type: ignore[attr-defined]
    assert client.post(address).status_code == 405


def test_whoever_is_elsewhere_gets_nothing(cast: Cast, stored: Callable[..., str]) -> None:
    address = stored("list.csv")
    assert cast.client("stranger").get(address).status_code == 404
    assert cast.client("nobody").get(address).status_code == 403
    assert Client().get(address).status_code == 302


def test_a_file_has_the_name_by_which_its_page_calls_it(
    cast: Cast, stored: Callable[..., str]
) -> None:
    """The same bytes are kept once; who brought them first does not name them for everybody."""
    address = stored("salaries-2025.csv", b"1,2")
    assert stored("prices.csv", b"1,2") == address
    sha = address.split("/")[2]
    client = cast.client("viewer")

    def name(link: str) -> str:
        answer = client.get(link)
        b"".join(answer.streaming_content)
        return unquote(answer.headers["Content-Disposition"].partition("UTF-8''")[2])

    for shown in ("prices.csv", "Übergröße 表.csv", "a b&c=d#e?.csv", "x" * 255):
        assert name(file_url(sha, shown)) == shown
    drawn = render(
        {"file": {"$artifact": sha, "name": "prices.csv", "media_type": "text/csv", "size": 3}}
    )
    (link,) = re.findall(r'href="([^"]+)"', str(drawn))
    assert name(unescape(link)) == "prices.csv"
    # Made elsewhere, or for other bytes, a link names nothing.
    other = file_url("0" * 64, "update.exe").partition("?")[2]
    for forged in ("as=update.exe", "as=update.exe:sig", other, "as=%00", "as="):
        assert name(f"{address}?{forged}") == "salaries-2025.csv"
