"""Devices of people that take web push: the only writer and reader of their table.

Address and keys are stored as ciphertext: with them anybody can send this device messages that its
person takes for ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from django.db import transaction

from checkpoints import store
from checkpoints.encryption.columns import EncryptedColumn, register
from checkpoints.errors import CannotDecrypt, InvalidValue, NotFound
from checkpoints.state import deltas
from checkpoints.states import WorkspaceEventKind as K
from checkpoints.store.installation import recorded_rows

from .channels import addresses, push
from .models import PushDevice

_TABLE: Final = "gp_push_device"
_ADDRESS: Final = EncryptedColumn(_TABLE, "address")
_P256DH: Final = EncryptedColumn(_TABLE, "p256dh")
_AUTH: Final = EncryptedColumn(_TABLE, "auth")
OF_ONE_MAX: Final = 10  # of one person in one workspace; the oldest makes room
NAME_MAX: Final = 100
KEY_MAX: Final = 100


@dataclass(frozen=True, slots=True)
class Subscribed:
    """Subscription of one device as its browser gives it: address of the push service, and keys."""

    address: str = field(repr=False)
    p256dh: str = field(repr=False)
    auth: str = field(repr=False)


def opened(device: PushDevice) -> Subscribed:
    """The subscription as the browser gave it; raises CannotDecrypt."""
    return Subscribed(
        _ADDRESS.decrypt(device.address, device.id),
        _P256DH.decrypt(device.p256dh, device.id),
        _AUTH.decrypt(device.auth, device.id),
    )


def register_columns() -> None:
    """Let `encryption rotate` know them."""
    for column in (_ADDRESS, _P256DH, _AUTH):
        register(column)


def of_person(workspace: UUID, person: str) -> list[PushDevice]:
    """The devices of a person (`user:7`), the oldest first."""
    rows = PushDevice.objects.filter(workspace_id=workspace, person=person)
    return list(rows.order_by("created_at", "id"))


def add(workspace: UUID, person: str, name: str, wanted: Subscribed, *, actor: str) -> PushDevice:
    """Send news to this device as well; the same again changes nothing. Raises InvalidValue."""
    deltas.check(name, "name")
    name = " ".join(name.split())
    if not 0 < len(name) <= NAME_MAX:
        raise InvalidValue("name", f"takes 1 to {NAME_MAX} characters")
    parsed = addresses.parse(wanted.address, "address")
    push.bytes_of(wanted.p256dh, "p256dh", 65)
    push.bytes_of(wanted.auth, "auth", 16)
    with transaction.atomic():
        store.lock_workspaces([workspace])
        known = of_person(workspace, person)
        readable = {one.id: _readable(one) for one in known}
        for one in known:
            if readable[one.id] == wanted:
                return one
        for one in known:
            if (former := readable[one.id]) is not None and former.address == wanted.address:
                _remove(one, actor)  # the browser made new keys
        for one in known[: max(0, len(known) + 1 - OF_ONE_MAX)]:
            _remove(one, actor)
        row = PushDevice(workspace_id=workspace, person=person, name=name)
        row.target = parsed.shown[:200]
        values = {
            "address": _ADDRESS.encrypt(wanted.address, row.id),
            "p256dh": _P256DH.encrypt(wanted.p256dh, row.id),
            "auth": _AUTH.encrypt(wanted.auth, row.id),
        }
        data = {"device": str(row.id), "person": person, "name": name}
        recorded_rows.save(row, values, K.DEVICE_ADDED, actor=actor, data=data)
        return row


def remove(device: UUID, *, workspace: UUID, person: str, actor: str) -> PushDevice:
    """Send this device nothing more; raises NotFound."""
    with transaction.atomic():
        row = recorded_rows.lock(PushDevice, workspace, pk=device, person=person)
        if row is None:
            raise NotFound("There is no such device of this person.")
        _remove(row, actor)
    return row


def remove_all(person: str, *, actor: str) -> int:
    """Send a person nothing more on any device, in any workspace; how many there were."""
    with transaction.atomic():
        rows = PushDevice.objects.filter(person=person)
        store.lock_workspaces(sorted({one.workspace_id for one in rows}))
        return sum(_remove(one, actor) for one in rows)


def forget(devices: Sequence[UUID]) -> int:
    """Drop devices that their push service no longer knows; how many."""
    n = 0
    for row in PushDevice.objects.filter(pk__in=devices):
        with transaction.atomic():
            store.lock_workspaces([row.workspace_id])
            n += _remove(row, "sweep", why="gone")
    return n


def _remove(row: PushDevice, actor: str, **more: Any) -> bool:
    """Remove a device whose workspace is locked; False where somebody else did."""
    data = {"device": str(row.id), "person": row.person, "name": row.name} | more
    try:
        recorded_rows.delete(row, K.DEVICE_REMOVED, actor=actor, data=data)
    except NotFound:
        return False
    return True


def _readable(row: PushDevice) -> Subscribed | None:
    try:
        return opened(row)
    except CannotDecrypt:
        return None  # its key is gone: the device is added anew beside it, the oldest makes room
