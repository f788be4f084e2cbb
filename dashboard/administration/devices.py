"""Devices that take web push: people add and remove their own."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated, Final
from uuid import UUID

from django.contrib.auth.decorators import login_not_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe
from drf_spectacular.utils import extend_schema
from pydantic import Field
from rest_framework.request import Request
from rest_framework.response import Response

from approvals.notify import devices
from approvals.notify.channels import push
from approvals.notify.devices import KEY_MAX, NAME_MAX, Subscribed
from approvals.notify.texts.kinds import ADDRESS_MAX
from checkpoints.states import WorkspaceEventKind
from dashboard import errors
from dashboard.documents.state_shape import Shape
from dashboard.errors import Forbidden, translated
from dashboard.fields.credentials import check_credentials
from dashboard.fields.validation import check_text
from dashboard.identity.permissions import Actor, require
from dashboard.identity.sign_ins.devices import device_of
from dashboard.kit.action import Action, Target, by_id, read
from dashboard.kit.api.base import MemberView, answer, refusals
from dashboard.kit.command import listing, show_row, verb
from dashboard.kit.pages.base import SeeOther, actor, flash, member, refused
from dashboard.kit.shapes.requests import Nothing, RequestShape
from dashboard.kit.shapes.texts import NotBlank
from dashboard.kit.terminal.tables import Table, table
from dashboard.people.accounts.accounts import locked_account

from .usable_endpoints import usable_endpoints

HOME: Final = "subscriptions"
WORKER: Final = Path(__file__).parents[1] / "static" / "dashboard" / "js" / "push-worker.js"


class Device(Shape):
    """A browser that takes messages; `target` is the push service behind it."""

    id: UUID
    name: str
    target: str
    created_at: datetime


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


def list_devices(actor: Actor) -> DeviceList:
    """Those of the person who asks, the oldest first, and the key to subscribe a browser with."""
    require(actor, "read")
    rows = devices.of_person(actor.workspace, actor.person)
    kinds = {row.kind for row in usable_endpoints(actor)}
    key = push.public_key() if "push" in kinds else ""
    return DeviceList(results=[Device.model_validate(row) for row in rows], public_key=key)


@translated()
def add_device(actor: Actor, added: AddDevice) -> Device:
    """Let news come to a device of the person as well."""
    require(actor, "subscribe")
    check_credentials("$.name", added.name)
    for name, value in added.model_dump().items():
        check_text(f"$.{name}", value, ADDRESS_MAX, required=True)
    wanted = Subscribed(added.address, added.p256dh, added.auth)
    with transaction.atomic():
        # Who is let go at this moment gets none: their devices are removed under this lock.
        if not locked_account(actor.user_id).is_active:
            raise Forbidden("This login is disabled.")
        row = devices.add(actor.workspace, actor.person, added.name, wanted, actor=actor.id)
        return Device.model_validate(row)


def remove_device(actor: Actor, _: Nothing, device_id: UUID) -> Device:
    """Send a device of the person nothing more; what it was."""
    row = devices.remove(device_id, workspace=actor.workspace, person=actor.person, actor=actor.id)
    return Device.model_validate(row)


DEVICE: Final = Target(
    name="device",
    find=by_id("There is no such device; `device list` shows them."),
    metavar="ID",
)
REMOVE: Final = Action(
    name="device.remove",
    right="subscribe",
    target=DEVICE,
    takes=Nothing,
    answers=Device,
    perform=remove_device,
    events=(WorkspaceEventKind.DEVICE_REMOVED,),
    summary="Remove a device",
    description="The device as it was.",
    help="removes a device",
    done=lambda _, device: f"No more notifications go to {device.name}.",
)


class Devices(MemberView):
    """Those of the caller, or a new one; only a browser can add itself, so no command does."""

    changes = "subscribe"

    @extend_schema(
        operation_id="devices_list",
        responses={200: DeviceList, **refusals()},
        summary="List your web push devices",
    )
    def get(self, request: Request) -> Response:
        """The oldest first."""
        return answer(list_devices(self.actor))

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
        return answer(add_device(self.actor, self.body(AddDevice)), status=201)


def _table(shown: list[Device]) -> Table:
    cells = ((str(one.id), one.name, one.target) for one in shown)
    return table("", ("device", "name", "push service"), cells)


VERBS: Final = (
    listing(
        "lists your web push devices", "read", list_devices, _table, empty="There are no devices."
    ),
    verb(REMOVE, show_row(_table)),
)


@require_POST
@member
def add(request: HttpRequest) -> HttpResponse:
    """Let messages come to the browser that sent this form."""
    texts = {name: request.POST.get(name, "").strip() for name in AddDevice.model_fields}
    texts["name"] = texts["name"] or device_of(request.headers.get("User-Agent", ""))
    try:
        device = add_device(actor(request), read(AddDevice, texts))
    except errors.Invalid as error:
        return refused(request, error, back=reverse(HOME), label="To your notifications")
    flash(request, f"Notifications go to {device.name}.")
    return SeeOther(reverse(HOME))


@require_POST
@member
def drop(request: HttpRequest, device_id: UUID) -> HttpResponse:
    """Send a device nothing more."""
    device = REMOVE.run(actor(request), Nothing(), device_id)
    flash(request, REMOVE.done(Nothing(), device))
    return SeeOther(reverse(HOME))


vars(drop)["action"] = REMOVE


@login_not_required
@require_safe
def worker(_request: HttpRequest) -> HttpResponse:
    """The script of the service worker, under an address that stays: browsers look there again."""
    response = HttpResponse(WORKER.read_bytes(), content_type="text/javascript; charset=utf-8")
    response["Cache-Control"] = "no-cache"
    return response
