"""A web site on this machine: its answers by path, and how often each was asked for."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LOOPBACK = "127.0.0.0/8"


@dataclass
class Site:
    """Answers are (status, headers, body); several of a path come in turn, the last for good."""

    host: str
    answers: dict[str, list[tuple[int, Mapping[str, str], bytes]]] = field(default_factory=dict)
    hits: Counter[str] = field(default_factory=Counter)

    def url(self, path: str) -> str:
        return f"http://{self.host}{path}"

    def put(
        self, path: str, body: bytes | str, kind: str = "text/html", status: int = 200, **more: str
    ) -> str:
        """Add an answer; the address of the page."""
        raw = body.encode() if isinstance(body, str) else body
        headers = {"Content-Type": kind, **{k.replace("_", "-"): v for k, v in more.items()}}
        self.answers.setdefault(path, []).append((status, headers, raw))
        return self.url(path)

    def moved(self, path: str, to: str, status: int = 302) -> str:
        return self.put(path, b"", status=status, Location=to)


@contextmanager
def site() -> Iterator[Site]:
    """A site until the end of the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            result.hits[self.path] += 1
            known = result.answers.get(self.path, [(404, {}, b"")])
            status, headers, body = known.pop(0) if len(known) > 1 else known[0]
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            try:
                self.wfile.write(body)
            except OSError:
                return  # the reader has enough

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    result = Site(f"127.0.0.1:{server.server_port}")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield result
    finally:
        server.shutdown()
        server.server_close()
