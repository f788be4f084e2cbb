"""Spans by OTLP over HTTP, as any exporter of OpenTelemetry sends them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any, ClassVar

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from pydantic import Field
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response

from checkpoints.errors import InvalidValue
from checkpoints.server_packages import INSTALL, SPANS, is_installed
from checkpoints.state.deltas import LIMITS
from dashboard.documents.state_shape import Shape
from dashboard.errors import Malformed, NotInstalled, TooLarge
from dashboard.kit.api.base import answer, refusals
from workers.external.otlp_wire import JSON, PROTOBUF, answer_bytes, read_spans, unpacked

from .leased_view import ExternalView
from .spans import take_spans

NO_ID = "Spans without a trace id and a span id are not taken."


class _Raw(BaseParser):
    """The bytes of a body, as they came."""

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """Read no further than one byte past the limit (TooLarge, 413)."""
        raw: bytes = stream.read(LIMITS.request_bytes + 1)
        if len(raw) > LIMITS.request_bytes:
            raise TooLarge("$", f"has more than the {LIMITS.request_bytes:,} bytes that are taken")
        return raw


class _Protobuf(_Raw):
    media_type = PROTOBUF


class _Json(_Raw):
    media_type = JSON


class PartialSuccess(Shape):
    """Spans that were not taken, and why."""

    rejected_spans: int = Field(0, serialization_alias="rejectedSpans")
    error_message: str = Field("", serialization_alias="errorMessage")


class SpansTaken(Shape):
    """The answer of OTLP."""

    partial_success: PartialSuccess = Field(serialization_alias="partialSuccess")


class TakeSpans(ExternalView):
    """Spans of agents that are instrumented elsewhere."""

    parser_classes = (_Protobuf, _Json)
    # A span is recorded once by its own id.
    keyed: ClassVar[bool] = False

    @extend_schema(
        operation_id="otlp_traces",
        request={JSON: OpenApiTypes.OBJECT, PROTOBUF: OpenApiTypes.BINARY},
        responses={200: SpansTaken, **refusals(422)},
        summary="Take spans by OTLP/HTTP",
        description="Spans of agents (GenAI conventions, OpenInference, OpenLLMetry) become "
        "threads that are watched and not controlled; others are passed over. `Content-Encoding: "
        "gzip` is taken. Set OTEL_EXPORTER_OTLP_ENDPOINT to `.../api/v1/otlp`.",
    )
    def post(self, request: Request) -> Response | HttpResponse:
        """Idempotent by trace and span id."""
        if not is_installed(SPANS):
            raise NotInstalled(f"Spans need {INSTALL}")
        kind = (request.content_type or JSON).partition(";")[0].strip()
        body = request.data if isinstance(request.data, bytes) else b""
        try:
            body = unpacked(body, request.headers.get("Content-Encoding", "").strip().lower())
            spans, refused = read_spans(body, kind)
        except InvalidValue as error:
            raise Malformed(str(error), path=error.path) from error
        take_spans(self.actor, spans)
        message = NO_ID if refused else ""
        if kind == PROTOBUF:
            return HttpResponse(answer_bytes(refused, message), content_type=PROTOBUF)
        partial = PartialSuccess(rejected_spans=refused, error_message=message)
        return answer(SpansTaken(partial_success=partial))
