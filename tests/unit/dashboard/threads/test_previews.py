"""The page with a look into a file: text, tables, pictures and JSON, and no page of others."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html import unescape
from random import Random

import pytest

from checkpoints import store
from tests.support.cast import Cast
from tests.unit.dashboard import scene
from tests.unit.dashboard.documents.previews.test_preview import PICTURES, RUNNABLE, files, png

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert(1)</script>\u202e'\"&<img src=x onerror=y>"


@pytest.fixture
def look(cast: Cast) -> Callable[..., str]:
    """Keeps a file and opens its preview; the main part of the page."""
    client = cast.client("viewer")

    def opened(name: str, content: bytes) -> str:
        ref = store.put_artifact(
            cast.workspace, name=name, media_type="text/plain", chunks=[content]
        )
        answer = client.get(f"/artifacts/{ref['$artifact']}/preview/")
        assert answer.status_code == 200, name
        assert "script-src 'self'" in answer["Content-Security-Policy"]
        assert "unsafe" not in answer["Content-Security-Policy"]
        assert answer["X-Content-Type-Options"] == "nosniff"
        return answer.content.decode().partition("<main")[2].partition("</main>")[0]

    return opened


def kind(html: str) -> str:
    match = re.search(r'data-kind="(\w+)"', html)
    assert match
    return match[1]


def test_each_kind_is_shown_as_what_it_is(look: Callable[..., str]) -> None:
    html = look("notes.md", f"Hello {HOSTILE}".encode())
    assert kind(html) == "text"
    assert "&lt;script&gt;" in html
    assert 'class="esc"' in html
    html = look("rows.csv", f'a,"{HOSTILE.replace(chr(34), "")}"\n1,2\n'.encode())
    assert (kind(html), html.count("<th "), html.count("<td>")) == ("table", 2, 2)
    html = look("state.json", json.dumps({"a": [HOSTILE], HOSTILE: 1}).encode())
    assert kind(html) == "json"
    assert '<ul class="tree">' in html
    html = look("chart", png())
    assert kind(html) == "picture"
    source = re.search(r'<img src="([^"]+)"', html)
    assert source
    assert "inline=1" in source[1]


@pytest.mark.parametrize("raw", [*RUNNABLE, b"%PDF-1.7", b"\0\1\2", b"PK\3\4" + bytes(50)])
def test_everything_else_is_only_offered(look: Callable[..., str], raw: bytes) -> None:
    html = look("file.txt", raw)
    assert kind(html) == "none"
    assert "Download it to open it." in html
    assert "<img" not in html


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_no_bytes_make_a_page_of_their_own(look: Callable[..., str], seed: int) -> None:
    """Whatever is in a file, the page has the elements that we wrote, and no others."""
    random = Random(seed)
    ours = "a b button caption code del details div h1 header img ins li p pre section small span "
    allowed = set((ours + "summary svg table tbody td th thead tr ul use").split())
    for raw in files(random):
        name = random.choice(("a.txt", "a.csv", "a.json", "a.md", "b.png", HOSTILE))
        html = look(name, raw)
        assert set(re.findall(r"<([a-z0-9]+)", html)) <= allowed, raw[:40]
        # Without the values of attributes, which hold the file's name as text.
        bare = re.sub(r'"[^"]*"', '""', html)
        assert not re.search(r"<[^>]*\son\w+=", bare), raw[:40]
        assert not re.search(r'(?:href|src)="(?!/|\?|#)', html), raw[:40]


def test_a_look_at_a_large_file_is_bounded(look: Callable[..., str]) -> None:
    html = look("large.csv", b"a,b,c\n" + b"x" * 10 + b",y,z\n" * 200_000)
    assert 'id="cut"' in html
    assert len(html) < 80_000
    html = look("large.txt", b"words \n" * 200_000)
    assert 'id="cut"' in html
    assert len(html) < 80_000


def test_pictures_are_served_for_pages_and_only_as_pictures(cast: Cast) -> None:
    client = cast.client("viewer")
    for media_type, raw in PICTURES.items():
        ref = store.put_artifact(
            cast.workspace, name="page.html", media_type="text/html", chunks=[raw]
        )
        answer = client.get(f"/artifacts/{ref['$artifact']}/?inline=1")
        assert answer["Content-Type"] == media_type
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert "sandbox" in answer["Content-Security-Policy"]
        assert b"".join(answer.streaming_content) == raw  # type: ignore[attr-defined]


def test_a_thread_s_page_leads_to_the_look_under_its_own_name(cast: Cast) -> None:
    work = scene.lease(scene.start(cast.workspace, scene.make_agent()))
    ref = store.put_artifact(
        cast.workspace, name="first.csv", media_type="text/csv", chunks=[b"a,b\n1,2\n"]
    )
    page = store.put_artifact(
        cast.workspace, name="x.html", media_type="text/html", chunks=[b"<html>"]
    )
    scene.step(work, file={"one": ref | {"name": "table.csv"}, "two": page})
    client = cast.client("viewer")
    html = client.get(f"/threads/{work.thread}/").content.decode()
    links = [
        unescape(href) for href in re.findall(r'href="(/artifacts/[^"]*/preview/[^"]*)"', html)
    ]
    assert len(links) == 1
    shown = client.get(links[0]).content.decode()
    assert "table.csv</h1>" in shown
    assert client.get(f"/artifacts/{page['$artifact']}/preview/").status_code == 200


def test_a_look_is_for_members_of_the_workspace(cast: Cast) -> None:
    ref = store.put_artifact(cast.workspace, name="a.txt", media_type="text/plain", chunks=[b"a"])
    address = f"/artifacts/{ref['$artifact']}/preview/"
    assert cast.client("stranger").get(address).status_code == 404
    assert cast.client("nobody").get(address).status_code == 403
    assert cast.client("viewer").get("/artifacts/zzz/preview/").status_code == 404
    assert cast.client("viewer").post(address).status_code == 405
