"""A service over HTTP that refuses, hangs and recovers as it is told, and counts its calls."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# (number of the call from 1, seconds since the first one) -> (status, headers, seconds it takes)
Behaviour = Callable[[int, float], tuple[int, dict[str, str], float]]


def well(number: int, at: float) -> tuple[int, dict[str, str], float]:
    return 200, {}, 0.0


@dataclass
class Service:
    """Its address, how it behaves, and when it answered what."""

    url: str = ""
    behaviour: Behaviour = well
    answers: list[tuple[float, int]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self) -> tuple[int, dict[str, str], float]:
        with self._lock:
            now = time.monotonic()
            began = self.answers[0][0] if self.answers else now
            result = self.behaviour(len(self.answers) + 1, now - began)
            self.answers.append((now, result[0]))
            return result

    def count(self, status: int) -> int:
        """How often it answered so."""
        return sum(value == status for _, value in self.answers)


@contextmanager
def serving(behaviour: Behaviour = well) -> Iterator[Service]:
    """A service on a port of its own."""
    service = Service(behaviour=behaviour)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, takes = service.answer()
            time.sleep(takes)
            body = b"served" if status == 200 else b"not now"
            try:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except (BrokenPipeError, ConnectionResetError):
                return  # the caller's patience was at its end

        def log_message(self, *_args: Any) -> None:
            """Its calls are counted instead."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    service.url = f"http://127.0.0.1:{server.server_port}/"
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
