"""Decisions made elsewhere: the caller is known by a signature, not by a login."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request
from rest_framework.views import APIView

from approvals.hooks.deliveries import BODY_MAX
from dashboard.documents.state_shape import Shape
from dashboard.errors import TooLarge
from dashboard.kit.api import limits, query_parameters
from dashboard.kit.api.base import refusals
from dashboard.kit.api.renderers import Negotiation
from dashboard.kit.shapes.django_request import django_request
from dashboard.kit.shapes.problems import MEDIA_TYPE

from . import deliveries

REPLAYED = "Webhook-Replayed"
_SIGNED = (
    (
        "webhook-id",
        {"minLength": 1, "maxLength": deliveries.ID_MAX, "pattern": deliveries.ID.pattern},
        "The delivery's own id; the same one again gets the same answer, once.",
    ),
    (
        "webhook-timestamp",
        {"maxLength": 12, "pattern": deliveries.TIME.pattern},
        "When it was signed, in whole seconds; at most five minutes from now.",
    ),
    (
        "webhook-signature",
        {"minLength": 1},
        "`v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`.",
    ),
)


class Signature(BaseAuthentication):
    """The signer is known from the delivery itself; nobody is signed in by it."""

    def authenticate(self, request: Request) -> None:
        """No user."""
        return


class SignatureDescription(OpenApiAuthenticationExtension):
    """The signature, in the schema."""

    target_class = "dashboard.approvals.decide_by_hook.Signature"
    name = "webhookSignature"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        """OpenAPI has no word for a signature over a body: a header comes closest."""
        return {
            "type": "apiKey",
            "in": "header",
            "name": "webhook-signature",
            "description": "Standard Webhooks, `v1`, by the secret of the hook.",
        }


class HookDecided(Shape):
    """The outcome of the request: no argument of it."""

    approval: UUID
    thread: UUID
    status: str
    outcome: str
    proposal_hash: str
    decided_by: str
    decided_by_name: str
    decided_at: datetime | None
    effective_at: datetime | None


class DecideHook(APIView):
    """`POST /api/v1/hooks/decide/?hook=<id>`, signed by Standard Webhooks.

    No cookie opens it, so it needs no CSRF token; secrets have 256 bits, so it needs no limit
    against guessing.
    """

    authentication_classes = (Signature,)
    permission_classes = ()
    content_negotiation_class = Negotiation
    # For the document: any content type is read, and a kept answer says so.
    reads_any = True
    replayed_as = REPLAYED

    def body_max(self) -> int:
        """The most bytes that a delivery may have."""
        return BODY_MAX

    @extend_schema(
        operation_id="hooks_decide",
        request=deliveries.Carried,
        responses={200: HookDecided, **refusals(404, 409, 413, 422)},
        parameters=[
            OpenApiParameter("hook", OpenApiTypes.UUID, required=True, description="The hook."),
            *(
                OpenApiParameter(
                    name, {"type": "string", **shape}, "header", required=True, description=message
                )
                for name, shape, message in _SIGNED
            ),
        ],
        summary="Carry a decision that was made elsewhere",
        description="Called by a service and signed with its secret, not with a token: as if the "
        "person that `by` stands for had pressed the button. See docs/howto/hooks.md.",
    )
    def post(self, request: Request) -> HttpResponse:
        """Read the body as it came: the signature is over its bytes."""
        query_parameters.check(request, self)
        hook = request.query_params.get("hook", "")
        limits.hook(request, hook)
        raw = django_request(request).read(BODY_MAX + 1)
        if len(raw) > BODY_MAX:
            raise TooLarge("$", f"has more than the {BODY_MAX:,} bytes that are taken")
        done = deliveries.deliver(hook, request.headers, raw)
        kind = "application/json" if done.status < 400 else MEDIA_TYPE
        headers = {REPLAYED: "true"} if done.replayed else {}
        return HttpResponse(done.text, content_type=kind, status=done.status, headers=headers)
