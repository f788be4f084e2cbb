"""API tokens: made once, kept as a hash, found by it, ended by time or by a person.

A token reads `gp_<prefix>_<secret>`: the prefix (8 characters of a-z and 0-9) names it in lists
and in the log, the secret (base64url of 32 random bytes) is shown once and never stored. Times are
the database's.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import string
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, NamedTuple
from uuid import UUID

from django.contrib.auth import get_user_model
from django.db import connection, transaction
from django.db.models.functions import Now
from pydantic import Field

from checkpoints import queries
from checkpoints.postgres import reads
from checkpoints.states import WorkspaceEventKind as K
from checkpoints.store.installation import recorded_rows
from dashboard.errors import Forbidden, Invalid, Missing
from dashboard.fields.validation import check_text
from dashboard.models import Token

from .permissions import RIGHTS, SCOPES, Actor, Grant, actor_of
from .seats import user_of, user_query

LABEL_MAX = 60
# Only by name: to read what is encrypted, to decide, to change rules, people and where news go, and
# to be the directory.
ON_REQUEST: Final = ("reveal", "decide", "decide_high", "administer", "scim")
PREFIX_LENGTH = 8
DAYS_MAX = 3650
_ALPHABET: Final = string.ascii_lowercase + string.digits
_PREFIX: Final = re.compile(r"[a-z0-9]{8}")
_TOKEN: Final = re.compile(rf"gp_({_PREFIX.pattern})_([A-Za-z0-9_-]{{43}})")
_SPAN: Final = re.compile(r"([0-9]{1,6})([mhdw])")
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


_USER: Final = (
    "u.id = (SELECT user_id FROM gp_token WHERE prefix = %s::varchar AND secret_hash = %s::bytea)"
)


class _Presented(NamedTuple):
    """A token as it is looked at when it was sent."""

    id: UUID
    prefix: str
    name: str
    workspace: UUID
    scopes: str
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None
    now: datetime


_PRESENTED: Final = (
    "SELECT id, prefix, name, workspace_id, scopes::text, expires_at, last_used_at, revoked_at, "
    "statement_timestamp() FROM gp_token WHERE prefix = %s::varchar AND secret_hash = %s::bytea"
)


class Refused(Exception):
    """The credential is not accepted; the text says why."""


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A token without its secret; `state` is active, expired or revoked."""

    prefix: str
    name: str
    user: str
    user_id: Annotated[int, Field(exclude=True)]
    workspace: Annotated[str, Field(exclude=True)]
    workspace_id: Annotated[UUID, Field(exclude=True)]
    scopes: tuple[str, ...]
    state: str
    made_by: str
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None
    revoked_by: str


def scopes_of(actor: Actor) -> list[str]:
    """The scopes that the roles of a user can fill; a token with others would promise too much."""
    return [
        scope
        for scope, actions in SCOPES.items()
        if any(
            action in RIGHTS and not RIGHTS[action].isdisjoint(actor.roles)
            for action in (actions if scope == "read" else actions - {"read"})
        )
    ]


def usual_scopes(actor: Actor) -> list[str]:
    """The default scopes of a token: all that the roles allow but those given on request."""
    return [scope for scope in scopes_of(actor) if scope not in ON_REQUEST]


def lifetime(text: str, path: str = "expires") -> timedelta | None:
    """`90d` (also m, h, w) as a span, None for `never`; raises Invalid."""
    if text == "never":
        return None
    match = _SPAN.fullmatch(text)
    span = timedelta(**{_UNITS[match[2]]: int(match[1])}) if match else timedelta()
    if not timedelta() < span <= timedelta(days=DAYS_MAX):
        raise Invalid(path, f"takes a span such as 12h or 90d, up to {DAYS_MAX}d, or never")
    return span


def make(
    user: Any,
    *,
    made_by: str,
    name: str = "",
    scopes: Collection[str] | None = None,
    expires_in: timedelta | None = None,
    workspace: str = "",
) -> tuple[TokenRow, str]:
    """Make a token for a user; its row and the whole token, which nobody can show again.

    Without `scopes` the usual ones, without `expires_in` it never ends, without `workspace` (a
    name) in the user's oldest. Raises Forbidden, Missing, Invalid.
    """
    check_text("name", name, LABEL_MAX)
    grant = _workspace_grant(user, workspace) if workspace else None
    try:
        actor = actor_of(user, grant)
    except Forbidden as error:
        why = "is not a member of any workspace yet" if user.is_active else "is disabled"
        raise Forbidden(f"{user.get_username()} {why}.") from error
    possible = scopes_of(actor)
    wanted = usual_scopes(actor) if scopes is None else list(dict.fromkeys(scopes))
    for scope in wanted:
        if scope not in SCOPES:
            raise Invalid("scopes", f"does not know {scope}; there are {', '.join(SCOPES)}")
        if scope not in possible:
            raise Invalid(
                "scopes",
                f"{scope} is more than the roles of {user.get_username()} allow; "
                f"they allow {', '.join(possible)}",
            )
    if not wanted:
        raise Invalid("scopes", "names at least one scope")
    prefix = "".join(secrets.choice(_ALPHABET) for _ in range(PREFIX_LENGTH))
    secret = secrets.token_urlsafe(32)
    with transaction.atomic():
        # Who is let go at this moment gets none: their tokens are ended under this lock.
        active = get_user_model()._default_manager.select_for_update(no_key=True)
        now = active.filter(pk=user.pk, is_active=True).values_list(Now(), flat=True).first()
        if now is None:
            raise Forbidden(f"{user.get_username()} is disabled.")
        values = {
            "prefix": prefix,
            "secret_hash": _hash(secret),
            "user": user,
            "name": name,
            "scopes": wanted,
            "made_by": made_by,
            "expires_at": None if expires_in is None else now + expires_in,
        }
        token = Token(workspace_id=actor.workspace, **values)
        recorded_rows.save(token, values, K.TOKEN_CREATED, actor=made_by, data=_logged(token))
    (row,) = listed(prefix=prefix)
    return row, f"gp_{prefix}_{secret}"


