"""Amounts: decimal strings with two places, exact, however a file writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal

PLACES = Decimal("0.01")
_LAST = {".": re.compile(r"\d\.\d{1,2}$", re.ASCII), ",": re.compile(r"\d,\d{1,2}$", re.ASCII)}
_FORMS = {
    ".": re.compile(r"(\d{1,12}|[1-9]\d{0,2}(?:,\d{3}){1,3})(?:\.(\d{1,2}))?", re.ASCII),
    ",": re.compile(r"(\d{1,12}|[1-9]\d{0,2}(?:\.\d{3}){1,3})(?:,(\d{1,2}))?", re.ASCII),
}
_EITHER = re.compile(r"\d{1,3}[.,]\d{3}", re.ASCII)  # thousands, or thousandths


class NoAmount(ValueError):
    """The text is no amount; the message says why, as the end of a sentence."""


def decimal_mark(texts: Iterable[str]) -> str:
    """The mark before the cents in this column: "." or ","; nothing where it is not clear."""
    seen = {mark for text in texts for mark, last in _LAST.items() if last.search(_bare(text))}
    return seen.pop() if len(seen) == 1 else ""


def amount(text: str, mark: str = "") -> str:
    """The amount in a cell as a decimal string; `mark` as `decimal_mark` found it.

    Raises NoAmount for what is no amount, is not above nothing, or can be read in two ways.
    """
    bare = _bare(text)
    if not bare:
        raise NoAmount("there is no amount")
    if bare.startswith("-") or bare.endswith("-"):
        raise NoAmount("the amount is below nothing; a credit note is not paid")
    if not mark and _EITHER.fullmatch(bare):
        raise NoAmount("the amount can be read in two ways; write it with two decimals")
    value = next((read for way in mark or ".," if (read := _read(bare, way)) is not None), None)
    if value is None:
        raise NoAmount("the amount isn’t a number with at most two decimals")
    if not value:
        raise NoAmount("the amount is nothing")
    return written(value)


def total(amounts: Iterable[str]) -> str:
    """The exact sum of decimal strings."""
    return written(sum(map(Decimal, amounts), Decimal(0)))


def written(value: Decimal) -> str:
    """A decimal string with two places."""
    return f"{value.quantize(PLACES):f}"


def shown(text: str) -> str:
    """A decimal string as people read it: 12,345.60."""
    return f"{Decimal(text):,.2f}"


def _bare(text: str) -> str:
    bare = text.replace("\N{EURO SIGN}", "").replace("\N{NO-BREAK SPACE}", " ").strip()
    return re.sub(r"(?<=\d)[.,](-|--|\N{EN DASH})$", "", bare)  # 12,- is twelve


def _read(bare: str, mark: str) -> Decimal | None:
    match = _FORMS[mark].fullmatch(bare)
    if match is None:
        return None
    whole = re.sub(r"\D", "", match[1])
    return Decimal(f"{whole}.{match[2] or '0'}")
