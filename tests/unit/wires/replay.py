"""A server that answers each request with the next recorded answer, byte for byte."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Recorded:
    """An answer as a server sent it; `cut` closes the connection before its stated end."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    is_stream: bool = True
    is_cut: bool = False


@dataclass
class Replay:
    """Its address, and the bodies of the requests that it got."""

    url: str = ""
    got: list[dict[str, Any]] = field(default_factory=list)


def events(*values: Any, end: str = "data: [DONE]\n\n") -> Recorded:
    """A stream of these objects."""
    lines = "".join(f"data: {json.dumps(value, ensure_ascii=False)}\n\n" for value in values)
    return Recorded((lines + end).encode())


def whole(value: Any, status: int = 200, **headers: str) -> Recorded:
    """One JSON document."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Recorded(json.dumps(value).encode(), status, named, is_stream=False)


@contextmanager
def replaying(*answers: Recorded) -> Iterator[Replay]:
    """Serve the answers one after another, the last for ever."""
    replay = Replay()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            replay.got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            answer = answers[min(len(replay.got), len(answers)) - 1]
            kind = "text/event-stream" if answer.is_stream else "application/json"
            self.send_response_only(answer.status)
            for name, value in {"content-type": kind, **answer.headers}.items():
                self.send_header(name, value)
            if answer.is_stream and not answer.is_cut:
                self.send_header("connection", "close")
            else:
                self.send_header("content-length", str(len(answer.body) + answer.is_cut))
            self.end_headers()
            try:
                self.wfile.write(answer.body)
            except (BrokenPipeError, ConnectionResetError):
                pass  # the client had read enough
            self.close_connection = True

        def log_message(self, *_args: Any) -> None:
            """Requests are kept instead."""

    with serving(Handler) as replay.url:
        yield replay


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address of a server on a port of its own, which answers as the handler does."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
