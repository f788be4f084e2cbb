"""The bank's counter: HTTP on a loopback port or a unix socket.

POST /reserve /pay /refund /release   with Idempotency-Key and a JSON object
GET  /balance /payments?supplier= /calls /health
POST /faults  {"kind", "times", "op"?, "seconds"?, "retry_after"?}: how the next calls go wrong
DELETE /faults  switches them off

Kinds of faults: `429` and `503` refuse with Retry-After; `timeout` says nothing for `seconds` and
does nothing; `lost` does it and says nothing; `slow` does it after `seconds`.
"""

from __future__ import annotations

import json
import socketserver
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from .ledger import OPERATIONS, Ledger

KINDS = ("429", "503", "timeout", "lost", "slow")
BODY_MAX = 8 << 20
KEY_MAX = 255


@dataclass
class Fault:
    """A fault of the next `times` calls of `op`, or of any."""

    kind: str
    times: int = 1
    op: str = ""
    seconds: float = 1.0
    retry_after: float = 1.0


class Faults:
    """The switches; gone with the process."""

    def __init__(self) -> None:
        self._set: list[Fault] = []
        self._lock = threading.Lock()

    def add(self, fault: Fault) -> None:
        with self._lock:
            self._set.append(fault)

    def clear(self) -> None:
        with self._lock:
            self._set.clear()

    def take(self, op: str) -> Fault | None:
        """The fault of this call, if any is left."""
        with self._lock:
            for fault in self._set:
                if fault.times > 0 and fault.op in ("", op):
                    fault.times -= 1
                    return fault
        return None


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet
    timeout = 60
    server: Any

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        ledger: Ledger = self.server.ledger
        if address.path == "/health":
            self._say(200, {"bank": "test", "ledger": str(ledger.path)})
        elif address.path == "/balance":
            self._say(200, ledger.balance())
        elif address.path == "/payments":
            wanted = frozenset(parse_qs(address.query).get("supplier", []))
            self._say(200, {"payments": ledger.payments(wanted)})
        elif address.path == "/calls":
            self._send(200, ledger.lines(), "application/x-ndjson")
        else:
            self._say(404, {"detail": "There is nothing here."})

    def do_DELETE(self) -> None:
        if self.path != "/faults":
            self._say(404, {"detail": "There is nothing here."})
            return
        self.server.faults.clear()
        self._say(200, {})

    def do_POST(self) -> None:
        body = self._body()
        if body is None:
            return
        op = self.path.removeprefix("/")
        if op == "faults":
            self._switch(body)
        elif op in OPERATIONS:
            self._operate(op, body)
        else:
            self._say(404, {"detail": "There is nothing here."})

    def _body(self) -> dict[str, Any] | None:
        try:
            length = int(self.headers.get("Content-Length", ""))
        except ValueError:
            length = -1
        if not 0 <= length <= BODY_MAX:
            self.close_connection = True
            self._say(400, {"detail": "A call has a Content-Length of at most 8 MB."})
            return None
        try:
            body = json.loads(self.rfile.read(length))
        except ValueError:
            body = None
        if not isinstance(body, dict):
            self._say(400, {"detail": "A call is a JSON object."})
            return None
        return body

    def _switch(self, body: dict[str, Any]) -> None:
        try:
            fault = Fault(**body)
        except TypeError as error:
            self._say(400, {"detail": str(error)})
            return
        if fault.kind not in KINDS or fault.op not in ("", *OPERATIONS):
            self._say(400, {"detail": f"Kinds are {', '.join(KINDS)}."})
            return
        self.server.faults.add(fault)
        self._say(200, {})

    def _operate(self, op: str, body: dict[str, Any]) -> None:
        ledger: Ledger = self.server.ledger
        key = self.headers.get("Idempotency-Key", "")
        if not 1 <= len(key) <= KEY_MAX:
            self._say(400, {"detail": "A call needs an Idempotency-Key of 1 to 255 characters."})
            return
        fault: Fault | None = self.server.faults.take(op)
        kind = fault.kind if fault else ""
        if fault and kind in ("429", "503"):
            ledger.note_fault(op, body, key, int(kind), kind)
            self._say(
                int(kind),
                {"detail": "Too many calls." if kind == "429" else "The bank is closed."},
                {"Retry-After": f"{fault.retry_after:g}"},
            )
            return
        if fault and kind == "timeout":
            ledger.note_fault(op, body, key, 0, kind)
            time.sleep(fault.seconds)
            self.close_connection = True
            return
        if fault and kind == "slow":
            time.sleep(fault.seconds)
        answer = ledger.call(op, body, key, lost=kind == "lost")
        if kind == "lost":
            self.close_connection = True
            return
        more = {"Idempotency-Replayed": "true"} if answer.replayed else {}
        self._say(answer.status, answer.body, more)

    def _say(self, status: int, body: Any, more: dict[str, str] | None = None) -> None:
        self._send(status, json.dumps(body).encode(), "application/json", more)

    def _send(
        self, status: int, content: bytes, media_type: str, more: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(content)))
        for name, value in (more or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the ledger is the log."""


class _Counter(socketserver.ThreadingMixIn):
    ledger: Ledger
    faults: Faults
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that left in the middle is no news."""


class PortBank(_Counter, socketserver.TCPServer):
    """On a port of this machine."""

    @property
    def where(self) -> str:
        """The URL of the bank."""
        return f"http://127.0.0.1:{self.socket.getsockname()[1]}"


class SocketBank(_Counter, socketserver.UnixStreamServer):
    """On a unix socket."""

    @property
    def where(self) -> str:
        """The address of the bank's socket."""
        return f"unix:{self.server_address}"


def bank(ledger: Ledger, *, port: int = 0, socket: Path | None = None) -> PortBank | SocketBank:
    """A bank that listens; call `serve_forever`. Without a socket on 127.0.0.1, port 0 is any."""
    made: PortBank | SocketBank
    if socket is not None:
        socket.unlink(missing_ok=True)  # of a former bank: the ledger's lock says that it is gone
        made = SocketBank(str(socket), Handler)
        socket.chmod(0o600)
    else:
        made = PortBank(("127.0.0.1", port), Handler)
    made.ledger, made.faults = ledger, Faults()
    return made
