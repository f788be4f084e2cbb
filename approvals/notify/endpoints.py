"""The only writer of endpoints: make, change, give new secrets, switch, try.

Each verb locks the endpoint's row, and its event goes into the workspace's log in the same
transaction; the log names what changed and never an address or a secret.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, connection, transaction
from uuid_utils.compat import uuid7

from checkpoints import store
from checkpoints.errors import CannotDecrypt, InvalidValue, NotAllowedNow, NotFound
from checkpoints.log.recorded import RowChange
from checkpoints.state import deltas
from checkpoints.states import WorkspaceEventKind as K

from ..hooks.signature import new_secret
from ..hooks.stored_secrets import ENDPOINT_ADDRESS, ENDPOINT_SECRETS
from . import fan_out, recipients
from .channels import addresses, chat
from .channels import signature as signing
from .texts.kinds import (
    DIGEST_MAX,
    KINDS,
    NAME_MAX,
    NEWS,
    PERSON_MAX,
    PLACES_MAX,
    TEST,
    TO_PEOPLE,
    USUAL,
)

OVERLAP_SECONDS: Final = 24 * 3600.0
OVERLAP_MAX: Final = 7 * 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """The wanted values of an endpoint; None leaves a value as it is (or the default, if new)."""

    name: str | None = None
    target: str | None = field(default=None, repr=False)  # a chat's address is a secret
    events: Sequence[str] | None = None
    digest: int | None = None
    people: Sequence[str] | None = None
    teams: Sequence[str] | None = None


@dataclass(slots=True)
class _Row:
    """An endpoint as it is stored: `address` and each secret are ciphertext."""

    id: UUID
    workspace: UUID
    kind: str
    name: str
    target: str
    address: str = field(repr=False)
    secrets: list[dict[str, Any]] = field(default_factory=list, repr=False)
    events: list[str] = field(default_factory=list)
    digest: int = 0
    people: list[str] = field(default_factory=list)
    teams: list[str] = field(default_factory=list)
    active: bool = True


def make(workspace: UUID, kind: str, wanted: Wanted, *, actor: str) -> tuple[UUID, str]:
    """A new endpoint: its id, and the secret of a webhook, which nobody can show again.

    Raises InvalidValue.
    """
    if kind not in KINDS:
        raise InvalidValue("kind", f"must be one of {', '.join(KINDS)}")
    row = _Row(uuid7(), workspace, kind, "", "", "", events=list(USUAL[kind]))
    if wanted.name is None:
        raise InvalidValue("name", "is required")
    _apply(row, Wanted(target="") if wanted.target is None else Wanted(target=wanted.target))
    _apply(row, wanted)
    secret = new_secret() if kind == "webhook" else ""
    with transaction.atomic():
        if secret:
            row.secrets = [_secret(row, secret, _now())]
        store.lock_workspaces([workspace])  # nobody adds another one between count and insert
        if _count(workspace) >= PLACES_MAX:
            raise InvalidValue("name", f"a workspace has at most {PLACES_MAX} endpoints")
        _write(
            "INSERT INTO gp_endpoint (kind, name, target, address, secrets, events, digest, "
            "people, teams, active, id, workspace_id, made_by) VALUES (%s::varchar, %s::varchar, "
            "%s::varchar, %s::text, %s::jsonb, %s::jsonb, %s::smallint, %s::jsonb, %s::jsonb, "
            "%s::boolean, %s::uuid, %s::uuid, %s::varchar)",
            (row.kind, *_values(row), row.id, workspace, actor),
        )
        _log(K.ENDPOINT_MADE, row, actor, events=row.events)
    return row.id, secret


def change(endpoint: UUID, wanted: Wanted, *, workspace: UUID, actor: str) -> bool:
    """Give an endpoint other values; False when nothing differs. Raises NotFound, InvalidValue."""
    with transaction.atomic():
        row = _locked(endpoint, workspace)
        before = _shown(row)
        had = row.address
        _apply(row, wanted)
        changed: dict[str, Any] = {
            n: [before[n], v] for n, v in _shown(row).items() if before[n] != v
        }
        if row.address != had:
            changed.setdefault("target", None)
        if not changed:
            return False
        _save(row)
        _log(K.ENDPOINT_CHANGED, row, actor, changed=changed)
    return True


def rotate(endpoint: UUID, *, workspace: UUID, actor: str, overlap: float = OVERLAP_SECONDS) -> str:
    """A new secret for a webhook, shown once; the old one signs too for `overlap` seconds more."""
    if not 0 <= overlap <= OVERLAP_MAX:
        raise InvalidValue("overlap", f"takes 0 to {OVERLAP_MAX:g} seconds")
    secret = new_secret()
    with transaction.atomic():
        row = _locked(endpoint, workspace)
        if row.kind != "webhook":
            raise NotAllowedNow("Only webhooks have a secret; for a chat, change the address.")
        now = _now()
        until = (now + timedelta(seconds=overlap)).isoformat()
        still = signing.valid(row.secrets, now=now)
        former = [
            one | {"until": min(one["until"], until) if one["until"] else until}
            for one in row.secrets
            if one["secret"] in still
        ]
        row.secrets = [_secret(row, secret, now), *(former[:3] if overlap else [])]
        _save(row)
        _log(K.ENDPOINT_ROTATED, row, actor, overlap=overlap)
    return secret


def switch(endpoint: UUID, active: bool, *, workspace: UUID, actor: str) -> bool:
    """Switch an endpoint on or off; False when it is so already. Off, what is open is dropped."""
    with transaction.atomic():
        row = _locked(endpoint, workspace)
        if row.active == active:
            return False
        row.active = active
        _save(row)
        if not active:
            _write(
                "UPDATE gp_delivery SET done_at = clock_timestamp(), claim = NULL, claimed_until = "
                "NULL, skipped = 'The endpoint was switched off.' WHERE endpoint_id = %s::uuid "
                "AND done_at IS NULL AND failed_at IS NULL",
                (endpoint,),
            )
        _log(K.ENDPOINT_SWITCHED, row, actor, active=active)
    return True


def try_out(endpoint: UUID, *, workspace: UUID, actor: str, recipient: str = "") -> UUID:
    """Have a test message sent by the way that all take; the news that its delivery names.

    A mail goes to the endpoint's own address or else to `recipient` (`user:7`).
    """
    with transaction.atomic():
        row = _locked(endpoint, workspace)
        if not row.active:
            raise NotAllowedNow("The endpoint is switched off.")
        news: UUID = uuid7()
        to = ""
        if row.kind in TO_PEOPLE:
            to = ENDPOINT_ADDRESS.decrypt(row.address, row.id) or recipient
        fan_out.write([(uuid7(), workspace, row.id, news, TEST, to, f"msg_{news.hex}", None)])
        _log(K.ENDPOINT_TESTED, row, actor)
    return news


def _apply(row: _Row, wanted: Wanted) -> None:
    if wanted.name is not None:
        deltas.check(wanted.name, "name")
        row.name = " ".join(wanted.name.split())
        if not 0 < len(row.name) <= NAME_MAX:
            raise InvalidValue("name", f"takes 1 to {NAME_MAX} characters")
    if wanted.target is not None:
        address, row.target = _address(row.kind, wanted.target.strip())
        if not _is_stored(row, address):
            row.address = ENDPOINT_ADDRESS.encrypt(address, row.id)
    if wanted.events is not None:
        unknown = [kind for kind in wanted.events if kind not in NEWS]
        if unknown or not wanted.events:
            raise InvalidValue("events", f"takes one or more of {', '.join(NEWS)}")
        row.events = [kind for kind in NEWS if kind in wanted.events]
    if wanted.digest is not None:
        if not 0 <= wanted.digest <= DIGEST_MAX:
            raise InvalidValue("digest", f"takes 0 to {DIGEST_MAX} minutes")
        if wanted.digest and row.kind == "webhook":
            raise InvalidValue("digest", "is for people; a webhook gets each news")
        row.digest = wanted.digest
    if wanted.people is not None or wanted.teams is not None:
        row.people = _names("people", row.people if wanted.people is None else wanted.people)
        row.teams = _names("teams", row.teams if wanted.teams is None else wanted.teams)
        if (row.people or row.teams) and (row.kind not in TO_PEOPLE or row.address):
            raise InvalidValue("people", "are for mail and devices of people")
        strange = recipients.unknown(row.workspace, people=row.people, teams=row.teams)
        if strange:
            raise InvalidValue("people", f"nobody and no team is called {strange[0]}")


def _is_stored(row: _Row, address: str) -> bool:
    """Tell whether it is the stored address already; one that cannot be read is another."""
    try:
        return ENDPOINT_ADDRESS.decrypt(row.address, row.id) == address
    except CannotDecrypt:
        return False


def _address(kind: str, value: str) -> tuple[str, str]:
    """(where it goes, what of it is shown)."""
    deltas.check(value, "target")
    if kind == "webhook":
        return value, addresses.parse(value).shown
    if kind == "apprise":
        return value, chat.check_address(value)
    if not value:
        return "", ""
    if kind == "push":
        raise InvalidValue("target", "must be empty: people add their own devices")
    try:
        validate_email(value)
    except ValidationError:
        raise InvalidValue("target", "must be a mail address, or empty for people") from None
    if len(value) > 200:
        raise InvalidValue("target", "is longer than 200 characters")
    return value, value


def _names(path: str, values: Sequence[str]) -> list[str]:
    results = list(dict.fromkeys(values))
    if len(results) > PLACES_MAX or any(not name or len(name) > PERSON_MAX for name in results):
        raise InvalidValue(path, f"takes at most {PLACES_MAX} names")
    for name in results:
        deltas.check(name, path)
    return results


def _shown(row: _Row) -> dict[str, Any]:
    """The values that a log may hold: a mail address is a person's, and stays out."""
    values = {n: getattr(row, n) for n in ("name", "events", "digest", "people", "teams")}
    return values | ({} if row.kind == "email" else {"target": row.target})


