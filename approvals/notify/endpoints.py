"""The only writer of endpoints: make, change, give new secrets, switch, try.

Each verb locks the endpoint's row, and its event goes into the workspace's log in the same
transaction; the log names what changed and never an address or a secret.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import connection, transaction
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

from checkpoints import store
from checkpoints.errors import CannotDecrypt, InvalidValue, NotAllowedNow
from checkpoints.state import deltas
from checkpoints.states import WorkspaceEventKind as K
from checkpoints.store.installation import recorded_rows

from ..hooks.signature import new_secret
from ..hooks.stored_secrets import ENDPOINT_ADDRESS, ENDPOINT_SECRETS
from . import fan_out, recipients
from .channels import addresses
from .channels import signature as signing
from .channels.kinds import CHANNELS, KINDS, TO_PEOPLE, usual_news
from .models import Delivery, Endpoint
from .texts.kinds import (
    DIGEST_MAX,
    NAME_MAX,
    NEWS,
    PERSON_MAX,
    PLACES_MAX,
    TEST,
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


def make(workspace: UUID, kind: str, wanted: Wanted, *, actor: str) -> tuple[UUID, str]:
    """A new endpoint: its id, and the secret of a webhook, which nobody can show again.

    Raises InvalidValue.
    """
    if kind not in KINDS:
        raise InvalidValue("kind", f"must be one of {', '.join(KINDS)}")
    if wanted.name is None:
        raise InvalidValue("name", "is required")
    row = Endpoint(workspace_id=workspace, kind=kind, made_by=actor, events=list(usual_news(kind)))
    values = _values(row, replace(wanted, target=wanted.target or ""))
    secret = new_secret() if kind == "webhook" else ""
    with transaction.atomic():
        store.lock_workspaces([workspace])  # nobody adds another one between count and insert
        if Endpoint.objects.filter(workspace_id=workspace).count() >= PLACES_MAX:
            raise InvalidValue("name", f"a workspace has at most {PLACES_MAX} endpoints")
        values["secrets"] = [_secret(row, secret, _now())] if secret else []
        _save(K.ENDPOINT_MADE, row, values, actor, events=values.get("events", row.events))
    return row.id, secret


def change(endpoint: UUID, wanted: Wanted, *, workspace: UUID, actor: str) -> bool:
    """Give an endpoint other values; False when nothing differs. Raises NotFound, InvalidValue."""
    with transaction.atomic():
        row = recorded_rows.lock_one(Endpoint, workspace, endpoint)
        values = _values(row, wanted)
        differs = {n: [getattr(row, n), v] for n, v in values.items() if getattr(row, n) != v}
        # A log may hold them: a mail address is a person's, and stays out.
        changed: dict[str, Any] = {n: v for n, v in differs.items() if n != "address"}
        if row.kind == "email":
            changed.pop("target", None)
        if "address" in differs:
            changed.setdefault("target", None)
        return _save(K.ENDPOINT_CHANGED, row, values, actor, changed=changed)


def rotate(endpoint: UUID, *, workspace: UUID, actor: str, overlap: float = OVERLAP_SECONDS) -> str:
    """A new secret for a webhook, shown once; the old one signs too for `overlap` seconds more."""
    if not 0 <= overlap <= OVERLAP_MAX:
        raise InvalidValue("overlap", f"takes 0 to {OVERLAP_MAX:g} seconds")
    secret = new_secret()
    with transaction.atomic():
        row = recorded_rows.lock_one(Endpoint, workspace, endpoint)
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
        secrets = [_secret(row, secret, now), *(former[:3] if overlap else [])]
        _save(K.ENDPOINT_ROTATED, row, {"secrets": secrets}, actor, overlap=overlap)
    return secret


def switch(endpoint: UUID, active: bool, *, workspace: UUID, actor: str) -> bool:
    """Switch an endpoint on or off; False when it is so already. Off, what is open is dropped."""
    with transaction.atomic():
        row = recorded_rows.lock_one(Endpoint, workspace, endpoint)
        if not _save(K.ENDPOINT_SWITCHED, row, {"active": active}, actor, active=active):
            return False
        if not active:
            due = Delivery.objects.filter(endpoint_id=endpoint, done_at=None, failed_at=None)
            skipped = "The endpoint was switched off."
            due.update(done_at=Now(), claim=None, claimed_until=None, skipped=skipped)
    return True


def try_out(endpoint: UUID, *, workspace: UUID, actor: str, recipient: str = "") -> UUID:
    """Have a test message sent by the way that all take; the news that its delivery names.

    A mail goes to the endpoint's own address or else to `recipient` (`user:7`).
    """
    with transaction.atomic():
        row = recorded_rows.lock_one(Endpoint, workspace, endpoint)
        if not row.active:
            raise NotAllowedNow("The endpoint is switched off.")
        news: UUID = uuid7()
        to = ""
        if row.kind in TO_PEOPLE:
            to = ENDPOINT_ADDRESS.decrypt(row.address, row.id) or recipient
        fan_out.write([(uuid7(), workspace, row.id, news, TEST, to, f"msg_{news.hex}", None)])
        data = {"endpoint": str(row.id), "name": row.name, "to": row.kind}
        store.log_setting(K.ENDPOINT_TESTED, workspace, data=data, actor=actor, change=None)
    return news


def _values(row: Endpoint, wanted: Wanted) -> dict[str, Any]:
    """The values of an endpoint that this gives it; raises InvalidValue."""
    values: dict[str, Any] = {}
    if wanted.name is not None:
        deltas.check(wanted.name, "name")
        values["name"] = name = " ".join(wanted.name.split())
        if not 0 < len(name) <= NAME_MAX:
            raise InvalidValue("name", f"takes 1 to {NAME_MAX} characters")
    address = row.address
    if wanted.target is not None:
        target, values["target"] = _address(row.kind, wanted.target.strip())
        if not _is_stored(row, target):
            values["address"] = address = ENDPOINT_ADDRESS.encrypt(target, row.id)
    if wanted.events is not None:
        unknown = [kind for kind in wanted.events if kind not in NEWS]
        if unknown or not wanted.events:
            raise InvalidValue("events", f"takes one or more of {', '.join(NEWS)}")
        values["events"] = [kind for kind in NEWS if kind in wanted.events]
    if wanted.digest is not None:
        if not 0 <= wanted.digest <= DIGEST_MAX:
            raise InvalidValue("digest", f"takes 0 to {DIGEST_MAX} minutes")
        if wanted.digest and row.kind == "webhook":
            raise InvalidValue("digest", "is for people; a webhook gets each news")
        values["digest"] = wanted.digest
    if wanted.people is not None or wanted.teams is not None:
        people = _names("people", row.people if wanted.people is None else wanted.people)
        teams = _names("teams", row.teams if wanted.teams is None else wanted.teams)
        if (people or teams) and (row.kind not in TO_PEOPLE or address):
            raise InvalidValue("people", "are for mail and devices of people")
        strange = recipients.unknown(row.workspace_id, people=people, teams=teams)
        if strange:
            raise InvalidValue("people", f"nobody and no team is called {strange[0]}")
        values |= {"people": people, "teams": teams}
    return values


def _is_stored(row: Endpoint, address: str) -> bool:
    """Return whether it is the stored address already; one that cannot be read is another."""
    try:
        return ENDPOINT_ADDRESS.decrypt(row.address, row.id) == address
    except CannotDecrypt:
        return False


def _address(kind: str, value: str) -> tuple[str, str]:
    """(where it goes, what of it is shown)."""
    deltas.check(value, "target")
    if kind == "webhook":
        return value, addresses.parse(value).shown
    if kind in CHANNELS:
        return value, CHANNELS[kind].check_address(value)
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


def _save(kind: K, row: Endpoint, values: dict[str, Any], actor: str, **more: Any) -> bool:
    """Write an endpoint of a locked workspace, with its event; False where nothing differs."""
    name = values.get("name", row.name)
    others = Endpoint.objects.filter(workspace_id=row.workspace_id, name=name).exclude(pk=row.pk)
    if "name" in values and others.exists():
        raise InvalidValue("name", "is the name of another endpoint")
    data = {"endpoint": str(row.id), "name": name, "to": row.kind} | more
    return recorded_rows.save(row, values, kind, actor=actor, data=data)


def _now() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        result: datetime = cursor.fetchone()[0]
    return result


def _secret(row: Endpoint, secret: str, now: datetime) -> dict[str, Any]:
    stored = ENDPOINT_SECRETS.encrypt(secret, row.id)
    return {"secret": stored, "since": now.isoformat(), "until": None}
