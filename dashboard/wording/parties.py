"""Recognise amount, payee and account in the arguments of an action.

Nothing is computed or guessed: a value is shown as it stands under a name that says what it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .amounts import amount_of

PAYEES = (
    "payee", "creditor", "creditor_name", "beneficiary", "recipient", "supplier", "vendor",
    "customer", "to",
)  # fmt: skip
ACCOUNTS = ("iban", "account", "account_number", "creditor_account")
TEXT_MAX = 200


@dataclass(frozen=True, slots=True)
class Recognised:
    """The parties of an action, by the names of its arguments; empty where unknown."""

    amount: str = ""
    payee: str = ""
    account: str = ""


def recognised(args: Any) -> Recognised:
    """The first amount, payee and account of the arguments, top level first."""
    if not isinstance(args, Mapping):
        return Recognised()
    objects = list(_objects(args))
    return Recognised(
        amount_of(args),
        next(filter(None, (_text(fields, PAYEES) for fields in objects)), ""),
        next(filter(None, (_text(fields, ACCOUNTS) for fields in objects)), ""),
    )


def payee_names(fields: Any) -> list[str]:
    """All names of the payee in one object, such as a number and a name; the first one counts."""
    if not isinstance(fields, Mapping):
        return []
    return list(dict.fromkeys(filter(None, (_text(fields, (name,)) for name in PAYEES))))


def _objects(args: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The object itself and the objects right inside it."""
    yield args
    yield from (held for held in args.values() if isinstance(held, Mapping))


def _text(fields: Mapping[str, Any], names: tuple[str, ...]) -> str:
    for name in names:
        result = fields.get(name)
        if isinstance(result, Mapping):
            result = result.get("name")
        if isinstance(result, str) and 0 < len(result.strip()) <= TEXT_MAX:
            return result.strip()
    return ""
