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

from .base import Door, answer, refusals
from .shapes import Artifact

FORM_BYTES = 64 * 1024
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
        operation_id="artifacts_upload",
        responses={201: Artifact, **refusals(422)},
        summary="Upload a file; the answer is what a thread's input takes",
    )
    def post(self, request: Request) -> Response:
        """The same bytes are kept once."""
        # Before the bytes are read; the form around the file is small.
        require(self.actor, "upload")
        length = request.META.get("CONTENT_LENGTH") or "0"
        actions.check_upload_size(int(length) - FORM_BYTES if length.isdigit() else 0)
        file = request.FILES.get("file")
        if file is None:
            raise Invalid("$.file", "is required")
        return answer(Artifact(**actions.upload(self.actor, file)), 201)
