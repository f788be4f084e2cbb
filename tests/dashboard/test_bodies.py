"""How much of a request is read at all, at the edge of the ASGI application."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dashboard.bodies import ROOM, Bounded

MB = 2**20


class Inner:
    """Reads the whole body as Django does, then answers; nothing if it was cut off."""

    read = 0
    cut = False

    async def __call__(self, _scope: Any, receive: Any, send: Any) -> None:
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                self.cut = True
                return
            self.read += len(message["body"])
            more = message.get("more_body", False)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"ok"})


async def ask(
    size: int, *, kind: bytes = b"application/json", announced: bytes = b"", path: str = "/api/x/"
) -> tuple[Inner, list[dict[str, Any]], int]:
    """(the application, what was sent, how many bytes were asked for)."""
    headers = [(b"content-type", kind)]
    if announced:
        headers.append((b"content-length", announced))
    inner, sent, given = Inner(), [], 0

    async def receive() -> dict[str, Any]:
        nonlocal given
        part = min(MB, size - given)
        given += part
        return {"type": "http.request", "body": b"x" * part, "more_body": given < size}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "http", "path": path, "headers": headers}
    await Bounded(inner)(scope, receive, send)
    return inner, sent, given


async def test_what_fits_goes_through() -> None:
    for size in (0, 1, ROOM):
        inner, sent, given = await ask(size, announced=str(size).encode())
        assert (inner.read, inner.cut, given, sent[0]["status"]) == (size, False, size, 200)


async def test_an_announced_length_is_refused_unread() -> None:
    inner, sent, given = await ask(ROOM + 1, announced=str(ROOM + 1).encode())
    assert (inner.read, given, sent[0]["status"]) == (0, 0, 413)
    problem = json.loads(sent[1]["body"])
    assert (problem["status"], problem["path"]) == (413, "$")
    assert dict(sent[0]["headers"])[b"content-type"] == b"application/problem+json"


@pytest.mark.parametrize("announced", [b"", b"0", b"-5", b"9" * 5_000, b"x"])
async def test_what_is_not_announced_is_counted(announced: bytes) -> None:
    inner, sent, given = await ask(100 * MB, announced=announced, path="/login/")
    assert (inner.cut, [m["type"] for m in sent]) == (
        True,
        ["http.response.start", "http.response.body"],
    )
    assert sent[0]["status"] == 413
    assert given <= ROOM + MB
    assert b"more than the" in sent[1]["body"]


async def test_files_may_be_larger(settings: Any) -> None:
    settings.GATEPOST_UPLOAD_MAX_BYTES = 50 * MB
    form = b"multipart/form-data; boundary=b"
    inner, sent, _ = await ask(50 * MB, kind=form)
    assert (inner.read, sent[0]["status"]) == (50 * MB, 200)
    inner, sent, _ = await ask(50 * MB + ROOM + 1, kind=form)
    assert (inner.cut, sent[0]["status"]) == (True, 413)
