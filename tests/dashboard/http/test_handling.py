"""How a request is worked on: in one thread, sent once, and closed whatever happens."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from django.conf import settings
from django.core import signals
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import path

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
        "tests.static.LooksOnce",
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
        self.scope = {
            "type": "http", "method": "POST" if body else "GET", "path": path, "root_path": "",
            "headers": [(b"host", b"localhost")], "query_string": b"", "scheme": "http",
        }  # fmt: skip
        self.asked = [{"type": "http.request", "body": body}]
        self.sent: list[dict[str, Any]] = []
        self.gone = asyncio.Event()
        self.leaves_after = -1

    async def receive(self) -> dict[str, Any]:
        if self.asked:
            return self.asked.pop()
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.sent.append(message)
        if len(self.sent) == self.leaves_after:
            self.gone.set()

    @property
    def text(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent)


async def test_a_request_stays_in_one_thread_which_the_next_one_has_again(app: OneThread) -> None:
    for _ in range(2):
        browser = Browser("/plain", b"12345")
        await app(browser.scope, browser.receive, browser.send)
        assert browser.text == b"POST 5"
        assert (b"Cache-Control", b"no-store") in browser.sent[0]["headers"]
    once = ["started", "in", "in", "view", "out", "out", "finished"]
    assert [what for what, _ in seen] == once * 2
    threads = {ident for _, ident in seen}
    assert len(threads) == 1
    assert threading.get_ident() not in threads


async def test_many_requests_at_once_have_a_thread_each(app: OneThread) -> None:
    browsers = [Browser("/slow") for _ in range(20)]
    asked = [asyncio.ensure_future(app(b.scope, b.receive, b.send)) for b in browsers]
    while [what for what, _ in seen].count("started") < 20:
        await asyncio.sleep(0.01)
    release.set()
    await asyncio.gather(*asked)
    assert [b.text for b in browsers] == [b"late 0"] * 20
    assert len({ident for _, ident in seen}) == 20


@pytest.mark.parametrize("where", ["/slow", "/late"])
async def test_who_goes_away_is_sent_nothing_and_the_work_is_done(
    app: OneThread, where: str
) -> None:
    browser = Browser(where, b"12345")
    asked = asyncio.ensure_future(app(browser.scope, browser.receive, browser.send))
    while ("started" not in [what for what, _ in seen]) and not asked.done():
        await asyncio.sleep(0.01)
    browser.gone.set()
    await asyncio.sleep(0.05)
    release.set()
    await asked
    while "finished" not in [what for what, _ in seen]:
        await asyncio.sleep(0.01)
    assert browser.sent == []
    done = [what for what, _ in seen][3:]
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
    await asyncio.wait_for(app(browser.scope, browser.receive, browser.send), 5)
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