def listed(
    *,
    user_id: int | None = None,
    workspace: UUID | None = None,
    prefix: str = "",
    limit: int = 1_000,
) -> list[TokenRow]:
    """Tokens, newest first: all, those of a user or a workspace, or the one of a prefix."""
    result = Token.objects.select_related("user", "workspace").annotate(now=Now())
    if user_id is not None:
        result = result.filter(user_id=user_id)
    if workspace is not None:
        result = result.filter(workspace_id=workspace)
    if prefix:
        result = result.filter(prefix=prefix)
    return [_row(token) for token in result.order_by("-created_at", "-id")[:limit]]


def revoke(value: str, *, by: str) -> TokenRow:
    """End a token, named by its prefix or by itself, for good; a second time changes nothing.

    Raises Missing.
    """
    whole = _TOKEN.fullmatch(value)
    prefix = whole[1] if whole else value
    if not _PREFIX.fullmatch(prefix):
        raise Missing("A token is named by its prefix, 8 letters and digits after gp_.")
    with transaction.atomic():
        where = Token.objects.filter(prefix=prefix).values_list("workspace_id", flat=True).first()
        token = where and recorded_rows.lock(Token, where, prefix=prefix)
        if not token:
            raise Missing(f"There is no token with the prefix {prefix}.")
        if token.revoked_at is None:
            ended = {"revoked_at": Now(), "revoked_by": by}
            data = _logged(token)
            recorded_rows.save(token, ended, K.TOKEN_REVOKED, actor=by, data=data, locked=True)
    return listed(prefix=prefix)[0]


def presented(text: str) -> tuple[Any, Grant]:
    """The user and the grant behind a whole token, in one round trip; raises Refused with why.

    The user comes with their roles of this moment, for the first `permissions.actor_of`.
    """
    parts = _TOKEN.fullmatch(text)
    if parts is None:
        raise Refused(
            "This is not a token of Gatepost; one is gp_ with 8 letters and digits, _ and 43 more "
            "characters."
        )
    # By the hash: how long the look takes says nothing about the secret.
    named = parts[1], _hash(parts[2])
    tokens, users = reads.fetch_all((_PRESENTED, named), user_query((_USER, named)))
    if not tokens:
        raise Refused("This token is unknown.")
    token = _Presented._make(tokens[0])
    if token.revoked_at is not None:
        raise Refused(f"This token was revoked on {token.revoked_at:%Y-%m-%d}.")
    if _expired(token):
        raise Refused(f"This token expired on {token.expires_at:%Y-%m-%d}; ask for a new one.")
    user = user_of(users)
    if not user.is_active:
        raise Refused("The user of this token is disabled.")
    if token.last_used_at is None or token.now - token.last_used_at > timedelta(minutes=1):
        _used(token.id)
    names = {ident: name for ident, name, _ in user.read_now.memberships}
    needing = user.factor_roles.get(token.workspace)
    if needing is None:  # no member, such as a superuser
        ((_, names[token.workspace], needing),) = queries.second_factor_rules(token.workspace)
    return user, Grant(
        prefix=token.prefix,
        label=token.name or token.prefix,
        workspace=token.workspace,
        workspace_name=names[token.workspace],
        scopes=frozenset(json.loads(token.scopes)),
        factor_roles=needing,
    )


def labels(prefixes: Iterable[str]) -> dict[str, str]:
    """{prefix: what people call the token}."""
    result = Token.objects.filter(prefix__in=sorted(set(prefixes)))
    return {token.prefix: str(token) for token in result}


def _logged(token: Token) -> dict[str, Any]:
    """Name a token to the workspace's log: who may call the API is on record as roles are."""
    return {
        "token": token.prefix,
        "name": token.name,
        "user": token.user_id,
        "scopes": list(token.scopes),
        "expires_at": token.expires_at and token.expires_at.isoformat(),
    }


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def _used(token_id: UUID) -> None:
    """Note that a token is in use, at most once a minute; of several one notes, none waits."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_token SET last_used_at = clock_timestamp() WHERE id = ("
            "SELECT id FROM gp_token WHERE id = %s::uuid AND (last_used_at IS NULL "
            "OR last_used_at < clock_timestamp() - interval '1 minute') "
            "FOR NO KEY UPDATE SKIP LOCKED)",
            (token_id,),
        )


def _workspace_grant(user: Any, workspace: str) -> Grant:
    """A grant that only names a workspace, for the roles that the user has there."""
    for ident, name, _ in queries.memberships(user.pk):
        if name == workspace:
            return Grant("", "", ident, name, frozenset())
    raise Forbidden(f"{user.get_username()} is not a member of a workspace named {workspace}.")


def _expired(token: Any) -> bool:
    return token.expires_at is not None and token.expires_at <= token.now


def _row(token: Any) -> TokenRow:
    state = "revoked" if token.revoked_at else "expired" if _expired(token) else "active"
    return TokenRow(
        prefix=token.prefix,
        name=token.name,
        user=token.user.get_username(),
        user_id=token.user_id,
        workspace=token.workspace.name,
        workspace_id=token.workspace_id,
        scopes=tuple(token.scopes),
        state=state,
        made_by=token.made_by,
        created_at=token.created_at,
        expires_at=token.expires_at,
        last_used_at=token.last_used_at,
        revoked_at=token.revoked_at,
        revoked_by=token.revoked_by,
    )
