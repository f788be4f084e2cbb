"""Rows of second factors: added, used and removed, each with its event where one is due.

A row belongs to the installation, and so to the log of its first workspace. The log records it, so
`verify` finds one that was taken away or exchanged past the log.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import IntegrityError, transaction
from uuid_utils.compat import uuid7

from checkpoints import queries, store
from checkpoints.encryption.columns import EncryptedColumn, register
from checkpoints.log.recorded import RowChange
from checkpoints.states import WorkspaceEventKind as Kind
from dashboard.errors import Conflict
from dashboard.models import SecondFactor

from . import codes, passkeys

TABLE: Final = "gp_second_factor"
SECRETS: Final = EncryptedColumn(TABLE, "secret")
APP: Final = "app"
RECOVERY: Final = "recovery code"


@dataclass(frozen=True, slots=True)
class FactorRow:
    """The second factor of a person: since when, and how many recovery codes are left."""

    added_at: datetime
    recovery_left: int


def register_columns() -> None:
    """Let `encryption rotate` know the secrets."""
    register(SECRETS)


def factor_of(user_id: int) -> FactorRow | None:
    """The second factor of a user, if there is one."""
    row = SecondFactor.objects.filter(user_id=user_id).values_list("added_at", "recovery").first()
    return None if row is None else FactorRow(row[0], len(row[1]))


def has_factor(user_id: int) -> bool:
    """Return whether a user signs in with a code as well."""
    return SecondFactor.objects.filter(user_id=user_id).exists()


def with_factor(user_ids: Iterable[int]) -> set[int]:
    """Those of these users who have one; one statement."""
    rows = SecondFactor.objects.filter(user_id__in=list(user_ids))
    return set(rows.values_list("user_id", flat=True))


def add(user: Any, secret: str, period: int, *, actor: str) -> list[str]:
    """Add a second factor whose app has shown the code of `period`; the recovery codes, once.

    Raises Conflict where there is one.
    """
    recovery, ident = codes.new_recovery_codes(), uuid7()
    with transaction.atomic():
        try:
            with transaction.atomic():
                row = SecondFactor.objects.create(
                    id=ident,
                    workspace_id=queries.default_workspace(),
                    user=user,
                    secret=SECRETS.encrypt(secret, ident),
                    recovery=[codes.digest_of(code) for code in recovery],
                    last_period=period,
                )
        except IntegrityError as error:
            raise Conflict("There is a second factor already: remove it first.") from error
        _log(Kind.FACTOR_ADDED, row, user, actor, None)
    return recovery


def remove(user: Any, *, actor: str) -> bool:
    """Remove the second factor of a user, passkeys included; False where there is none."""
    with transaction.atomic():
        row = _locked(user.pk)
        if row is None:
            return False
        passkeys.remove(user, None, actor=actor)
        ident = row.pk
        row.delete()
        row.pk = ident
        _log(Kind.FACTOR_REMOVED, row, user, actor, ())
    return True


def use(user: Any, code: str) -> str:
    """Use a code of a user up: APP, RECOVERY, or "" for one that is wrong or was used before."""
    if codes.is_recovery(code):
        return RECOVERY if _use_recovery(user, codes.digest_of(code)) else ""
    row = SecondFactor.objects.filter(user_id=user.pk).first()
    if row is None:
        return ""
    period = codes.period_of(SECRETS.decrypt(row.secret, row.pk), code, time.time())
    if period is None:
        return ""
    # Of several at the same moment one passes, and no code of this period or before it ever again.
    unused = SecondFactor.objects.filter(pk=row.pk, last_period__lt=period)
    return APP if unused.update(last_period=period) else ""


def _use_recovery(user: Any, digest: str) -> bool:
    with transaction.atomic():
        row = _locked(user.pk)
        if row is None or digest not in row.recovery:
            return False
        row.recovery = [other for other in row.recovery if other != digest]
        row.save(update_fields=["recovery"])
        _log(Kind.FACTOR_RECOVERED, row, user, f"user:{user.pk}", ("recovery",))
    return True


def _locked(user_id: int) -> Any:
    return SecondFactor.objects.select_for_update(no_key=True).filter(user_id=user_id).first()


def _log(kind: Kind, row: Any, user: Any, actor: str, columns: Sequence[str] | None) -> None:
    store.log_setting(
        kind,
        row.workspace_id,
        data={"user": user.pk, "name": user.get_username(), "left": len(row.recovery)},
        actor=actor,
        change=RowChange({TABLE: [row.pk]}, columns=columns),
    )
