"""Values in the claims of a provider; pure."""

from __future__ import annotations

from collections.abc import Mapping
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


def _is_plain(value: Any) -> TypeGuard[str]:
    """Answer True for a text without line breaks and without what cannot be stored."""
    # Cc: control characters, Cs: halves of surrogate pairs.
    return isinstance(value, str) and not any(category(c) in {"Cc", "Cs"} for c in value.strip())
