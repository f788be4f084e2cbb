"""python wake.py COMMAND...: starts a worker for each thread whose work waits, where none lives.

Receives the webhook `thread.work_waiting`. The name of the thread becomes the last argument of the
command, such as `python wake.py python invoices.py`. Needs `pip install standardwebhooks`, and in
WEBHOOK_SECRET the secret that Gatepost showed once. WAKE_PORT (8099) is where it listens; put a
server with TLS before it.
"""

import json
import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

from standardwebhooks import Webhook, WebhookVerificationError

LARGEST = 64 * 1024  # bytes; a message of Gatepost has less than 20 kB


class Workers:
    """The processes that this one has started, at most one for each thread."""

    def __init__(self, command: list[str]) -> None:
        self.command = command
        self._wanted: dict[str, str] = {}
        self._alive: set[str] = set()
        self._lock = Lock()

    def start(self, thread: str, name: str) -> None:
        """Start a worker, now or when the one that lives has ended: it may be about to."""
        with self._lock:
            self._wanted[thread] = name
            if thread not in self._alive:
                self._begin(thread)

    def _begin(self, thread: str) -> None:
        name = self._wanted.pop(thread)
        process = subprocess.Popen([*self.command, name])
        self._alive.add(thread)
        print(f"started a worker for {name}", flush=True)
        Thread(target=self._end, args=(thread, process), daemon=True).start()

    def _end(self, thread: str, process: "subprocess.Popen[bytes]") -> None:
        process.wait()
        with self._lock:
            self._alive.remove(thread)
            if thread in self._wanted:
                self._begin(thread)


class Receiver(BaseHTTPRequestHandler):
    """Answers 401 to what Gatepost did not sign, and starts nothing for it."""

    webhook: Webhook
    workers: Workers

    def do_POST(self) -> None:
        """Verify the message over its exact bytes, then start a worker for its thread."""
        body = self.rfile.read(min(int(self.headers.get("Content-Length") or 0), LARGEST))
        try:
            # Looks at the age as well: a recorded message is of no use later.
            message: Any = self.webhook.verify(body, dict(self.headers.items()))
        except (WebhookVerificationError, json.JSONDecodeError):
            self._answer(401)
            return
        data = message["data"]
        if message["type"] == "thread.work_waiting" and data.get("name"):
            # Not a shell: a name is one argument, whatever it holds.
            self.workers.start(data["thread"], data["name"])
        self._answer(204)

    def _answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()


def main() -> None:
    """Listen until Ctrl-C."""
    Receiver.webhook = Webhook(os.environ["WEBHOOK_SECRET"])
    Receiver.workers = Workers(sys.argv[1:])
    address = ("127.0.0.1", int(os.environ.get("WAKE_PORT", "8099")))
    with ThreadingHTTPServer(address, Receiver) as server:
        print(f"listening on {server.server_address[1]}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
