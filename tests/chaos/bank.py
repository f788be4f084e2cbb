"""`python -m tests.chaos.bank PORT LOG`: a bank that does what a key says once, and counts.

One line of JSON per call: {"key", "task", "what", "amount", "came"} where `came` is `done` for the
first call of a key, `again` for the same call later, `other` when a key comes with another body.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.chaos.tasks import receipt

# Before and after it is done, so that a caller can be killed on either side.
TAKES_SECONDS = 0.005


class Book:
    """What the bank has done; each call is a line that is written before it is answered."""

    def __init__(self, log: Path) -> None:
        self._done: dict[str, dict[str, Any]] = {}
        self._lock = threading.Lock()
        self._file = log.open("a", buffering=1)

    def enter(self, call: dict[str, Any]) -> bool:
        """Whether the call is the first of its key or the same again."""
        with self._lock:
            known = self._done.setdefault(call["key"], call)
            came = "done" if known is call else "again" if known == call else "other"
            self._file.write(json.dumps({**call, "came": came}) + "\n")
        return came != "other"


class Server(ThreadingHTTPServer):
    """Many callers at once."""

    daemon_threads = True
    request_queue_size = 256
    book: Book

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Callers are killed all the time: no line for each."""


class Counter(BaseHTTPRequestHandler):
    """One call."""

    server: Server

    def do_GET(self) -> None:
        self._answer(200, {"open": True})

    def do_POST(self) -> None:
        call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        time.sleep(TAKES_SECONDS)
        fits = self.server.book.enter(call)
        time.sleep(TAKES_SECONDS)
        self._answer(200 if fits else 409, {"receipt": receipt(call["key"])})

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_args: Any) -> None:
        """The book is the log."""


def main(port: str, log: str) -> None:
    """Serve until killed."""
    server = Server(("127.0.0.1", int(port)), Counter)
    server.book = Book(Path(log))
    server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
