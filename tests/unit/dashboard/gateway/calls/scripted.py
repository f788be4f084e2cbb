"""An MCP server over HTTP whose answers a test writes, for what no honest server sends."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

type Message = dict[str, Any]
TOOL: Message = {"name": "say", "description": "Say.", "inputSchema": {"type": "object"}}


@dataclass
class Scripted:
    """Its address, and what it answers to each method; several messages are a stream.

    An answer gets the id of its request, unless it says that it has its `own id`; `spelled` is the
    JSON of its result as it is sent.
    """

    url: str = ""
    answers: dict[str, Callable[[Message], list[Message]]] = field(default_factory=dict)
    calls: list[Message] = field(default_factory=list)
    streams: bool = False
    seen: list[Message] = field(default_factory=list)


def _text(message: Message) -> str:
    spelled = message.pop("spelled", None)
    text = json.dumps(message)
    return text if spelled is None else f'{text[:-1]},"result":{spelled}}}'


@contextmanager
def scripted() -> Iterator[Scripted]:
    """A server that lists the tool `say`, and otherwise answers what the test writes."""
    made = Scripted()
    made.answers["tools/list"] = lambda _: [{"result": {"tools": [TOOL]}}]

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["content-length"])))
            method = message.get("method", "")
            made.seen.append(message)
            if method == "tools/call":
                made.calls.append(message)
            answer = made.answers.get(method, lambda _: [{"result": {}}])
            named = {"jsonrpc": "2.0"}
            messages = [
                named | one | ({} if "method" in one else {"id": message.get("id")})
                if "own id" not in one
                else named | {name: value for name, value in one.items() if name != "own id"}
                for one in answer(message)
            ]
            streams = made.streams or len(messages) > 1
            texts = [_text(one) for one in messages]
            raw = "".join(f"data: {text}\n\n" for text in texts)
            body = (raw if streams else texts[0]).encode()
            self.send_response(200)
            kind = "text/event-stream" if streams else "application/json"
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    made.url = f"http://127.0.0.1:{server.server_port}/mcp"
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
