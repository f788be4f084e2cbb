"""Rows of passkeys: added under a name, used, removed, each with its event.

A passkey stands beside an authenticator app, whose recovery codes let somebody in without it. The
rows are recorded like those of second factors, so `verify` finds one that was exchanged or added
past the log; a name is in no event.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

from checkpoints import queries, store
from checkpoints.log.recorded import RowChange
from checkpoints.states import WorkspaceEventKind as Kind
from dashboard.errors import Conflict
from dashboard.models import Passkey, SecondFactor

TABLE: Final = "gp_passkey"
NAME_MAX: Final = 60
PASSKEYS_MAX: Final = 10
USED, REPEATED, REGRESSED = "used", "repeated", "regressed"


@dataclass(frozen=True, slots=True)
class Credential:
    """A key pair of an authenticator: its id, attested credential data, and count of signatures."""

    ident: bytes
    data: bytes
    count: int


@dataclass(frozen=True, slots=True)
class PasskeyRow:
    """A passkey under the name that its person gave it."""

    id: UUID
    name: str
    added_at: datetime
    last_used_at: datetime | None


def passkeys_of(user_id: int) -> list[PasskeyRow]:
    """The passkeys of a user, the oldest first."""
    rows = Passkey.objects.filter(user_id=user_id).order_by("added_at", "id")
    return [PasskeyRow(row.pk, row.name, row.added_at, row.last_used_at) for row in rows]


def credentials_of(user_id: int) -> list[bytes]:
    """The attested credential data of a user's passkeys."""
    rows = Passkey.objects.filter(user_id=user_id).order_by("added_at", "id")
    return [bytes(data) for data in rows.values_list("credential", flat=True)]


def add(user: Any, name: str, credential: Credential, *, actor: str) -> PasskeyRow:
    """Add a passkey. Raises Conflict without an app, for one that is known, and for too many."""
    with transaction.atomic():
        apps = SecondFactor.objects.select_for_update(no_key=True)
        if apps.filter(user_id=user.pk).first() is None:
            raise Conflict("Add an authenticator app first: its recovery codes are the way back.")
        if Passkey.objects.filter(user_id=user.pk).count() >= PASSKEYS_MAX:
            raise Conflict(f"There are {PASSKEYS_MAX} passkeys, which is the most: remove one.")
        try:
            with transaction.atomic():
                row = Passkey.objects.create(
                    id=uuid7(),
                    workspace_id=queries.default_workspace(),
                    user=user,
                    name=name,
                    credential_id=credential.ident,
                    credential=credential.data,
                    sign_count=credential.count,
                )
        except IntegrityError as error:
            raise Conflict("This passkey is already registered.") from error
        _log(Kind.PASSKEY_ADDED, row, user, actor, None)
        row.refresh_from_db(fields=["added_at"])
    return PasskeyRow(row.pk, row.name, row.added_at, None)


def remove(user: Any, ident: UUID | None, *, actor: str) -> int:
    """Remove one passkey of a user, or with None all of them; how many there were."""
    with transaction.atomic():
        rows = Passkey.objects.select_for_update(no_key=True).filter(user_id=user.pk)
        wanted = list(rows.order_by("id") if ident is None else rows.filter(pk=ident))
        for row in wanted:
            key = row.pk
            row.delete()
            row.pk = key
            _log(Kind.PASSKEY_REMOVED, row, user, actor, ())
    return len(wanted)


def use(user: Any, ident: bytes, count: int, challenge: bytes) -> str:
    """Note that a passkey of a user has signed a challenge: USED, or why that does not count.

    A challenge counts once, also in two requests at the same moment. An authenticator that counts
    never counts back: REGRESSED means that there is a copy of the key, and is on record.
    """
    digest = sha256(challenge).digest()
    with transaction.atomic():
        rows = Passkey.objects.select_for_update(no_key=True)
        row = rows.filter(user_id=user.pk, credential_id=ident).first()
        if row is None or digest == bytes(row.last_challenge or b""):
            return REPEATED
        if (count or row.sign_count) and count <= row.sign_count:
            counts = {"count": count, "known": row.sign_count}
            _log(Kind.PASSKEY_REFUSED, row, user, f"user:{user.pk}", (), **counts)
            return REGRESSED
        rows.filter(pk=row.pk).update(sign_count=count, last_challenge=digest, last_used_at=Now())
    return USED


def _log(
    kind: Kind, row: Any, user: Any, actor: str, columns: Sequence[str] | None, **more: int
) -> None:
    store.log_setting(
        kind,
        row.workspace_id,
        data={"user": user.pk, "name": user.get_username(), "passkey": str(row.pk), **more},
        actor=actor,
        change=RowChange({TABLE: [row.pk]}, columns=columns),
    )