def _values(row: _Row) -> tuple[Any, ...]:
    def as_text(value: Any) -> str:
        return deltas.canonical(value).decode()

    return (
        row.name,
        row.target,
        row.address,
        as_text(row.secrets),
        as_text(row.events),
        row.digest,
        as_text(row.people),
        as_text(row.teams),
        row.active,
    )


def _save(row: _Row) -> None:
    _write(
        "UPDATE gp_endpoint SET name = %s::varchar, target = %s::varchar, address = %s::text, "
        "secrets = %s::jsonb, events = %s::jsonb, digest = %s::smallint, people = %s::jsonb, "
        "teams = %s::jsonb, active = %s::boolean WHERE id = %s::uuid",
        (*_values(row), row.id),
    )


def _write(sql: str, params: Sequence[Any]) -> None:
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(sql, params)
    except IntegrityError as error:
        raise InvalidValue("name", "is the name of another endpoint") from error


def _locked(endpoint: UUID, workspace: UUID) -> _Row:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, workspace_id, kind, name, target, address, secrets::text, events::text, "
            "digest, people::text, teams::text, active FROM gp_endpoint WHERE id = %s::uuid "
            "AND workspace_id = %s::uuid FOR UPDATE",
            (endpoint, workspace),
        )
        row = cursor.fetchone()
    if row is None:
        raise NotFound("There is no such endpoint in this workspace.")
    values = list(row)
    for column in (6, 7, 9, 10):
        values[column] = deltas.decode(values[column])
    return _Row(*values)


def _count(workspace: UUID) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM gp_endpoint WHERE workspace_id = %s::uuid", (workspace,)
        )
        return int(cursor.fetchone()[0])


def _now() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        result: datetime = cursor.fetchone()[0]
    return result


def _secret(row: _Row, secret: str, now: datetime) -> dict[str, Any]:
    stored = ENDPOINT_SECRETS.encrypt(secret, row.id)
    return {"secret": stored, "since": now.isoformat(), "until": None}


# What each verb may change; a change that gives an endpoint another address keeps its secrets.
_COLUMNS: Final = {
    K.ENDPOINT_CHANGED: ("name", "target", "address", "events", "digest", "people", "teams"),
    K.ENDPOINT_ROTATED: ("secrets",),
    K.ENDPOINT_SWITCHED: ("active",),
}


def _log(kind: K, row: _Row, actor: str, **more: Any) -> None:
    payload: Mapping[str, Any] = {"endpoint": str(row.id), "name": row.name, "to": row.kind} | more
    change = None
    if kind != K.ENDPOINT_TESTED:
        change = RowChange({"gp_endpoint": [row.id]}, columns=_COLUMNS.get(kind))
    store.log_setting(kind, row.workspace, data=payload, actor=actor, change=change)
