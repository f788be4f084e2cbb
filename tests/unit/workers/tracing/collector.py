"""A collector of OpenTelemetry on this machine: takes OTLP over HTTP as protobuf."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)


@dataclass(frozen=True)
class Received:
    """A span as it arrived; ids as hex, times in nanoseconds."""

    name: str
    trace: str
    id: str
    parent: str
    kind: int
    start: int
    end: int
    error: str
    attributes: dict[str, Any]
    resource: dict[str, Any]


@dataclass
class Collector:
    """Where it listens, what it answers, and the spans of all requests in order."""

    url: str = ""
    status: int = 200
    spans: list[Received] = field(default_factory=list)
    requests: list[dict[str, str]] = field(default_factory=list)  # their headers

    def of(self, trace: str) -> list[Received]:
        """The spans of one trace."""
        return [span for span in self.spans if span.trace == trace]

    def take(self, body: bytes) -> None:
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            about = attributes(resource.resource.attributes)
            for scope in resource.scope_spans:
                self.spans += [received(span, about) for span in scope.spans]


def received(span: Any, about: dict[str, Any]) -> Received:
    return Received(
        span.name,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.kind,
        span.start_time_unix_nano,
        span.end_time_unix_nano,
        span.status.message if span.status.code == 2 else "",
        attributes(span.attributes),
        about,
    )


def attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: value_of(pair.value) for pair in pairs}


def value_of(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [value_of(item) for item in value.array_value.values]
    return getattr(value, kind)


@contextmanager
def collecting(port: int = 0) -> Iterator[Collector]:
    """A collector that takes everything until its `status` says otherwise."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            collector.requests.append(dict(self.headers.items()) | {":path": self.path})
            if collector.status == 200:
                zipped = self.headers.get("Content-Encoding") == "gzip"
                collector.take(gzip.decompress(body) if zipped else body)
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(collector.status)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    collector.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
