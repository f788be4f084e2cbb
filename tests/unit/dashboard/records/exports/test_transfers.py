"""Exports over the server's own handler: whole, cut off by a failure, left by their reader."""

from __future__ import annotations

import asyncio
import io
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.handlers.asgi import ASGIRequest
from django.db import connection, connections

from checkpoints import queries
from dashboard.http.handler import OneThread
from dashboard.live.process import tidy
from dashboard.records.exports.rows import FORMS
from dashboard.threads.capsules import downloads
from tests.support.cast import Cast, make_cast
from tools.verify_export import verify

from .population import populate
from .second_verifier import fault_of, is_sound


class Reader:
    """A client of an export: what was sent to it, and when it goes away."""

    def __init__(self, cookie: dict[str, str], path: str) -> None:
        header = f"{cookie['name']}={cookie['value']}".encode()
        self.scope: dict[str, Any] = {
            "type": "http", "method": "GET", "path": path, "root_path": "", "scheme": "http",
            "headers": [(b"host", b"testserver"), (b"cookie", header)], "query_string": b"kind=all",
        }  # fmt: skip
        self.sent: list[dict[str, Any]] = []
        self.gone = asyncio.Event()
        self.leaves_after = -1
        self._messages = [{"type": "http.request", "body": b""}]

    async def receive(self) -> dict[str, Any]:
        if self._messages:
            return self._messages.pop()
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        self.sent.append(message)
        if len(self.sent) == self.leaves_after:
            self.gone.set()
        await asyncio.sleep(0)

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent)

    @property
    def was_ended(self) -> bool:
        """Whether the server says that nothing follows; else it breaks the connection."""
        return self.sent[-1].get("more_body", False) is False


@pytest.fixture
def cast(real_db: str, monkeypatch: pytest.MonkeyPatch) -> Cast:
    monkeypatch.setattr("approvals.records.questions.AT_ONCE", 3)
    cast = make_cast()
    populate(cast)
    return cast


async def answer(reader: Reader) -> None:
    """Let a server of its own answer; its threads keep no connection to the test's database."""
    app = OneThread()
    try:
        await app(reader.scope, reader.receive, reader.send)
    finally:
        for thread in app._free:
            await asyncio.get_running_loop().run_in_executor(thread, connections.close_all)
            thread.shutdown()


@tidy
def cookie(cast: Cast) -> dict[str, str]:
    return cast.cookie("auditor")


@tidy
def logged(cast: Cast) -> list[str]:
    events = queries.workspace_events(cast.workspace).rows
    kinds = [event.kind for event in reversed(events)]
    return [kind for kind in kinds if kind in ("export.begun", "record.exported")]


PLACES = pytest.mark.parametrize("path", ["/api/v1/records/export/", "/admin/search/export/"])


@pytest.mark.slow
@PLACES
@pytest.mark.requirement("A38")
async def test_it_comes_whole_and_in_many_pieces(cast: Cast, tmp_path: Path, path: str) -> None:
    reader = Reader(await asyncio.to_thread(cookie, cast), path)
    await answer(reader)
    assert reader.sent[0]["status"] == 200
    headers = dict(reader.sent[0]["headers"])
    assert b"Content-Length" not in headers
    assert headers[b"X-Accel-Buffering"] == b"no"
    assert len(reader.sent) > 10
    assert reader.was_ended
    (tmp_path / "x.zip").write_bytes(reader.body)
    report = verify(str(tmp_path / "x.zip"))
    assert (report.problems, report.counts["rows"] > 20) == ([], True)
    assert is_sound(tmp_path / "x.zip")
    assert await asyncio.to_thread(logged, cast) == ["export.begun", "record.exported"]


@PLACES
@pytest.mark.requirement("A38")
async def test_a_failure_breaks_the_connection(
    cast: Cast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    def fails(*_args: Any, **_kwargs: Any) -> Any:
        raise OSError("gone")

    monkeypatch.setattr("dashboard.records.exports.package.chains.logs_of", fails)
    reader = Reader(await asyncio.to_thread(cookie, cast), path)
    with pytest.raises(OSError, match="gone"):
        await answer(reader)
    assert reader.sent[0]["status"] == 200
    assert not reader.was_ended
    (tmp_path / "x.zip").write_bytes(reader.body)
    assert verify(str(tmp_path / "x.zip")).problems
    assert fault_of(tmp_path / "x.zip") == "cut off"
    assert await asyncio.to_thread(logged, cast) == ["export.begun"]


@pytest.mark.requirement("A38")
async def test_a_reader_who_leaves_ends_the_reading(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []

    def counted(rows: Any, _checked: Any) -> Iterator[bytes]:
        looks.append(len(rows))
        return iter([b"x" * len(rows)])

    forms = {"jsonl": FORMS["jsonl"]._replace(written=counted)}
    monkeypatch.setattr("dashboard.records.exports.package.FORMS", forms)
    reader = Reader(await asyncio.to_thread(cookie, cast), "/api/v1/records/export/")
    reader.leaves_after = 4
    await answer(reader)
    await asyncio.get_running_loop().run_in_executor(downloads._threads, int)
    assert not reader.was_ended
    assert len(looks) <= 5  # of some ten pages
    assert await asyncio.to_thread(logged, cast) == ["export.begun"]


async def test_nothing_is_held_while_a_reader_waits(real_db: str) -> None:
    """Each chunk is made in a thread, which gives its database connection back behind it."""
    used: list[tuple[int, Any]] = []

    class Packed:
        name = "x.zip"

        def chunks(self) -> Iterator[bytes]:
            for _ in range(3):
                with connection.cursor() as cursor:
                    cursor.execute("SELECT 1")
                used.append((threading.get_ident(), connections["default"]))
                assert connections["default"].connection is not None
                yield b"x"

        def close(self) -> None:
            used.append((0, None))

    request = ASGIRequest(Reader({"name": "a", "value": "b"}, "/").scope, io.BytesIO())
    response = downloads.download(request, Packed())
    n = 0
    async for chunk in response:
        n += 1
        ident, wrapper = used[-1]
        assert (chunk, ident != threading.get_ident()) == (b"x", True)
        assert wrapper.connection is None
    assert (n, len(used)) == (3, 3)
    response.close()
    assert used[-1] == (0, None)
