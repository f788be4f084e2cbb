"""How a request is worked on: in one thread, sent once, and closed whatever happens."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from django.conf import settings
from django.core import signals
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import path

from dashboard.http import handler
from dashboard.http.handler import OneThread

seen: list[tuple[str, int]] = []
release = threading.Event()


def note(what: str) -> None:
    seen.append((what, threading.get_ident()))


class Noted:
    """A middleware around the view."""

    def __init__(self, get_response: Any) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        note("in")
        response: HttpResponse = self.get_response(request)
        note("out")
        return response


def plain(request: HttpRequest) -> HttpResponse:
    note("view")
    return HttpResponse(f"{request.method} {len(request.body)}")


def length(request: HttpRequest) -> HttpResponse:
    return HttpResponse(f"{request.META.get('CONTENT_LENGTH')} {request.POST.get('a')}")


def slow(request: HttpRequest) -> HttpResponse:
    release.wait(5)
    note("view")
    return HttpResponse(f"late {len(request.body)}")


def late(request: HttpRequest) -> StreamingHttpResponse:
    release.wait(5)
    return endless(request)


def broken(request: HttpRequest) -> HttpResponse:
    raise RuntimeError("of the view")


class Body:
    """Chunks without an end."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 10
            await asyncio.sleep(0)

    def close(self) -> None:
        note("closed")


def endless(request: HttpRequest) -> StreamingHttpResponse:
    return StreamingHttpResponse(Body())


urlpatterns = [
    path("plain", plain),
    path("length", length),
    path("slow", slow),
    path("late", late),
    path("broken", broken),
    path("endless", endless),
]


def handler500(request: HttpRequest) -> HttpResponse:
    return HttpResponse("sorry", status=500)


def _started(**kwargs: Any) -> None:
    note("started")


def _finished(**kwargs: Any) -> None:
    note("finished")


@pytest.fixture
def app(settings: Any) -> Iterator[OneThread]:
    settings.ROOT_URLCONF = __name__
    ours = f"{__name__}.Noted"
    settings.MIDDLEWARE = [
        ours,
        "dashboard.http.middleware.NoStore",
        "tests.support.static.LooksOnce",
        ours,
    ]
    seen.clear()
    release.clear()
    signals.request_started.connect(_started)
    signals.request_finished.connect(_finished)
    yield OneThread()
    signals.request_started.disconnect(_started)
    signals.request_finished.disconnect(_finished)


class Browser:
    """One request, and what came of it."""

    def __init__(self, path: str, body: bytes = b"") -> None:
        self.scope: dict[str, Any] = {
            "type": "http", "method": "POST" if body else "GET", "path": path, "root_path": "",
            "headers": [(b"host", b"localhost")], "query_string": b"", "scheme": "http",
        }  # fmt: skip
        self.incoming = [{"type": "http.request", "body": body}]
        self.sent: list[dict[str, Any]] = []
        self.gone = asyncio.Event()
        self.leaves_after = -1

    async def receive(self) -> dict[str, Any]:
        if self.incoming:
            return self.incoming.pop()
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.sent.append(message)
        if len(self.sent) == self.leaves_after:
            self.gone.set()

    @property
    def text(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent)


async def test_a_request_stays_in_one_thread(app: OneThread) -> None:
    browser = Browser("/plain", b"12345")
    await app(browser.scope, browser.receive, browser.send)
    assert browser.text == b"POST 5"
    assert (b"Cache-Control", b"no-store") in browser.sent[0]["headers"]
    assert [what for what, _ in seen] == ["started", "in", "in", "view", "out", "out", "finished"]
    threads = {ident for _, ident in seen}
    assert len(threads) == 1
    assert threading.get_ident() not in threads


async def test_requests_one_after_the_other_use_one_thread(app: OneThread) -> None:
    for _ in range(10):
        browser = Browser("/plain", b"12345")
        await app(browser.scope, browser.receive, browser.send)
        assert browser.text == b"POST 5"
    assert len({ident for _, ident in seen}) == 1


@pytest.mark.parametrize("announced", [True, False])
async def test_a_form_is_read_also_where_its_length_is_not_announced(
    app: OneThread, announced: bool
) -> None:
    browser = Browser("/length", b"a=12")
    headers = [*browser.scope["headers"], (b"content-type", b"application/x-www-form-urlencoded")]
    browser.scope["headers"] = headers + ([(b"content-length", b"4")] if announced else [])
    await app(browser.scope, browser.receive, browser.send)
    assert browser.text == b"4 12"


async def test_many_requests_at_once_have_a_thread_each(app: OneThread) -> None:
    browsers = [Browser("/slow") for _ in range(20)]
    requests = [asyncio.ensure_future(app(b.scope, b.receive, b.send)) for b in browsers]
    while [what for what, _ in seen].count("started") < 20:
        await asyncio.sleep(0.01)
    release.set()
    await asyncio.gather(*requests)
    assert [b.text for b in browsers] == [b"late 0"] * 20
    assert len({ident for _, ident in seen}) == 20


