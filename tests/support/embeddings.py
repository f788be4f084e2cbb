"""A server of embeddings on this machine: it speaks OpenAI's protocol, and knows a few meanings."""

from __future__ import annotations

import hashlib
import json
import math
import re
import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Words that mean the same, in two languages.
MEANINGS = (
    {"invoice", "bill", "rechnung", "payment", "paid", "zahlung"},
    {"depot", "warehouse", "lager", "storehouse"},
    {"holiday", "vacation", "urlaub"},
    {"closes", "shuts", "schliesst"},
)
NUMBERS = 32


def meaning(text: str) -> list[float]:
    """Numbers for a text: words that mean the same point the same way."""
    vector = [0.0] * NUMBERS
    for word in re.findall(r"\w+", text.lower()):
        for axis, words in enumerate(MEANINGS):
            if word in words:
                vector[axis] += 1.0
        digest = hashlib.sha256(word.encode()).digest()
        vector[len(MEANINGS) + digest[0] % (NUMBERS - len(MEANINGS))] += 0.05
    return vector if any(vector) else [1.0] * NUMBERS


def unit(vector: Sequence[float]) -> bytes:
    """A vector of the length 1 as stores take it."""
    length = math.hypot(*vector)
    return struct.pack(f"<{len(vector)}f", *(one / length for one in vector))


@dataclass
class Embeddings:
    """What it was sent; `status` is how it answers, `answer` what instead of vectors.

    A text with `refused` in it is answered with 400, alone or among others.
    """

    port: int = 0
    status: int = 200
    answer: str = ""
    refused: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    texts: list[list[str]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)

    @property
    def setting(self) -> str:
        """The value of GATEPOST_EMBEDDINGS."""
        return f"openai:tiny@http://127.0.0.1:{self.port}/v1"


@contextmanager
def embedding_server() -> Iterator[Embeddings]:
    """The server, while the block lasts."""
    seen = Embeddings()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            texts = body["input"]
            seen.texts.append(texts)
            seen.keys.append(self.headers.get("Authorization", ""))
            rows = [{"index": n, "embedding": meaning(text)} for n, text in enumerate(texts)]
            # Out of order, as the protocol allows.
            answer = (seen.answer or json.dumps({"data": rows[::-1]})).encode()
            is_refused = seen.refused and any(seen.refused in text for text in texts)
            self.send_response(400 if is_refused else seen.status)
            for name, value in seen.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    seen.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
