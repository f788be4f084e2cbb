"""Devices that take web push: people add and remove their own."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction

from approvals.notify import devices
from approvals.notify.channels import push
from approvals.notify.devices import KEY_MAX, NAME_MAX, DeviceRow, Subscribed
from approvals.notify.texts.kinds import ADDRESS_MAX
from dashboard.actions.people.accounts import locked_account
from dashboard.errors import Forbidden, translated
from dashboard.fields.credentials import check_credentials
from dashboard.fields.validation import check_text
from dashboard.identity.permissions import Actor, require

from .subscriptions import usable_endpoints


@translated()
def list_devices(actor: Actor) -> list[DeviceRow]:
    """Those of the person who asks, the oldest first."""
    require(actor, "read")
    return devices.of_person(actor.workspace, actor.person)


def push_key(actor: Actor) -> str:
    """The key to subscribe a browser with; empty where no endpoint of the workspace sends push."""
    kinds = {row.kind for row in usable_endpoints(actor)}
    return push.public_key() if "push" in kinds else ""


@translated()
def add_device(actor: Actor, name: str, address: str, p256dh: str, auth: str) -> DeviceRow:
    """Let news come to a device of the person as well."""
    require(actor, "subscribe")
    check_text("$.name", name, NAME_MAX, required=True)
    check_credentials("$.name", name)
    check_text("$.address", address, ADDRESS_MAX, required=True)
    check_text("$.p256dh", p256dh, KEY_MAX, required=True)
    check_text("$.auth", auth, KEY_MAX, required=True)
    wanted = Subscribed(address, p256dh, auth)
    with transaction.atomic():
        # Who is let go at this moment gets none: their devices are removed under this lock.
        if not locked_account(actor.user_id).is_active:
            raise Forbidden("This login is disabled.")
        return devices.add(actor.workspace, actor.person, name, wanted, actor=actor.id)


@translated()
def remove_device(actor: Actor, device_id: UUID) -> DeviceRow:
    """Send a device of the person nothing more; what it was."""
    require(actor, "subscribe")
    return devices.remove(device_id, workspace=actor.workspace, person=actor.person, actor=actor.id)
