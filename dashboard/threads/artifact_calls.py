"""Files that input refers to."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from checkpoints.state import deltas
from dashboard.errors import Invalid
from dashboard.kit.api.base import MemberView, answer, refusals
from dashboard.kit.pages.uploads import check_upload_size, upload
from dashboard.threads.thread_shapes import Artifact

FORM_BYTES = 64 * 1024


class Artifacts(MemberView):
    """Uploads."""

    changes = "upload"
    # The same bytes are kept once anyhow, and no transaction stays open while they are stored.
    keyed = False
    parser_classes = (MultiPartParser,)

    def body_max(self) -> int:
        """The most bytes that a form with its file may have."""
        return FORM_BYTES + int(settings.GATEPOST_UPLOAD_MAX_BYTES)

    def form(self) -> dict[str, Any]:
        """The form's JSON Schema; `maxLength` of a file counts its bytes (OpenAPI 3.1)."""
        most = int(settings.GATEPOST_UPLOAD_MAX_BYTES)
        return {
            "type": "object",
            "properties": {"file": {"type": "string", "format": "binary", "maxLength": most}},
            "required": ["file"],
            "additionalProperties": False,
        }

    @extend_schema(
        request={"multipart/form-data": OpenApiTypes.OBJECT},
        operation_id="artifacts_upload",
        responses={201: Artifact, **refusals(422)},
        summary="Upload a file; the answer is what a thread's input takes",
    )
    def post(self, request: Request) -> Response:
        """The same bytes are kept once."""
        # Before the bytes are read; the form around the file is small.
        length = request.META.get("CONTENT_LENGTH") or "0"
        check_upload_size(int(length) - FORM_BYTES if length.isdigit() else 0)
        return answer(Artifact(**upload(self.actor, _file(request))), 201)


def _file(request: Request) -> UploadedFile[Any]:
    """The form's one file; nothing beside it is dropped in silence."""
    for name in (*request.POST, *request.FILES):
        if name != "file":
            raise Invalid(deltas.at("$", name), "is not taken here")
    texts, files = request.POST.getlist("file"), request.FILES.getlist("file")
    if texts or len(files) != 1:
        raise Invalid("$.file", "takes one file" if files else "is required")
    result: UploadedFile[Any] = files[0]
    return result
