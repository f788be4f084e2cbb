"""A local server that charges for calls, counts them outside of the engine, and has faults.

It stands in for whatever costs time and money. Each call names its trial (a task and how it is
worked); a trial may have one fault, met at the model call of one step and never again.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# Where the agent of the bench finds the server, and how long it waits for an answer.
SERVER = "BENCH_WASTING_SERVER"
MODEL = "counting-server"  # as its answers are recorded
TIMEOUT_SECONDS = 1.0
TOO_LONG_SECONDS = 1.5
KINDS = ("429", "503", "time-out", "kill")


@dataclass(frozen=True, slots=True)
class Fault:
    """What a trial meets at its model call of one step."""

    step: int
    kind: str


def price(task: str, step: int) -> tuple[int, int]:
    """(tokens in, tokens out) of a model call; the same however a task is worked."""
    digest = sha256(f"{task}/{step}".encode()).digest()
    return 300 + digest[0] * 4, 50 + digest[1]


class Charging:
    """The counts by trial, and the faults that are still to be met."""

    def __init__(self, met: Callable[[str, Fault], None]) -> None:
        self.calls: Counter[str] = Counter()
        self.tokens: Counter[str] = Counter()
        self.faults: dict[str, Fault] = {}
        self.address = ""
        self._met = met
        self._lock = threading.Lock()

    def plan(self, faults: Mapping[str, Fault]) -> None:
        """What trials will meet."""
        with self._lock:
            self.faults |= faults

    def answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """(status, body) of one call, counted and charged before it is answered."""
        trial, step = str(body["trial"]), int(body["step"])
        model = body["what"] == "model"
        tokens_in, tokens_out = price(trial.rpartition("/")[2], step) if model else (0, 0)
        with self._lock:
            fault = self.faults.get(trial)
            hit = model and fault is not None and fault.step == step
            if hit:
                del self.faults[trial]
            self.calls[trial] += 1
            if not hit or (fault and fault.kind in ("time-out", "kill")):
                # What answers too late, or to somebody who is gone, has cost all the same.
                self.tokens[trial] += tokens_in + tokens_out
        if hit and fault is not None:
            self._met(trial, fault)
            if fault.kind in ("429", "503"):
                return int(fault.kind), {"error": "come again"}
            if fault.kind == "time-out":
                time.sleep(TOO_LONG_SECONDS)
            else:
                os.kill(int(body["pid"]), signal.SIGKILL)
        message = f"A counted answer to step {step}: no model has been asked."
        return 200, {"text": message, "tokens_in": tokens_in, "tokens_out": tokens_out}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    charging: Charging

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Callers that were killed or have lost patience are no news."""


class _Call(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        payload = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status, body = self.server.charging.answer(payload)
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(raw)))
        if status in (429, 503):
            self.send_header("Retry-After", "0")
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_args: Any) -> None:
        """Counts are enough."""


@contextmanager
def charging(met: Callable[[str, Fault], None]) -> Iterator[Charging]:
    """A server that answers; `met` is told of a fault before it strikes."""
    made = Charging(met)
    server = _Server(("127.0.0.1", 0), _Call)
    server.charging = made
    made.address = f"http://127.0.0.1:{server.server_address[1]}/"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
