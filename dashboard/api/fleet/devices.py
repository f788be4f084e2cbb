"""Devices that take web push, of the caller."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Self
from uuid import UUID

from drf_spectacular.utils import extend_schema
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from approvals.notify.devices import KEY_MAX, NAME_MAX, DeviceRow
from approvals.notify.texts.kinds import ADDRESS_MAX
from dashboard import actions
from dashboard.actions.fleet import devices
from dashboard.api.protocol.base import MemberView, answer, refusals
from dashboard.api.shapes.requests import Nothing, RequestShape
from dashboard.api.shapes.texts import NotBlank
from dashboard.documents.state_shape import Shape


class Device(Shape):
    """A browser that takes messages; `target` is the push service behind it."""

    id: UUID
    name: str
    target: str
    created_at: datetime

    @classmethod
    def of(cls, row: DeviceRow) -> Self:
        """The row for the wire: no address and no key."""
        return cls(**{name: getattr(row, name) for name in cls.model_fields})


class DeviceList(Shape):
    """Devices of the caller, and the key that browsers subscribe with; empty: nothing is sent."""

    results: list[Device]
    public_key: str


class AddDevice(RequestShape):
    """Subscription as `PushSubscription.toJSON()` of a browser gives it."""

    name: Annotated[str, NotBlank(NAME_MAX)] = Field(description="For its owner to know it by.")
    address: Annotated[str, NotBlank(ADDRESS_MAX)] = Field(
        description="`endpoint`: an https address of the public internet."
    )
    p256dh: Annotated[str, NotBlank(KEY_MAX)] = Field(description="`keys.p256dh`, base64url.")
    auth: Annotated[str, NotBlank(KEY_MAX)] = Field(description="`keys.auth`, base64url.")


class Devices(MemberView):
    """Those of the caller, or a new one."""

    changes = "subscribe"

    @extend_schema(
        operation_id="devices_list",
        responses={200: DeviceList, **refusals()},
        summary="List your web push devices",
    )
    def get(self, request: Request) -> Response:
        """The oldest first."""
        rows = devices.list_devices(self.actor)
        key = devices.push_key(self.actor)
        return answer(DeviceList(results=[Device.of(row) for row in rows], public_key=key))

    @extend_schema(
        operation_id="devices_add",
        request=AddDevice,
        responses={201: Device, **refusals(422)},
        summary="Register a browser of yours for web push",
        description="Messages are encrypted for this browser. One that its push service does not "
        "know any more is removed by itself.",
    )
    def post(self, request: Request) -> Response:
        """201 with the device; the same again is the same device."""
        body = self.body(AddDevice)
        row = actions.add_device(self.actor, body.name, body.address, body.p256dh, body.auth)
        return answer(Device.of(row), status=201)


class RemoveOneDevice(MemberView):
    """Nothing more is sent to it."""

    changes = "subscribe"

    @extend_schema(
        operation_id="devices_remove",
        request=Nothing,
        responses={200: Device, **refusals(404, 422)},
        summary="Remove a device",
    )
    def post(self, request: Request, device_id: UUID) -> Response:
        """The device as it was."""
        self.body(Nothing)
        return answer(Device.of(actions.remove_device(self.actor, device_id)))
