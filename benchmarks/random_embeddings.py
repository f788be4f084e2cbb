"""`python -m benchmarks.random_embeddings`: a server whose embeddings are random directions.

It prints its address as GATEPOST_EMBEDDINGS takes it. It is a process of its own, so that what it
computes is not counted as time of the product.
"""

from __future__ import annotations

import json
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

import numpy as np

NUMBERS: Final = 384


def directions(chance: Any, count: int) -> Any:
    """So many vectors of the length 1, as float32."""
    vectors = chance.standard_normal((count, NUMBERS), np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def direction(text: str) -> Any:
    """The vector of a text."""
    return directions(np.random.default_rng(zlib.crc32(text.encode())), 1)[0]


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        """Answer with the directions of the texts."""
        texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
        rows = [{"index": n, "embedding": direction(text).tolist()} for n, text in enumerate(texts)]
        answer = json.dumps({"data": rows}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def embeddings() -> Iterator[str]:
    """The server in a process of its own; the value of GATEPOST_EMBEDDINGS."""
    command = [sys.executable, "-m", "benchmarks.random_embeddings"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    print(f"openai:bench@http://127.0.0.1:{server.server_port}/v1", flush=True)
    server.serve_forever()
