"""The places that are told news: made, changed and tried by admins, looked at by auditors too."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from dashboard import actions
from dashboard.actions import endpoints as looks
from dashboard.kit.api.base import MemberView, answer, refusals

from .shapes.endpoints import (
    ChangeEndpoint,
    Delivery,
    Endpoint,
    EndpointDetail,
    EndpointList,
    EndpointMade,
    MakeEndpoint,
    RotateEndpoint,
    SwitchEndpoint,
)
from .shapes.requests import Nothing


class Endpoints(MemberView):
    """All of the workspace, or a new one."""

    changes = "notify"
    # A stored answer would be a stored secret.
    keyed = False

    @extend_schema(
        operation_id="endpoints_list", responses={200: EndpointList, **refusals()}, summary="List"
    )
    def get(self, request: Request) -> Response:
        """By name."""
        results = [Endpoint.from_row(row) for row in looks.list_endpoints(self.actor)]
        return answer(EndpointList(results=results))

    @extend_schema(
        operation_id="endpoints_make",
        request=MakeEndpoint,
        responses={201: EndpointMade, **refusals(422)},
        summary="Make an endpoint",
        description="The secret of a webhook is in this answer and nowhere else.",
    )
    def post(self, request: Request) -> Response:
        """Its secret is shown once."""
        body = self.body(MakeEndpoint)
        row, secret = actions.make_endpoint(self.actor, body.kind, body.wanted())
        return answer(EndpointMade.with_secret(row, secret), status=201)


class OneEndpoint(MemberView):
    """One of them."""

    @extend_schema(
        operation_id="endpoints_retrieve",
        responses={200: EndpointDetail, **refusals(404)},
        summary="An endpoint and its last deliveries",
    )
    def get(self, request: Request, endpoint_id: UUID) -> Response:
        """No address and no secret."""
        row, deliveries = looks.one_endpoint(self.actor, endpoint_id)
        last = [Delivery.from_row(one) for one in deliveries]
        return answer(EndpointDetail(**Endpoint.from_row(row).model_dump(), deliveries=last))


class ChangeOneEndpoint(MemberView):
    """Other values."""

    changes = "notify"

    @extend_schema(
        operation_id="endpoints_change",
        request=ChangeEndpoint,
        responses={200: Endpoint, **refusals(404, 422)},
        summary="Change an endpoint",
    )
    def post(self, request: Request, endpoint_id: UUID) -> Response:
        """Change the members that are sent; the others stay."""
        body = self.body(ChangeEndpoint)
        return answer(
            Endpoint.from_row(actions.change_endpoint(self.actor, endpoint_id, body.wanted()))
        )


class RotateOneEndpoint(MemberView):
    """A new secret."""

    changes = "notify"
    keyed = False

    @extend_schema(
        operation_id="endpoints_rotate",
        request=RotateEndpoint,
        responses={200: EndpointMade, **refusals(404, 409, 422)},
        summary="Give a webhook a new secret",
        description="Until `overlap` seconds are over, messages are signed by both.",
    )
    def post(self, request: Request, endpoint_id: UUID) -> Response:
        """The new secret is shown once."""
        overlap = self.body(RotateEndpoint).overlap
        row, secret = actions.rotate_endpoint(self.actor, endpoint_id, overlap)
        return answer(EndpointMade.with_secret(row, secret))


class SwitchOneEndpoint(MemberView):
    """On or off."""

    changes = "notify"

    @extend_schema(
        operation_id="endpoints_switch",
        request=SwitchEndpoint,
        responses={200: Endpoint, **refusals(404, 422)},
        summary="Switch an endpoint on or off",
    )
    def post(self, request: Request, endpoint_id: UUID) -> Response:
        """Off, what it has not got yet is dropped."""
        active = self.body(SwitchEndpoint).active
        return answer(Endpoint.from_row(actions.switch_endpoint(self.actor, endpoint_id, active)))


class TestOneEndpoint(MemberView):
    """A test message."""

    changes = "notify"

    @extend_schema(
        operation_id="endpoints_test",
        request=Nothing,
        responses={202: Endpoint, **refusals(404, 409, 422)},
        summary="Send a test message",
        description="A worker sends it; the outcome is in the deliveries.",
    )
    def post(self, request: Request, endpoint_id: UUID) -> Response:
        """202: a worker does it."""
        self.body(Nothing)
        result = actions.try_endpoint(self.actor, endpoint_id)
        return answer(Endpoint.from_row(result), status=202)
