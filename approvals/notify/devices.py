"""Devices of people that take web push: the only writer and reader of their table.

Address and keys are stored as ciphertext: with them anybody can send this device messages that its
person takes for ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction
from uuid_utils.compat import uuid7

from checkpoints import store
from checkpoints.encryption.columns import EncryptedColumn, register
from checkpoints.errors import CannotDecrypt, InvalidValue, NotFound
from checkpoints.log.recorded import RowChange
from checkpoints.postgres.named_rows import fetch_named
from checkpoints.state import deltas
from checkpoints.states import WorkspaceEventKind as K

from .channels import addresses, push

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


@dataclass(frozen=True, slots=True)
class DeviceRow:
    """A device of a person; `target` is what of its address may be shown, `stored` ciphertext."""

    id: UUID
    workspace: UUID
    person: str
    name: str
    target: str
    created_at: datetime
    stored: Subscribed = field(repr=False)

    def opened(self) -> Subscribed:
        """The subscription as the browser gave it; raises CannotDecrypt."""
        return Subscribed(
            _ADDRESS.decrypt(self.stored.address, self.id),
            _P256DH.decrypt(self.stored.p256dh, self.id),
            _AUTH.decrypt(self.stored.auth, self.id),
        )


def register_columns() -> None:
    """Let `encryption rotate` know them."""
    for column in (_ADDRESS, _P256DH, _AUTH):
        register(column)


def of_person(workspace: UUID, person: str) -> list[DeviceRow]:
    """The devices of a person (`user:7`), the oldest first."""
    return _read("d.workspace_id = %s::uuid AND d.person = %s::varchar", workspace, person)


def add(workspace: UUID, person: str, name: str, wanted: Subscribed, *, actor: str) -> DeviceRow:
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
        opened = {one.id: _readable(one) for one in known}
        for one in known:
            if opened[one.id] == wanted:
                return one
        for one in known:
            if (former := opened[one.id]) is not None and former.address == wanted.address:
                _remove(one, actor)  # the browser made new keys
        for one in known[: max(0, len(known) + 1 - OF_ONE_MAX)]:
            _remove(one, actor)
        ident = uuid7()
        _do(
            "INSERT INTO gp_push_device (id, workspace_id, person, name, target, address, p256dh, "
            "auth) VALUES (%s::uuid, %s::uuid, %s::varchar, %s::varchar, %s::varchar, %s::text, "
            "%s::text, %s::text)",
            (
                *(ident, workspace, person, name, parsed.shown[:200]),
                _ADDRESS.encrypt(wanted.address, ident),
                _P256DH.encrypt(wanted.p256dh, ident),
                _AUTH.encrypt(wanted.auth, ident),
            ),
        )
        data = {"device": str(ident), "person": person, "name": name}
        change = RowChange({"gp_push_device": [ident]})
        store.log_setting(K.DEVICE_ADDED, workspace, data=data, actor=actor, change=change)
        return next(one for one in of_person(workspace, person) if one.id == ident)


def remove(device: UUID, *, workspace: UUID, person: str, actor: str) -> DeviceRow:
    """Send this device nothing more; raises NotFound."""
    with transaction.atomic():
        store.lock_workspaces([workspace])
        for one in of_person(workspace, person):
            if one.id == device:
                _remove(one, actor)
                return one
    raise NotFound("There is no such device of this person.")


def remove_all(person: str, *, actor: str) -> int:
    """Send a person nothing more on any device, in any workspace; how many there were."""
    with transaction.atomic():
        known = _read("d.person = %s::varchar", person)
        store.lock_workspaces(sorted({one.workspace for one in known}))
        return sum(_remove(one, actor) for one in known)


def forget(devices: Sequence[UUID]) -> int:
    """Drop devices that their push service no longer knows; how many."""
    n = 0
    for device in devices:
        with transaction.atomic():
            for one in _read("d.id = %s::uuid", device):
                store.lock_workspaces([one.workspace])
                n += _remove(one, "sweep", why="gone")
    return n


def _remove(row: DeviceRow, actor: str, **more: Any) -> bool:
    if not _do("DELETE FROM gp_push_device WHERE id = %s::uuid", (row.id,)):
        return False
    data = {"device": str(row.id), "person": row.person, "name": row.name} | more
    change = RowChange({"gp_push_device": [row.id]}, columns=())
    store.log_setting(K.DEVICE_REMOVED, row.workspace, data=data, actor=actor, change=change)
    return True


def _read(where: str, *params: Any) -> list[DeviceRow]:
    rows = fetch_named(
        "SELECT d.id, d.workspace_id AS workspace, d.person, d.name, d.target, d.created_at, "
        f"d.address, d.p256dh, d.auth FROM gp_push_device d WHERE {where} "
        "ORDER BY d.created_at, d.id",
        params,
    )
    return [_device(**row._asdict()) for row in rows]


def _device(*, address: str, p256dh: str, auth: str, **columns: Any) -> DeviceRow:
    return DeviceRow(stored=Subscribed(address, p256dh, auth), **columns)


def _readable(row: DeviceRow) -> Subscribed | None:
    try:
        return row.opened()
    except CannotDecrypt:
        return None  # its key is gone: the device is added anew beside it, the oldest makes room


def _do(sql: str, params: Sequence[Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        n: int = cursor.rowcount
        return n
