"""The door for decisions made elsewhere; who knocks is known by a signature, not by a login."""

from __future__ import annotations

from django.http import HttpResponse
from rest_framework.request import Request
from rest_framework.views import APIView

from dashboard import inbound
from dashboard.errors import TooLarge

from .problems import MEDIA_TYPE
from .renderers import Negotiation

REPLAYED = "Webhook-Replayed"


class DecideHook(APIView):
    """`POST /api/v1/hooks/decide/?hook=<id>`, signed by Standard Webhooks.

    Not part of the document of the API: no user calls it. No cookie opens it, so it needs no CSRF
    token; secrets have 256 bits, so it needs no limit against guessing.
    """

    schema = None
    authentication_classes = ()
    permission_classes = ()
    content_negotiation_class = Negotiation

    def post(self, request: Request) -> HttpResponse:
        """Read the body as it came: the signature is over its bytes."""
        raw = request._request.read(inbound.BODY_MAX + 1)
        if len(raw) > inbound.BODY_MAX:
            raise TooLarge("$", f"has more than the {inbound.BODY_MAX:,} bytes that are taken")
        hook = request.query_params.get("hook", "")
        done = inbound.deliver(hook, request.headers, raw)
        kind = "application/json" if done.status < 400 else MEDIA_TYPE
        headers = {REPLAYED: "true"} if done.replayed else {}
        return HttpResponse(done.text, content_type=kind, status=done.status, headers=headers)
