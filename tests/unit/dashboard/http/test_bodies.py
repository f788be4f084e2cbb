"""How much of a request is read at all, at the edge of the ASGI application."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from uuid import UUID

import pytest

from approvals.hooks.deliveries import BODY_MAX
from dashboard.http.body_limits import ANONYMOUS_BYTES, ROOM, Bounded
from dashboard.identity.permissions import Actor

MB = 2**20
FORM = b"multipart/form-data; boundary=b"
SOME_ID = UUID(int=7)


def member(*roles: str) -> Actor:
    return Actor(7, "member", SOME_ID, "default", frozenset(roles))


OPERATOR, REVIEWER = member("operator"), member("reviewer")


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
    size: int,
    *,
    who: Actor | None = OPERATOR,
    kind: bytes = b"application/json",
    announced: bytes = b"",
    path: str = "/api/x/",
    part_size: int = MB,
    pause: float = 0.0,
) -> tuple[Inner, list[dict[str, Any]], int]:
    """(the application, what was sent, how many bytes were asked for)."""
    headers = [(b"content-type", kind)]
    if announced:
        headers.append((b"content-length", announced))
    inner, sent, value = Inner(), [], 0

    async def receive() -> dict[str, Any]:
        nonlocal value
        await asyncio.sleep(pause)
        part = min(part_size, size - value)
        value += part
        return {"type": "http.request", "body": b"x" * part, "more_body": value < size}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "http", "path": path, "headers": headers}
    await Bounded(inner, lambda _headers: who)(scope, receive, send)
    return inner, sent, value


def refusal(sent: list[dict[str, Any]], status: int) -> dict[str, Any]:
    assert [m["type"] for m in sent] == ["http.response.start", "http.response.body"]
    assert sent[0]["status"] == status
    assert dict(sent[0]["headers"])[b"connection"] == b"close"
    assert dict(sent[0]["headers"])[b"content-type"] == b"application/problem+json"
    problem: dict[str, Any] = json.loads(sent[1]["body"])
    assert (problem["status"], problem["path"]) == (status, "$")
    return problem


async def test_what_fits_goes_through() -> None:
    for who, most in ((OPERATOR, ROOM), (REVIEWER, ROOM), (None, ANONYMOUS_BYTES)):
        for size in (0, 1, most):
            inner, sent, values = await ask(size, who=who, announced=str(size).encode())
            assert (inner.read, inner.cut, values, sent[0]["status"]) == (size, False, size, 200)


async def test_an_announced_length_is_refused_unread() -> None:
    for who, size, status in ((OPERATOR, ROOM + 1, 413), (None, ANONYMOUS_BYTES + 1, 401)):
        inner, sent, values = await ask(size, who=who, announced=str(size).encode())
        assert (inner.read, values) == (0, 0)
        refusal(sent, status)


@pytest.mark.parametrize("announced", [b"", b"0", b"-5", b"9" * 5_000, b"x"])
@pytest.mark.parametrize(("who", "most", "status"), [(OPERATOR, ROOM, 413), (None, 0, 401)])
async def test_what_is_not_announced_is_counted(
    announced: bytes, who: Actor | None, most: int, status: int
) -> None:
    inner, sent, values = await ask(100 * MB, who=who, announced=announced)
    assert inner.cut
    assert inner.read <= most
    assert values <= most + MB
    refusal(sent, status)


@pytest.mark.parametrize("path", ["/api/v1/hooks/", f"/api/v1/hooks/{SOME_ID}/rotate/"])
async def test_the_calls_beside_a_delivery_want_a_login(path: str) -> None:
    inner, sent, _ = await ask(ANONYMOUS_BYTES + 1, who=None, path=path)
    assert inner.read <= ANONYMOUS_BYTES
    refusal(sent, 401)


async def test_a_stranger_may_send_a_hook_what_a_delivery_can_have() -> None:
    path = "/api/v1/hooks/decide/"
    inner, sent, _ = await ask(BODY_MAX + 1, who=None, path=path)
    assert (inner.read, sent[0]["status"]) == (BODY_MAX + 1, 200), "the view names the path"
    inner, sent, _ = await ask(BODY_MAX + 2, who=None, path=path)
    refusal(sent, 413)


@pytest.mark.parametrize(
    ("path", "who", "is_taken"),
    [
        ("/api/v1/artifacts/", OPERATOR, True),
        ("/threads/new/", OPERATOR, True),
        (f"/threads/{SOME_ID}/fork/", OPERATOR, True),
        ("/api/v1/artifacts/", REVIEWER, False),
        ("/api/v1/artifacts/", None, False),
        ("/api/v1/threads/", OPERATOR, False),
        ("/login/", OPERATOR, False),
        ("/login/", None, False),
    ],
)
async def test_files_may_be_larger_where_files_are_taken(
    settings: Any, path: str, who: Actor | None, is_taken: bool
) -> None:
    settings.GATEPOST_UPLOAD_MAX_BYTES = 50 * MB
    inner, sent, _ = await ask(50 * MB, kind=FORM, path=path, who=who)
    if is_taken:
        assert (inner.read, sent[0]["status"]) == (50 * MB, 200)
        inner, sent, _ = await ask(50 * MB + ROOM + 1, kind=FORM, path=path, who=who)
    assert (inner.cut, sent[0]["status"]) == (True, 401 if who is None else 413)


async def test_a_body_that_does_not_come_is_not_waited_for(settings: Any) -> None:
    settings.GATEPOST_BODY_SECONDS = 0.2
    _, sent, values = await ask(10, part_size=1, pause=0.05)
    assert 2 <= values <= 5
    refusal(sent, 408)
    _, sent, _ = await ask(10 * MB, part_size=32 * 1024, pause=0.001)
    assert sent[0]["status"] == 200, "what comes steadily is taken"
