"""Values in the claims of a provider; pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeGuard
from unicodedata import category

GROUPS_MAX: Final = 10_000


def claim(claims: Mapping[str, Any], name: str) -> Any:
    """The claim of this name, else that of a path with dots (`realm_access.roles`)."""
    if name in claims:
        return claims[name]
    value: Any = claims
    for key in name.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def text(claims: Mapping[str, Any], name: str, limit: int) -> str:
    """A claim that is a plain text, without its ends' white space, cut at `limit`; else empty."""
    value = claim(claims, name)
    return value.strip()[:limit] if _is_plain(value) else ""


def names(claims: Mapping[str, Any], name: str) -> frozenset[str]:
    """A claim that lists names, or is one name; what is no plain text is left out."""
    value = claim(claims, name)
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list):
        return frozenset()
    return frozenset(v for v in values[:GROUPS_MAX] if _is_plain(v) and v)


@dataclass(frozen=True, slots=True)
class Named:
    """Somebody's name and mail address; `vouched` is False for an address nobody verified."""

    username: str
    email: str
    vouched: bool


def named_by(
    claims: Mapping[str, Any], username_claim: str, *, name_max: int, email_max: int
) -> Named:
    """The name of this claim, else the mail address; one that is not verified is neither.

    A provider that does not say whether it verified an address vouches for nobody by it.
    """
    verified = _is_verified(claims)
    email = "" if verified is False else text(claims, "email", email_max)
    by_mail = username_claim.rpartition(".")[2] == "email"
    name = "" if by_mail else text(claims, username_claim, name_max)
    return Named(name or email, email, bool(name) or verified is True)


def _is_verified(claims: Mapping[str, Any]) -> bool | None:
    """Return whether the provider has verified the mail address; None where it does not say.

    Some send the text `true` or `false`; anything else is no yes.
    """
    value = claim(claims, "email_verified")
    return None if value is None else value is True or str(value).lower() == "true"


def _is_plain(value: Any) -> TypeGuard[str]:
    """Answer True for a text without line breaks and without what cannot be stored."""
    # Cc: control characters, Cs: halves of surrogate pairs.
    return isinstance(value, str) and not any(category(c) in {"Cc", "Cs"} for c in value.strip())
