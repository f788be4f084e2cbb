"""Settings of sign-in: single sign-on by OpenID Connect, what groups open, passwords on or off."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from checkpoints.states import ROLES

from .sources import Misconfigured, value

GROUPS: Final = "GATEPOST_GROUPS"
MODES: Final = ("on", "off")
SCOPES: Final = "openid profile email"
PASSWORDS: Final = "dashboard.identity.backends.Passwords"
BACKENDS: Final = (
    "dashboard.identity.lockout.PasswordLockout",
    PASSWORDS,
    "dashboard.identity.backends.Links",
)
SINGLE_SIGN_ON: Final = "dashboard.identity.backends.SingleSignOn"
# Without tables: nothing of theirs is stored, our own table says who is who.
APPS: Final = (
    "allauth.account",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
)
MIDDLEWARE: Final = "allauth.account.middleware.AccountMiddleware"
PASSWORD_VALIDATORS: Final = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 10},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
# For http without encryption: the way to a provider on this machine is no way for others.
_HERE: Final = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Oidc:
    """One provider of OpenID Connect: where it is, who we are there, which claims count."""

    issuer: str
    client_id: str
    secret: str
    name: str
    scopes: tuple[str, ...]
    groups_claim: str
    username_claim: str
    hours: float


@dataclass(frozen=True, slots=True)
class Access:
    """Roles in a workspace (by its name), and teams, that a group of the directory opens."""

    workspace: str
    roles: tuple[str, ...]
    teams: tuple[str, ...]


type Groups = dict[str, tuple[Access, ...]]


def oidc() -> Oidc | None:
    """GATEPOST_OIDC_*, checked; None where no issuer is named. Raises Misconfigured."""
    issuer = os.environ.get("GATEPOST_OIDC_ISSUER", "").strip().rstrip("/")
    if not issuer:
        return None
    parts = urlsplit(issuer)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _HERE):
        raise Misconfigured("GATEPOST_OIDC_ISSUER", "must begin with https://.")
    client_id = os.environ.get("GATEPOST_OIDC_CLIENT_ID", "").strip()
    if not client_id:
        raise Misconfigured("GATEPOST_OIDC_CLIENT_ID", "is missing: the provider knows us by it.")
    if find_spec("allauth") is None:
        raise Misconfigured("GATEPOST_OIDC_ISSUER", "needs the extra: pip install '.[sso]'.")
    return Oidc(
        issuer=issuer,
        client_id=client_id,
        secret=value("GATEPOST_OIDC_CLIENT_SECRET"),
        name=os.environ.get("GATEPOST_OIDC_NAME", "").strip() or "single sign-on",
        scopes=tuple(os.environ.get("GATEPOST_OIDC_SCOPES", SCOPES).split()),
        groups_claim=os.environ.get("GATEPOST_OIDC_GROUPS_CLAIM", "").strip() or "groups",
        username_claim=os.environ.get("GATEPOST_OIDC_USERNAME_CLAIM", "").strip()
        or "preferred_username",
        hours=_hours(os.environ.get("GATEPOST_OIDC_HOURS", "").strip() or "12"),
    )


def _hours(text: str) -> float:
    try:
        hours = float(text)
    except ValueError:
        hours = 0
    if not 0 < hours <= 24 * 30:
        raise Misconfigured("GATEPOST_OIDC_HOURS", "is a number of hours, up to 720.")
    return hours


def passwords(provider: Oidc | None) -> bool:
    """GATEPOST_PASSWORDS, checked: whether people sign in by name and password."""
    mode = os.environ.get("GATEPOST_PASSWORDS", "").strip() or "on"
    if mode not in MODES:
        raise Misconfigured("GATEPOST_PASSWORDS", f"is one of {', '.join(MODES)}.")
    if mode == "off" and provider is None:
        raise Misconfigured(
            "GATEPOST_PASSWORDS", "is off, but GATEPOST_OIDC_ISSUER names no other way to sign in."
        )
    return mode == "on"


def backends(provider: Oidc | None) -> list[str]:
    """The ways to sign in that are open; a login by one that is closed ends."""
    closed = set() if passwords(provider) else {"dashboard.identity.backends.Passwords"}
    return [name for name in BACKENDS if name not in closed] + (
        [SINGLE_SIGN_ON] if provider else []
    )


def apps(provider: Oidc | None) -> list[str]:
    """Django apps of the extra; none without a provider, so the base install never imports them."""
    return list(APPS) if provider else []


def middleware(provider: Oidc | None) -> list[str]:
    """Middleware of the extra."""
    return [MIDDLEWARE] if provider else []


def providers(provider: Oidc | None) -> dict[str, Any]:
    """The provider as django-allauth wants it."""
    if provider is None:
        return {}
    app = {
        "provider_id": "sso",
        "name": provider.name,
        "client_id": provider.client_id,
        "secret": provider.secret,
        "settings": {"server_url": provider.issuer},
    }
    scopes = list(provider.scopes)
    return {"openid_connect": {"APPS": [app], "OAUTH_PKCE_ENABLED": True, "SCOPE": scopes}}


def groups() -> Groups:
    """GATEPOST_GROUPS, or the file that GATEPOST_GROUPS_FILE names; empty without. Misconfigured.

    {"payments-leads": {"workspace": "default", "roles": ["reviewer"], "teams": ["payments"]}};
    a list of such objects where a group opens several workspaces.
    """
    text, path = os.environ.get(GROUPS, ""), os.environ.get(f"{GROUPS}_FILE", "")
    if text and path:
        raise Misconfigured(GROUPS, f"and {GROUPS}_FILE are both set: keep one of them.")
    if path:
        try:
            text = Path(path).read_text()
        except (OSError, UnicodeDecodeError):
            raise Misconfigured(f"{GROUPS}_FILE", "cannot be read.") from None
    if not text.strip():
        return {}
    try:
        raw = json.loads(text)
    except ValueError as error:
        raise Misconfigured(GROUPS, f"is not JSON: {error}.") from None
    if not isinstance(raw, dict):
        raise Misconfigured(GROUPS, "is not a JSON object of groups.")
    results = {name: _opened(name, entry) for name, entry in raw.items()}
    for name, entries in results.items():
        # The team would count as the other group, and open what that opens.
        if strange := sorted({t for e in entries for t in e.teams if t != name} & results.keys()):
            raise Misconfigured(GROUPS, f"{name}: the team {strange[0]} is a group of its own.")
    return results


def _opened(group: str, entry: Any) -> tuple[Access, ...]:
    entries = entry if isinstance(entry, list) else [entry]
    return tuple(_access(group, each) for each in entries)


def _access(group: str, entry: Any) -> Access:
    if not isinstance(entry, Mapping):
        raise Misconfigured(GROUPS, f"{group}: takes an object, or a list of objects.")
    if strange := sorted(set(entry) - {"workspace", "roles", "teams"}):
        raise Misconfigured(GROUPS, f"{group}: does not know {', '.join(strange)}.")
    workspace = entry.get("workspace", "default")
    roles, teams = _names(group, "roles", entry), _names(group, "teams", entry)
    if not isinstance(workspace, str) or not workspace:
        raise Misconfigured(GROUPS, f"{group}: workspace is the name of one.")
    if unknown := sorted(set(roles) - set(ROLES)):
        raise Misconfigured(
            GROUPS, f"{group}: {', '.join(unknown)} is not a role; there are {', '.join(ROLES)}."
        )
    return Access(workspace, roles, teams)


def _names(group: str, key: str, entry: Mapping[str, Any]) -> tuple[str, ...]:
    names = entry.get(key, [])
    if not isinstance(names, list) or not all(
        isinstance(n, str) and 0 < len(n) <= 150 for n in names
    ):
        raise Misconfigured(GROUPS, f"{group}: {key} is a list of names.")
    return tuple(dict.fromkeys(names))
