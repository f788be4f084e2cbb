"""A sender outside: it signs what it sends, as a service that keeps to Standard Webhooks does."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid4

from approvals.queries import ApprovalRow
from dashboard.administration import hooks
from dashboard.administration.hooks import HookMade, MakeHook
from dashboard.identity.permissions import Actor
from dashboard.kit.action import read
from dashboard.kit.shapes.requests import Nothing
from tests.support.cast import Cast

PATH = "/api/v1/hooks/decide/"


def sign(secret: str, ident: str, timestamp: str, body: bytes) -> str:
    """Our own few lines, not those that the product checks with."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.new(key, f"{ident}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


def signed(secret: str, body: bytes, *, ident: str = "", at: float | None = None) -> dict[str, str]:
    """The three headers of a delivery."""
    ident = ident or f"msg_{uuid4().hex}"
    timestamp = str(int(time.time() if at is None else at))
    return {
        "webhook-id": ident,
        "webhook-timestamp": timestamp,
        "webhook-signature": sign(secret, ident, timestamp, body),
    }


def verdict(row: ApprovalRow, by: str = "U1", **more: Any) -> dict[str, Any]:
    """The body of a delivery."""
    payload = {
        "approval": str(row.id),
        "verdict": "approve",
        "proposal_hash": row.proposal_hash,
        "by": by,
    }
    return payload | more


def made(cast: Cast, name: str = "slack", **words: str) -> tuple[UUID, str]:
    """A hook of the default workspace whose words stand for people of the cast; (id, secret)."""
    admin = cast.actor("admin")
    hook = created(admin, name)
    for word, person in words.items():
        mapped = hooks.map_identity(admin, hook.id, word, cast.users[person].pk)
        hooks.CONFIRM.run(cast.actor(person), Nothing(), mapped.id)
    return hook.id, hook.secret


def created(admin: Actor, name: str) -> HookMade:
    """A hook with its secret."""
    return hooks.MAKE.run(admin, read(MakeHook, {"name": name}))


def send(
    client: Any,
    hook: Any,
    body: Mapping[str, Any] | bytes,
    headers: Mapping[str, str] | None = None,
    *,
    secret: str = "",
    **more: Any,
) -> Any:
    """One delivery through Django's test client."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    value = signed(secret, raw, **more) if headers is None else headers
    return client.generic(
        "POST", f"{PATH}?hook={hook}", raw, content_type="application/json", headers=dict(value)
    )
