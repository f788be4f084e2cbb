"""Warn of what CEL does silently and few people expect: types, whole division, sizes; pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from .conditions import tokens_of

_NUMBER: Final = re.compile(r"\d[\w.]*")
_NUMERIC_TEXT: Final = re.compile(r"""['"]-?\d+(\.\d+)?['"]""")
# What they answer is a number, whatever they are called with.
_NUMERIC: Final = frozenset({"amount", "money", "total", "size", "int", "double"})
TEXT_AGAINST_NUMBER: Final = (
    "A number never equals a text: `args.n == 5` does not hold for '5', and says nothing. "
    "Write `amount(args.n) == 5`, or compare with a text on both sides."
)
ORDER_OF_TEXTS: Final = (
    "Texts are ordered by their characters: '9' is greater than '10'. Compare `amount(...)` with a "
    "number."
)
WHOLE_DIVISION: Final = (
    "Whole numbers divide without a rest: 7 / 2 is 3. Divide by a decimal, such as 2.0."
)
OUTER_SIZE: Final = (
    "`size` counts the outermost values: a list in a list counts as one, a text by its characters."
)


def warnings(text: str) -> tuple[str, ...]:
    """List what a condition does that its author may not expect, each once; it may be intended."""
    tokens = tokens_of(text)
    result: dict[str, None] = {}
    for i, word in enumerate(tokens):
        before, after = tokens[:i], tokens[i + 1 :]
        if word == "/" and not _is_decimal(after[0] if after else ""):
            result[WHOLE_DIVISION] = None
        elif word == "size" and ("args" in after[:2] or before[-1:] == ["."]):
            result[OUTER_SIZE] = None
        elif word in ("=", "!") and after[:1] == ["="] and before[-1:] not in (["<"], [">"]):
            if _differ(before, after[1:]):
                result[TEXT_AGAINST_NUMBER] = None
        elif word == "in" and after[:1] == ["["] and after[1:2] and _NUMBER.fullmatch(after[1]):
            if not _is_number(before):
                result[TEXT_AGAINST_NUMBER] = None
        elif word in ("<", ">"):
            right = after[1:] if after[:1] == ["="] else after
            if any(_NUMERIC_TEXT.fullmatch(one) for one in (*before[-1:], *right[:1])):
                result[ORDER_OF_TEXTS] = None
    return tuple(result)


def _differ(left: Sequence[str], right: Sequence[str]) -> bool:
    """Answer True if a number stands beside what is, or may be, a text."""
    right = right[1:] if right[:1] == ["-"] else right
    if not left or not right:
        return False
    if _NUMBER.fullmatch(right[0]):
        return not _is_number(left)
    if _NUMBER.fullmatch(left[-1]):
        return right[0] not in _NUMERIC and right[0] != "cost"
    texts = ("'", '"')
    if right[0][:1] in texts:
        return _is_number(left)
    return left[-1][-1:] in texts and (right[0] in _NUMERIC or right[0] == "cost")


def _is_number(tokens: Sequence[str]) -> bool:
    """Answer True if what ends here is a number for sure."""
    last = tokens[-1] if tokens else ""
    if last != ")":
        return bool(_NUMBER.fullmatch(last)) or (last == "cost" and tokens[-2:-1] != ["."])
    depth = 0
    for i in range(len(tokens) - 1, -1, -1):
        depth += (tokens[i] == ")") - (tokens[i] == "(")
        if not depth:
            return i > 0 and tokens[i - 1] in _NUMERIC
    return False


def _is_decimal(token: str) -> bool:
    return bool(_NUMBER.fullmatch(token)) and "." in token
