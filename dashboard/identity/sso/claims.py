"""Values in the claims of a provider; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

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
    """A claim that is a text, without its ends' white space, cut at `limit`; empty without."""
    value = claim(claims, name)
    return value.strip()[:limit] if isinstance(value, str) else ""


def names(claims: Mapping[str, Any], name: str) -> frozenset[str]:
    """A claim that lists names, or is one name; what is no text is left out."""
    value = claim(claims, name)
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list):
        return frozenset()
    return frozenset(v for v in values[:GROUPS_MAX] if isinstance(v, str) and v)