async def test_requests_at_once_are_limited_and_the_rest_are_told_to_come_again(
    app: OneThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handler, "REQUESTS_MAX", 8)
    browsers = [Browser("/slow") for _ in range(30)]
    requests = [asyncio.ensure_future(app(b.scope, b.receive, b.send)) for b in browsers]
    while [what for what, _ in seen].count("started") < 8 or sum(r.done() for r in requests) < 22:
        await asyncio.sleep(0.01)
    refused = [b for b in browsers if b.sent]
    assert [b.sent[0]["status"] for b in refused] == [503] * 22
    assert all((b"retry-after", b"5") in b.sent[0]["headers"] for b in refused)
    alive = Browser("/healthz")  # no address here: what counts is that it gets as far as that
    await app(alive.scope, alive.receive, alive.send)
    assert alive.sent[0]["status"] != 503
    release.set()
    await asyncio.gather(*requests)
    assert [b.text for b in browsers if b not in refused] == [b"late 0"] * 8
    assert len({ident for what, ident in seen if what == "view"}) <= 8
    # Places are free again, also those of requests that failed or whose sender left.
    for address in ["/broken", "/endless", "/plain"] * 4:
        browser = Browser(address)
        browser.leaves_after = 4 if address == "/endless" else -1
        await asyncio.wait_for(app(browser.scope, browser.receive, browser.send), 30)
        assert browser.sent[0]["status"] == (500 if address == "/broken" else 200)


async def test_streams_that_wait_take_no_place(
    app: OneThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handler, "REQUESTS_MAX", 2)
    streams = [Browser("/endless") for _ in range(6)]
    following = []
    for stream in streams:
        following.append(asyncio.ensure_future(app(stream.scope, stream.receive, stream.send)))
        while not stream.sent:
            await asyncio.sleep(0.01)
    browser = Browser("/plain")
    await asyncio.wait_for(app(browser.scope, browser.receive, browser.send), 30)
    assert [b.sent[0]["status"] for b in (*streams, browser)] == [200] * 7
    for stream in streams:
        stream.gone.set()
    await asyncio.wait_for(asyncio.gather(*following), 30)


async def test_a_busy_server_answers_callers_of_the_api_with_a_problem(
    app: OneThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handler, "REQUESTS_MAX", 0)
    browser = Browser("/api/v1/threads/")
    await app(browser.scope, browser.receive, browser.send)
    payload = json.loads(browser.text)
    assert (payload["status"], payload["type"]) == (503, "urn:gatepost:problem:unavailable")
    assert seen == []  # no thread has begun


@pytest.mark.parametrize("where", ["/slow", "/late"])
async def test_who_goes_away_is_sent_nothing_and_the_work_is_done(
    app: OneThread, where: str
) -> None:
    browser = Browser(where, b"12345")
    request = asyncio.ensure_future(app(browser.scope, browser.receive, browser.send))
    while ("started" not in [what for what, _ in seen]) and not request.done():
        await asyncio.sleep(0.01)
    browser.gone.set()
    await asyncio.sleep(0.05)
    release.set()
    await request
    while "finished" not in [what for what, _ in seen]:
        await asyncio.sleep(0.01)
    assert browser.sent == []
    done = [what for what, _ in seen][3:]
    if done[-2:] == ["finished", "finished"]:
        done.pop()  # Django says so once more of a request that has no answer
    assert (
        done
        == {
            "/slow": ["view", "out", "out", "finished"],
            "/late": ["out", "out", "closed", "finished"],
        }[where]
    )


async def test_a_stream_is_closed_when_its_reader_leaves(app: OneThread) -> None:
    browser = Browser("/endless")
    browser.leaves_after = 4
    await asyncio.wait_for(app(browser.scope, browser.receive, browser.send), 30)
    assert browser.text.startswith(b"xxxxxxxxxx")
    assert [what for what, _ in seen][-2:] == ["closed", "finished"]


async def test_an_error_of_a_view_is_an_answer(app: OneThread) -> None:
    browser = Browser("/broken")
    await app(browser.scope, browser.receive, browser.send)
    assert (browser.sent[0]["status"], browser.text) == (500, b"sorry")
    assert seen[-1][0] == "finished"


async def test_a_static_file_comes_through_the_same_layers(app: OneThread) -> None:
    browser = Browser(f"{settings.STATIC_URL}dashboard/css/approval.css")
    await app(browser.scope, browser.receive, browser.send)
    headers = dict(browser.sent[0]["headers"])
    assert browser.sent[0]["status"] == 200
    assert headers[b"Content-Type"].startswith(b"text/css")
    assert len(browser.text) == int(headers[b"Content-Length"]) > 0
    assert [what for what, _ in seen][:3] == ["started", "in", "out"]
