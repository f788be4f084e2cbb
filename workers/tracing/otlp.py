"""Sends spans by OTLP over HTTP, as protobuf; imported only where spans are exported."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import httpx2
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import (
    AnyValue,
    ArrayValue,
    InstrumentationScope,
    KeyValue,
)
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1 import trace_pb2 as wire

from checkpoints.outbound import connections
from gatepost_command import __version__

from . import environment
from .exporter import Delivery
from .spans import CLIENT, INTERNAL, SERVER, Span

# Of each connect, write and read. A turn ends before another worker may take the duty.
SECONDS: Final = 5.0
# The same spans would be refused again.
_REFUSED: Final = frozenset({400, 413, 422})
_KINDS: Final = {
    SERVER: wire.Span.SPAN_KIND_SERVER,
    CLIENT: wire.Span.SPAN_KIND_CLIENT,
    INTERNAL: wire.Span.SPAN_KIND_INTERNAL,
}


class OtlpExporter:
    """A client of one collector; its address and headers come from the environment."""

    def __init__(self) -> None:
        self._url = environment.endpoint()
        self._compressed = environment.is_compressed()
        headers = environment.headers() | {"content-type": "application/x-protobuf"}
        if self._compressed:
            headers["content-encoding"] = "gzip"
        self._client = connections.client(
            self._url, what="collector", timeout=SECONDS, headers=headers
        )
        attributes = {"service.version": __version__} | environment.resource()
        self._resource = Resource(attributes=_attributes(attributes))
        self._scope = InstrumentationScope(name="gatepost", version=__version__)

    def export(self, spans: Sequence[Span]) -> Delivery:
        """Send spans in one request."""
        scope = wire.ScopeSpans(scope=self._scope, spans=[_span(span) for span in spans])
        resource = wire.ResourceSpans(resource=self._resource, scope_spans=[scope])
        body = ExportTraceServiceRequest(resource_spans=[resource]).SerializeToString()
        content = gzip.compress(body) if self._compressed else body
        try:
            status = self._client.post(self._url, content=content).status_code
        except (httpx2.HTTPError, httpx2.InvalidURL):
            return Delivery.FAILED
        if 200 <= status < 300:
            return Delivery.TAKEN
        return Delivery.REFUSED if status in _REFUSED else Delivery.FAILED

    def close(self) -> None:
        """End the connection."""
        self._client.close()


def _span(span: Span) -> wire.Span:
    status = wire.Status()
    if span.error:
        status = wire.Status(code=wire.Status.STATUS_CODE_ERROR, message=span.error)
    return wire.Span(
        trace_id=bytes.fromhex(span.trace),
        span_id=bytes.fromhex(span.id),
        parent_span_id=bytes.fromhex(span.parent),
        name=span.name,
        kind=_KINDS[span.kind],
        start_time_unix_nano=_nanoseconds(span.start),
        end_time_unix_nano=_nanoseconds(span.end),
        attributes=_attributes(span.attributes),
        status=status,
    )


def _attributes(values: Mapping[str, Any]) -> list[KeyValue]:
    return [KeyValue(key=name, value=_value(value)) for name, value in values.items()]


def _value(value: Any) -> AnyValue:
    match value:
        case bool():
            return AnyValue(bool_value=value)
        case int() if abs(value) < 2**63:
            return AnyValue(int_value=value)
        case tuple():
            return AnyValue(array_value=ArrayValue(values=[_value(item) for item in value]))
    return AnyValue(string_value=str(value))


def _nanoseconds(at: datetime) -> int:
    """Whole microseconds: a float would lose some."""
    return (int(at.timestamp()) * 1_000_000 + at.microsecond) * 1_000
