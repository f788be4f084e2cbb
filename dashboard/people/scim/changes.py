"""PATCH of SCIM (RFC 7644, 3.5.2): a list of operations, read and checked; pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from dashboard.errors import Invalid

from .filters import parsed

OPS: Final = ("add", "remove", "replace")
OPERATIONS_MAX: Final = 1_000
_TRUE, _FALSE = "true", "false"


@dataclass(frozen=True, slots=True)
class Operation:
    """One change: of `attribute`, or of its part `sub`, of those that `where` selects."""

    op: str
    attribute: str
    where: str
    sub: str
    value: Any
    path: str  # where it stands in the request


def operations_in(body: Mapping[str, Any]) -> list[Operation]:
    """The operations of a request, those without a path taken apart; raises Invalid, WrongPath."""
    raw = member(body, "operations")
    if not isinstance(raw, list) or not 0 < len(raw) <= OPERATIONS_MAX:
        raise Invalid("$.Operations", f"is a list of 1 to {OPERATIONS_MAX:,} operations")
    return [one for i, entry in enumerate(raw) for one in _read(entry, f"$.Operations[{i}]")]


def _read(entry: Any, at: str) -> list[Operation]:
    if not isinstance(entry, dict):
        raise Invalid(at, "must be an object")
    op, path, value = (member(entry, name) for name in ("op", "path", "value"))
    if not isinstance(op, str) or op.lower() not in OPS:
        raise Invalid(f"{at}.op", f"is one of {', '.join(OPS)}")
    op = op.lower()
    if path is not None:
        if not isinstance(path, str):
            raise Invalid(f"{at}.path", "must be text")
        return [Operation(op, *parsed(path), value, at)]
    if op == "remove" or not isinstance(value, dict):
        raise Invalid(at, "without a path takes a value with attributes, to add or replace")
    return [Operation(op, *parsed(str(name)), v, at) for name, v in value.items()]


def member(entry: Mapping[str, Any], name: str) -> Any:
    """A member whose name may have any case; None without."""
    return next((v for k, v in entry.items() if str(k).lower() == name.lower()), None)


def yes_or_no(value: Any, at: str) -> bool:
    """A boolean; some directories send it as text. Raises Invalid."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in (_TRUE, _FALSE):
        return value.lower() == _TRUE
    raise Invalid(at, "must be true or false")


def text(value: Any, at: str) -> str:
    """A text, empty for null; raises Invalid."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Invalid(at, "must be text")
    return value
