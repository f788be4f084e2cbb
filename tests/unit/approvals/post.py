"""Real servers on loopback that messages are sent to: a mailbox and a webhook's receiver."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller

from tests.faults.embedded.helpers import free_port


@dataclass
class Mailbox:
    """What arrived: (recipient, message). `answer` says otherwise than 250 while it is set."""

    port: int = 0
    mails: list[tuple[str, EmailMessage]] = field(default_factory=list)
    answer: str = ""
    seconds: float = 0

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        if self.seconds:
            import asyncio

            await asyncio.sleep(self.seconds)
        if self.answer:
            return self.answer
        raw = message_from_bytes(envelope.content, policy=default)
        assert isinstance(raw, EmailMessage)
        self.mails += [(to, raw) for to in envelope.rcpt_tos]
        return "250 taken"

    def text(self, number: int = -1) -> str:
        """The plain text of a mail."""
        part = self.mails[number][1].get_body(("plain",))
        assert part is not None
        return str(part.get_content())

    def html(self, number: int = -1) -> str:
        part = self.mails[number][1].get_body(("html",))
        assert part is not None
        return str(part.get_content())


@contextmanager
def mail_server(port: int = 0) -> Iterator[Mailbox]:
    """A real SMTP server."""
    box = Mailbox(port or free_port())
    controller = Controller(box, hostname="127.0.0.1", port=box.port)
    controller.start()
    try:
        yield box
    finally:
        controller.stop()


def mailers(port: int, *, seconds: float = 5) -> dict[str, Any]:
    """MAILERS for such a server."""
    options = {"host": "127.0.0.1", "port": port, "timeout": seconds}
    return {
        "default": {"BACKEND": "django.core.mail.backends.smtp.EmailBackend", "OPTIONS": options}
    }


@dataclass
class Got:
    """One request that arrived."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Hook:
    """A receiver of webhooks; `answers` are codes for the next requests, then 204.

    A callable answers by itself, through the handler of http.server.
    """

    port: int = 0
    host: str = "127.0.0.1"
    got: list[Got] = field(default_factory=list)
    answers: list[int | Callable[[BaseHTTPRequestHandler], None]] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}/in"


@contextmanager
def web_hook(tls: ssl.SSLContext | None = None, *, host: str = "127.0.0.1") -> Iterator[Hook]:
    """A real HTTP server; with a context it speaks TLS."""
    hook, lock = Hook(host=host), threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            names = {name.lower(): value for name, value in self.headers.items()}
            with lock:
                hook.got.append(Got(self.path, names, body))
                answer = hook.answers.pop(0) if hook.answers else 204
            if callable(answer):
                answer(self)
                return
            self.send_response(answer)
            for name, value in hook.headers.items():
                self.send_header(name, value)
            self.end_headers()

        do_GET = do_POST

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    with ThreadingHTTPServer((host, 0), Handler) as server:
        server.daemon_threads = True
        hook.port = server.server_address[1]
        if tls is not None:
            server.socket = tls.wrap_socket(
                server.socket, server_side=True, do_handshake_on_connect=False
            )
        turning = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        turning.start()
        try:
            yield hook
        finally:
            server.shutdown()


def self_signed(folder: Path, name: str) -> Path:
    """A certificate for this name alone, with its key beside it as .key."""
    path = folder / "cert.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}"),
            *("-keyout", f"{path}.key", "-out", str(path)),
        ],
        check=True,
        capture_output=True,
    )
    return path


def hangs(seconds: float) -> Callable[[BaseHTTPRequestHandler], None]:
    """An answer that takes its time."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        time.sleep(seconds)
        handler.close_connection = True

    return answer


def hangs_until(release: threading.Event) -> Callable[[BaseHTTPRequestHandler], None]:
    """No answer before somebody allows the end."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        release.wait(120)
        handler.close_connection = True

    return answer


def slow(seconds: float) -> Callable[[BaseHTTPRequestHandler], None]:
    """A good answer that takes a moment."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        time.sleep(seconds)
        handler.send_response(204)
        handler.end_headers()

    return answer


def drips(handler: BaseHTTPRequestHandler) -> None:
    """An answer byte by byte, without end."""
    handler.close_connection = True
    try:
        for char in "HTTP/1.1 200 OK\r\nX-Long: " + "x" * 500:
            handler.wfile.write(char.encode())
            handler.wfile.flush()
            time.sleep(0.1)
    except OSError:
        pass


def floods(handler: BaseHTTPRequestHandler) -> None:
    """A good answer with a body that does not end."""
    handler.send_response(200)
    handler.end_headers()
    handler.close_connection = True
    try:
        for _ in range(2_000):
            handler.wfile.write(b"x" * 65536)
    except OSError:
        pass


def resolver(
    monkeypatch: Any, names: dict[str, list[str]], *, later: dict[str, list[str]] | None = None
) -> list[str]:
    """These names lead to these addresses, others where they do; the list of names asked for.

    `later` are addresses that a name leads to from the second look on.
    """
    real, request = socket.getaddrinfo, list[str]()

    def resolve(host: Any, port: Any, *args: Any, **more: Any) -> Any:
        if host not in names:
            return real(host, port, *args, **more)
        leads_to = (later or {}).get(host, names[host]) if host in request else names[host]
        request.append(host)
        return [
            (
                socket.AF_INET6 if ":" in address else socket.AF_INET,
                socket.SOCK_STREAM,
                6,
                "",
                (address, port, 0, 0) if ":" in address else (address, port),
            )
            for address in leads_to
        ]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return request
