"""An agent reads the web: off until a policy allows it, recorded, bounded, never inside."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from hashlib import sha256
from typing import Any
from uuid import UUID

import pytest

from approvals.policies.coverage import unannounced_names
from checkpoints import store
from checkpoints.chain import verify_thread
from checkpoints.states import Status
from tests.support.web_site import LOOPBACK, Site, site
from tests.unit.checkpoints.builders import rows
from tests.unit.workers.conftest import Bench, bench_of
from tests.unit.workers.graphs import web
from tests.unit.workers.node.test_policies_hold import policy
from workers.step import web_pages

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("F12")]
PAGE = (
    "<html><head><title>Alder  Bakery</title><style>p {}</style></head><body><h1>Bread</h1>"
    "<script>evil()</script><p>Open from <b>six</b>&nbsp;to ten.<ul><li>Rye<li>Spelt</ul></body>"
)


@pytest.fixture
def there() -> Iterator[Site]:
    with site() as result:
        yield result


@pytest.fixture
def bench(settings: Any) -> Bench:
    settings.GATEPOST_WEB_NETWORKS = [LOOPBACK]
    web.failing.clear()
    return bench_of(web)


def allow(bench: Bench, condition: str, name: str = "Pages", **more: Any) -> Any:
    return policy(bench, f"tool == 'web.read' && {condition}", name, action="allow", **more)


def read(bench: Bench, *urls: str) -> tuple[UUID, list[dict[str, Any]]]:
    """(the thread, what became of each page)."""
    thread = bench.start(urls=list(urls))
    row = bench.advance(thread)
    assert row.status is Status.SUCCEEDED, row.status_reason
    return thread, bench.state(thread)["pages"]


def refusal(bench: Bench, url: str) -> str:
    _, [page] = read(bench, url)
    assert page["off"] is False
    return str(page["refused"])


def test_it_is_off_until_a_policy_allows_the_host(bench: Bench, there: Site) -> None:
    url = there.put("/", PAGE)
    _, [page] = read(bench, url)
    assert page["off"] is True
    assert "is off for this agent" in page["refused"]
    assert f"args.host in ['{there.host}']" in page["refused"]
    allow(bench, f"agent == 'another' && args.host == '{there.host}'")
    allow(bench, "args.host == 'docs.example'", "Docs")
    _, [page] = read(bench, url)
    assert page["off"] is True
    assert there.hits.total() == 0
    allow(bench, f"agent == 'reading' && args.host in ['{there.host}']", "This one")
    _, [page] = read(bench, url)
    assert page["title"] == "Alder Bakery"
    assert there.hits["/"] == 1


def test_a_page_is_recorded_with_text_time_and_hash_and_read_once(
    bench: Bench, there: Site
) -> None:
    allow(bench, "true")
    url = there.put("/", PAGE, "text/html; charset=utf-8")
    web.failing[:] = [1]
    thread = bench.start(urls=[url, url])
    assert bench.advance(thread).status is Status.FAILED  # after both reads
    assert there.hits["/"] == 2
    store.retry(thread, actor="user:1")
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert there.hits["/"] == 2  # answered from the record
    first, second = bench.state(thread)["pages"]
    assert first["text"] == "Bread\nOpen from six to ten.\n- Rye\n- Spelt"
    assert first["sha256"] == sha256(PAGE.encode()).hexdigest()
    assert (first["size"], first["media_type"]) == (len(PAGE), "text/html")
    assert first["at"] <= second["at"]
    recorded = [a for a in bench.activities(thread) if a.tool == "web.read"]
    assert [a.state for a in recorded] == ["done", "done"]
    assert {a.result["text"] for a in recorded} == {first["text"]}
    assert recorded[0].args["kwargs"] == {"url": url, "host": there.host}
    report = verify_thread(thread)
    assert report.intact, report.what


def test_a_policy_that_asks_lets_people_decide_about_each_page(bench: Bench, there: Site) -> None:
    policy(bench, "tool == 'web.read'")
    urls = [there.put("/a", "<p>A</p>"), there.put("/b", "<p>B</p>")]
    thread = bench.start(urls=urls)
    assert bench.advance(thread).status is Status.WAITING
    assert there.hits.total() == 0
    bench.decide(thread, "approve")
    assert bench.advance(thread).status is Status.WAITING
    bench.decide(thread, "reject", "not this one")
    assert bench.advance(thread).status is Status.SUCCEEDED
    first, second = bench.state(thread)["pages"]
    assert (first["text"], second["rejected"]) == ("A", "not this one")
    assert there.hits == {"/a": 1}


def test_a_policy_that_blocks_comes_before_one_that_allows(bench: Bench, there: Site) -> None:
    allow(bench, "true")
    policy(bench, "tool == 'web.read' && args.url.contains('?')", "No queries", action="block")
    _, [page] = read(bench, there.put("/a?q=secret", PAGE))
    assert "No queries" in page["rejected"]
    assert there.hits.total() == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "inside",
    [
        "http://10.0.0.1/",
        "https://192.168.1.1/admin",
        "http://169.254.169.254/latest/meta-data/",
        "http://[::1]/",
        "http://2130706433/",
        "http://127.1/",
        "https://2130706433/",
        "https://user:secret@docs.example/",
        "ftp://docs.example/",
        "file:///etc/passwd",
        "https://docs.example:99999/",
        "",
    ],
)
def test_private_addresses_are_refused_and_redirects_into_them(
    bench: Bench, there: Site, settings: Any, inside: str
) -> None:
    allow(bench, "true")
    outside = there.moved("/away", inside)
    _, [page] = read(bench, outside)
    assert page["off"] is False
    assert "was not read" in page["refused"]
    settings.GATEPOST_WEB_NETWORKS = []
    _, [page] = read(bench, inside)
    assert "not read" in page["refused"]
    # Nor is this machine, unless a setting lists it.
    assert "public internet" in refusal(bench, there.put("/", PAGE))
    assert there.hits["/"] == 0


def test_a_redirect_to_another_host_needs_a_policy_for_that_one(bench: Bench, there: Site) -> None:
    with site() as other:
        allow(bench, f"args.host == '{there.host}'")
        away = there.moved("/away", other.put("/", PAGE))
        assert f"It leads to {other.host}" in refusal(bench, away)
        assert other.hits.total() == 0
        there.moved("/here", "/there", 301)
        there.put("/there", "<p>Here</p>")
        _, [page] = read(bench, there.url("/here"))
        assert (page["text"], page["address"]) == ("Here", there.url("/there"))
        allow(bench, f"args.host == '{other.host}'", "The other")
        _, [page] = read(bench, away)
        assert page["address"] == other.url("/")
        assert "more than" in refusal(bench, there.moved("/round", "/round"))
        assert there.hits["/round"] == web_pages.REDIRECTS_MAX + 1


def test_large_packed_and_other_answers_are_refused(bench: Bench, there: Site) -> None:
    allow(bench, "true")
    most = web_pages.BYTES_MAX
    _, [page] = read(bench, there.put("/most", b"x" * most, "text/plain"))
    assert len(page["text"]) == most
    assert "more than the" in refusal(bench, there.put("/more", b"x" * (most + 1), "text/plain"))
    packed = there.put("/zip", gzip.compress(b"x" * 10_000_000), Content_Encoding="gzip")
    assert "packed" in refusal(bench, packed)
    assert "image/png" in refusal(bench, there.put("/a.png", b"\x89PNG", "image/png"))
    assert "answered 404" in refusal(bench, there.url("/nothing"))
    token = "ghp_" + "a1B2" * 9
    assert "credential" in refusal(bench, there.put("/token", f"<p>{token}</p>"))


def test_what_may_pass_is_tried_again(bench: Bench, there: Site) -> None:
    allow(bench, "true")
    url = there.put("/", "", status=503)
    there.put("/", PAGE)
    thread = bench.start(urls=[url])
    assert bench.advance(thread).status is Status.SLEEPING
    # Another site is not held off by it.
    with site() as other:
        _, [page] = read(bench, other.put("/", PAGE))
        assert page["title"] == "Alder Bakery"
    rows("UPDATE gp_thread SET wake_at = clock_timestamp() RETURNING 1")
    assert store.wake_sleepers(owner="worker:1") == 1
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert bench.state(thread)["pages"][0]["title"] == "Alder Bakery"
    assert there.hits["/"] == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("raw", "kind", "text"),
    [
        ("Grüße".encode(), "text/plain", "Grüße"),
        ("Grüße".encode("latin-1"), "text/plain; charset=ISO-8859-1", "Grüße"),
        ('<meta charset="windows-1252"><p>“Grüße”'.encode("cp1252"), "text/html", "“Grüße”"),
        (b"\xff\xfe", "text/plain", "��"),
        (b"a\0b", "text/plain", "a�b"),
        (b"x", "text/plain; charset=zlib", "x"),
        (b"x", "text/plain; charset=no-such", "x"),
        (b'{"a": 1}', "application/json", '{"a": 1}'),
        (b"", "text/html", ""),
        (b"<p>one<p>two<script>var a = '<p>no';</script><svg><title>no</title></svg>", "text/html",
         "one\ntwo"),
        (b"<table><tr><td>a<td>b<tr><th>c</table>", "text/html", "a\tb\nc"),
    ],
)  # fmt: skip
def test_texts_are_as_a_reader_sees_them(
    bench: Bench, there: Site, raw: bytes, kind: str, text: str
) -> None:
    allow(bench, "true")
    _, [page] = read(bench, there.put("/", raw, kind))
    assert page["text"] == text


def test_the_editor_knows_the_tool_though_no_agent_announces_it(bench: Bench) -> None:
    condition = "tool == 'web.read' && args.host == 'docs.example'"
    assert unannounced_names(condition, workspace=bench.workspace) == []
