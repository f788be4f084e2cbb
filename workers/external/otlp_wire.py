"""Spans in requests of OTLP over HTTP, as protobuf or JSON, compressed or not; pure."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from checkpoints.errors import InvalidValue
from checkpoints.state.deltas import decode_request

PROTOBUF, JSON = "application/x-protobuf", "application/json"
BYTES_MAX: Final = 20 * 1024 * 1024  # unpacked
SPANS_MAX: Final = 5_000
ERROR_MAX: Final = 2_000
_ERROR: Final = 2
_HEX: Final = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True)
class ReceivedSpan:
    """One span; ids as hex ("" for no parent), times in nanoseconds since 1970.

    `attributes` are plain values; `service` is the name of what sent it.
    """

    trace: str
    id: str
    parent: str
    name: str
    start: int
    end: int
    attributes: Mapping[str, Any]
    service: str
    error: str = ""


def unpacked(body: bytes, encoding: str) -> bytes:
    """Decompress a body; raises InvalidValue where it is too large or malformed."""
    if encoding in ("", "identity"):
        return body
    if encoding not in ("gzip", "deflate"):
        raise InvalidValue("Content-Encoding", "takes gzip, deflate or nothing")
    reader = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
    try:
        raw = reader.decompress(body, BYTES_MAX)
    except zlib.error:
        raise InvalidValue("$", f"is not {encoding}") from None
    if reader.unconsumed_tail:
        raise InvalidValue("$", f"has more than {BYTES_MAX:,} bytes unpacked")
    if not reader.eof:
        raise InvalidValue("$", "ends too early")
    return raw


def read_spans(body: bytes, media_type: str) -> tuple[list[ReceivedSpan], int]:
    """(the spans of a request, the number of those without ids); raises InvalidValue."""
    from google.protobuf.json_format import ParseDict, ParseError
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    try:
        if media_type == PROTOBUF:
            request = ExportTraceServiceRequest.FromString(body)
        else:
            request = ParseDict(_object(body), ExportTraceServiceRequest(), True)
    except RecursionError:
        raise InvalidValue("$", "is nested too deeply") from None
    except (DecodeError, ParseError, ValueError) as error:
        text = " ".join(str(error).split())[:200]
        raise InvalidValue("$", f"is not an ExportTraceServiceRequest: {text}") from None
    count = sum(len(scope.spans) for one in request.resource_spans for scope in one.scope_spans)
    if count > SPANS_MAX:
        raise InvalidValue("$", f"has {count:,} spans, at most {SPANS_MAX:,} are taken")
    ids = bytes.hex if media_type == PROTOBUF else _hex_of_json
    spans, refused = [], 0
    for one in request.resource_spans:
        service = str(_attributes(one.resource.attributes).get("service.name") or "")
        for span in (span for scope in one.scope_spans for span in scope.spans):
            made = _span(span, service, ids)
            refused += made is None
            spans += [] if made is None else [made]
    return spans, refused


def _object(body: bytes) -> dict[str, Any]:
    """Decode JSON by the rules of all requests; raises InvalidValue with the path."""
    message = decode_request(body, rounds=True)
    if not isinstance(message, dict):
        raise InvalidValue("$", "must be an object")
    return message


def _hex_of_json(value: bytes) -> str:
    """Restore an id: OTLP writes hex where protobuf reads base64."""
    return base64.b64encode(value).decode().lower()


def _span(span: Any, service: str, ids: Any) -> ReceivedSpan | None:
    trace, ident, parent = ids(span.trace_id), ids(span.span_id), ids(span.parent_span_id)
    if not (_is_id(trace, 32) and _is_id(ident, 16)):
        return None
    failed = span.status.code == _ERROR
    return ReceivedSpan(
        trace,
        ident,
        parent if _is_id(parent, 16) else "",
        _clean(span.name),
        span.start_time_unix_nano,
        span.end_time_unix_nano,
        _attributes(span.attributes),
        _clean(service),
        (_clean(span.status.message)[:ERROR_MAX] or "failed") if failed else "",
    )


def _is_id(text: str, length: int) -> bool:
    return len(text) == length and _HEX.issuperset(text) and bool(text.strip("0"))


def _attributes(pairs: Iterable[Any]) -> dict[str, Any]:
    return {_clean(pair.key): _value(pair.value) for pair in pairs}


def _value(value: Any) -> Any:
    """A plain value; what JSON does not have becomes text."""
    match value.WhichOneof("value"):
        case "string_value":
            return _clean(value.string_value)
        case "bool_value":
            return value.bool_value
        case "int_value":
            return value.int_value if abs(value.int_value) <= 2**53 else str(value.int_value)
        case "double_value":
            number = value.double_value
            return number if abs(number) < float("inf") else str(number)
        case "array_value":
            return [_value(item) for item in value.array_value.values]
        case "kvlist_value":
            return _attributes(value.kvlist_value.values)
        case "bytes_value":
            return base64.b64encode(value.bytes_value).decode()
    return None


def _clean(text: str) -> str:
    """PostgreSQL stores no NUL."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


def answer_bytes(refused: int, message: str) -> bytes:
    """Build the answer as protobuf."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
        ExportTracePartialSuccess,
        ExportTraceServiceResponse,
    )

    if not refused:
        return bytes(ExportTraceServiceResponse().SerializeToString())
    partial = ExportTracePartialSuccess(rejected_spans=refused, error_message=message)
    return bytes(ExportTraceServiceResponse(partial_success=partial).SerializeToString())


def as_text(value: Any) -> str:
    """Text as it is, any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
