"""A server that counts what agents do in the outside world, and may let them wait for answers."""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

WAITS = 80.0  # seconds until an answer that nobody lets go, so that no test hangs


@dataclass(frozen=True, slots=True)
class Call:
    """One request: what was done, for which errand, under which key, from which host.

    `code` is where the host's Gatepost lies, `clock` its time, `ahead` by how many seconds that is
    before the counter's.
    """

    what: str
    name: str
    key: str
    host: str
    code: str
    clock: float
    ahead: float


@dataclass
class Counter:
    """`calls` in the order in which they came. Calls that are held are answered by `release`."""

    url: str = ""
    calls: list[Call] = field(default_factory=list)
    held: dict[Call, int] = field(default_factory=lambda: defaultdict(int))
    _holds: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self._changed = threading.Condition()

    def hold(self, *whats: str) -> None:
        """Let calls of these kinds wait from now on."""
        self._holds = frozenset(whats)

    def release(self) -> None:
        """Answer all that wait, and those to come."""
        with self._changed:
            self._holds = frozenset()
            self._changed.notify_all()

    def waiting(self, host: str) -> list[Call]:
        """The calls of a host that wait for their answer."""
        with self._changed:
            return [call for call, count in self.held.items() if call.host == host and count]

    def of(self, name: str, *whats: str) -> list[Call]:
        """The calls of an errand, oldest first."""
        with self._changed:
            return [call for call in self.calls if call.name == name and call.what in whats]

    def take(self, call: Call) -> None:
        """Count a call; return when it may be answered."""
        with self._changed:
            self.calls.append(call)
            if call.what in self._holds:
                self.held[call] += 1
                self._changed.wait_for(lambda: call.what not in self._holds, WAITS)
                self.held[call] -= 1


@contextmanager
def counter() -> Iterator[Counter]:
    """A counter that listens."""
    made = Counter()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            return

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            made.take(Call(**body, ahead=body["clock"] - time.time()))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(f"{body['what']} done".encode())

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def handle_error(self, *_: object) -> None:
            return  # who called is gone

    server = Server(("127.0.0.1", 0), Handler)
    made.url = f"http://127.0.0.1:{server.server_address[1]}/"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.release()
        server.shutdown()
        server.server_close()
        thread.join()
