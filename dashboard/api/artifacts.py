"""Files that input refers to."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from dashboard import actions
from dashboard.errors import Invalid
from dashboard.permissions import require

from .base import Door, answer
from .shapes import Artifact, Problem

_FORM: dict[str, Any] = {
    "type": "object",
    "properties": {"file": {"type": "string", "format": "binary"}},
    "required": ["file"],
}


class Artifacts(Door):
    """Uploads."""

    parser_classes = (MultiPartParser,)

    @extend_schema(
        request={"multipart/form-data": _FORM},
        responses={201: Artifact, 403: Problem, 422: Problem},
        summary="Upload a file; the answer is what a thread's input takes",
    )
    def post(self, request: Request) -> Response:
        """The same bytes are kept once."""
        require(self.actor, "upload")  # before the bytes are read
        file = request.FILES.get("file")
        if file is None:
            raise Invalid("$.file", "is required")
        return answer(Artifact(**actions.upload(self.actor, file)), 201)
