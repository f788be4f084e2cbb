"""Bodies that nobody asked for, sent to a real web process: not read, not kept, not waited for."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import httpx
import pytest

from tests.faults.web import Web, people

pytestmark = [pytest.mark.nightly, pytest.mark.hazard]
MB = 2**20
SENT = 64 * MB
FORM = "multipart/form-data; boundary=b"
HEAD = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
PATHS = ("/", "/login/", "/threads/new/", "/api/v1/artifacts/", "/api/v1/threads/", "/nowhere/")


@pytest.fixture
def web(ground: Path) -> Iterator[Web]:
    started = Web(ground, GATEPOST_BODY_SECONDS="1")
    yield started.wait_ready()
    started.kill()


def taken(web: Web) -> int:
    """Bytes that the process has read and written so far, from sockets and to disks."""
    lines = Path(f"/proc/{web.process.pid}/io").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(("rchar", "wchar")))


def send(
    web: Web, path: str, *, announced: int | None, size: int, headers: str = "", pause: float = 0.0
) -> tuple[int, int, bytes]:
    """(bytes got rid of, status, the answer); chunked where no length is announced."""
    host, port = web.address.removeprefix("http://").split(":")
    length = "Transfer-Encoding: chunked" if announced is None else f"Content-Length: {announced}"
    start = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {FORM}\r\n{length}\r\n"
    sent = 0
    with socket.create_connection((host, int(port)), timeout=15) as line:
        line.sendall(f"{start}{headers}\r\n".encode())
        part = HEAD
        try:
            while sent < size:
                framed = b"%x\r\n%b\r\n" % (len(part), part) if announced is None else part
                line.sendall(framed)
                sent += len(part)
                part = b"x" * (1 if pause else 64 * 1024)
                time.sleep(pause)
        except OSError:
            pass  # the server has hung up
        answer = b""
        try:
            while more := line.recv(65_536):
                answer += more
        except OSError:
            pass
    status = int(answer.split(b" ", 2)[1]) if answer else 0
    return sent, status, answer


def test_a_strangers_files_are_neither_read_nor_kept(web: Web) -> None:
    send(web, "/login/", announced=len(HEAD), size=len(HEAD))  # warm
    before, tried = taken(web), 0
    for path in PATHS:
        for announced in (SENT, None, 2**40):
            _, status, answer = send(web, path, announced=announced, size=SENT)
            assert status in (401, 0), (path, announced, answer[:300])  # 0: it hung up first
            tried += 1
    assert tried == 18
    assert taken(web) - before < tried * MB, "of each a buffer of the server at most"


def test_a_login_that_is_none_opens_nothing(web: Web) -> None:
    for header in (
        f"Cookie: sessionid={'a' * 32}\r\n",
        "Authorization: Bearer gp_abcdefgh_" + "x" * 43 + "\r\n",
        "Cookie: sessionid=\x00;;;=\r\n",
        "Authorization: Basic x\r\n",
    ):
        before = taken(web)
        _, status, answer = send(
            web, "/api/v1/artifacts/", announced=SENT, size=SENT, headers=header
        )
        assert status in (401, 400, 0), answer[:300]
        assert taken(web) - before < MB


def test_a_slow_body_is_not_waited_for(web: Web) -> None:
    began = time.monotonic()
    _, status, _ = send(web, "/login/", announced=8_000, size=50, pause=0.1)
    assert status == 408
    assert time.monotonic() - began < 10
    _, status, _ = send(web, "/login/", announced=8_000, size=0)  # announced, and nothing comes
    assert status == 408


def test_members_send_files_and_nobody_else_does(web: Web, workspace: UUID) -> None:
    with people(web, workspace, "operator", "sends-files") as (person,):
        answer = person.http.post("/api/v1/artifacts/", files={"file": ("a.bin", b"x" * (3 * MB))})
        assert (answer.status_code, answer.json()["size"]) == (201, 3 * MB)
    with people(web, workspace, "reviewer", "sends-none") as (person,):
        answer = person.http.post("/api/v1/artifacts/", files={"file": ("a.bin", b"x" * (3 * MB))})
        assert answer.status_code == 403
        payload = json.loads(answer.content)
        assert payload["status"] == 403


def chunked(http: httpx.Client, path: str, body: bytes, kind: str) -> httpx.Response:
    """The answer to a body that comes in chunks, as of a sender that does not know its length."""
    parts = (body[at : at + 100] for at in range(0, len(body), 100))
    return http.post(path, content=parts, headers={"Content-Type": kind})


def announced(http: httpx.Client, path: str, body: bytes, kind: str) -> httpx.Response:
    """The answer to a body whose length is announced."""
    return http.post(path, content=body, headers={"Content-Type": kind})


def test_an_unannounced_length_changes_no_answer(web: Web, workspace: UUID) -> None:
    """Without a length Django takes a form for empty, and REST framework any body."""
    json_kind, part = "application/json", HEAD + b"x" * MB + b"\r\n--b--\r\n"
    wrong = json.dumps({"agent": "nobody's", "unknown": "x" * 1_000}).encode()
    requests = [
        ("/api/v1/artifacts/", part, FORM, 201),
        ("/api/v1/artifacts/", part.replace(b'"file"', b'"other"', 1), FORM, 422),
        ("/api/v1/threads/", wrong, json_kind, 422),
        ("/api/v1/threads/", wrong, "text/plain", 415),
        ("/api/v1/threads/", b"{" + b" " * 5 * MB + b"}", json_kind, 413),
    ]
    senders: list[Callable[..., httpx.Response]] = [announced, chunked]
    with people(web, workspace, "operator", "sends-chunks") as (person,):
        for path, body, kind, status in requests:
            answers = [send_it(person.http, path, body, kind) for send_it in senders]
            assert [a.status_code for a in answers] == [status] * 2, [a.text for a in answers]
            first, second = (a.json() for a in answers)
            assert first == second
            if kind == json_kind and status == 422:
                assert "$.unknown" in {fault["path"] for fault in first["errors"]}
