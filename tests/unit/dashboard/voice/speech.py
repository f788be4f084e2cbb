"""A server that turns speech into text, on this machine: it speaks OpenAI's protocol."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Speech:
    """What it was sent; `answer` is what it says, `status` how."""

    port: int = 0
    answer: str = '{"text": " What will the weather be? "}'
    status: int = 200
    files: list[bytes] = field(default_factory=list)
    forms: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    @property
    def setting(self) -> str:
        """The value of GATEPOST_SPEECH."""
        return f"openai:small@http://127.0.0.1:{self.port}/v1"


@contextmanager
def speech_server() -> Iterator[Speech]:
    """The server, while the block lasts."""
    speech = Speech()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            boundary = re.search(r"boundary=(\S+)", self.headers["Content-Type"])
            assert boundary is not None
            parts: dict[str, Any] = {}
            for part in body.split(b"--" + boundary[1].encode())[1:-1]:
                head, _, content = part.partition(b"\r\n\r\n")
                name = re.search(rb' name="(\w+)"', head)
                assert name is not None
                parts[name[1].decode()] = content.removesuffix(b"\r\n")
            speech.paths.append(self.path)
            speech.files.append(parts.pop("file"))
            speech.forms.append({name: value.decode() for name, value in parts.items()})
            answer = speech.answer.encode()
            self.send_response(speech.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    speech.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield speech
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def answer_of(text: str) -> str:
    """An answer of the server."""
    return json.dumps({"text": text})
