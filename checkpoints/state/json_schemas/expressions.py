"""Regular expressions that others wrote, asked of a text within bounds of time and memory; pure.

Agents elsewhere, MCP servers and capsules bring schemas with expressions of their own. Python's
engine can take for ever over thirty characters, and nothing else continues meanwhile. So a linear
engine is asked (the one of pydantic). What it does not know, look-around and references to groups,
is asked of Python's where that cannot take long.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from pydantic_core import SchemaError, SchemaValidator, core_schema

# Microseconds, roughly, to build an expression: as much as a large one takes, and 3 MB.
COST_MAX: Final = 40_000
# Ways that Python's engine may try at the most; some tenths of a second.
TRIES_MAX: Final = 10**7
# Characters of an expression that is asked of Python's engine.
LENGTH_MAX: Final = 1_000

# Parts of a regular expression, in microseconds to build them.
PROPERTY, CLASS, WIDE, FOLDED, PLAIN = 3_000, 1_000, 10, 10, 3
# A character of a class in brackets that is not ASCII: what lies between two of them is large.
FOREIGN: Final = 30
_PART: Final = re.compile(
    r"(?P<flags>\(\?[A-Za-z-]+[:)])|(?P<group>\(\?P?<\w+>|\(\?:|\()|(?P<close>\))"
    r"|(?P<count>\{\s*(?P<least>\d*)\s*(?:,\s*(?P<most>\d*)\s*)?\})"
    r"|(?P<boundary>\\[bB])|(?P<property>\\[pP](?:\{[^}]*\}|.))|(?P<class>\\[wWdDsS])|(?P<escaped>\\.)|(?P<wide>\.)|(?P<plain>.)",
    re.DOTALL,
)
_COSTS: Final = {"property": PROPERTY, "class": CLASS, "wide": WIDE}
# In brackets: a class within it, its first character where that is ], its end, what it holds.
_IN_CLASS: Final = re.compile(
    r"(?P<open>\[:|\[\^?\]?)|(?P<close>\])"
    r"|(?P<property>\\[pP](?:\{[^}]*\}|.))|(?P<class>\\[wWdDsS])|(?P<plain>\\?.)",
    re.DOTALL,
)
# What lets Python's engine try one text in several ways: a choice, a repeat, a repeated group.
_CHOICE: Final = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?|(?P<nested>\)\s*(?:[*+]|\{))|(?P<one>[*+?|]|\{\d*,\d*\})",
    re.DOTALL,
)


class TooCostly(ValueError):
    """An expression could take long: it is not asked."""


class SpacedOut(ValueError):
    """An expression sets the flag x, under which its parts cannot be counted."""


def is_match(expression: str, text: str) -> bool:
    """Answer True if a part of the text fits; raises re.error and TooCostly."""
    linear = _linear(expression)
    if linear is not None:
        return linear.isinstance_python(text)
    if len(expression) > LENGTH_MAX:
        raise TooCostly
    readable = re.compile(expression)
    if (len(text) + 1) ** (1 + _choices(expression)) > TRIES_MAX:
        raise TooCostly
    return readable.search(text) is not None


def check(expression: str) -> None:
    """Raise re.error for what no engine reads, and TooCostly for what is asked of no text."""
    is_match(expression, "")


@lru_cache(maxsize=64)
def _linear(expression: str) -> SchemaValidator | None:
    """The expression for the linear engine; None for what it does not read, or builds for long."""
    try:
        if cost(expression) > COST_MAX:
            return None
        schema = core_schema.str_schema(pattern=expression, regex_engine="rust-regex")
        return SchemaValidator(schema)
    except (SchemaError, SpacedOut):
        return None


def _choices(expression: str) -> int:
    """Count the choices of Python's engine along a text; raises TooCostly where they multiply."""
    if re.search(r"\(\?[a-zA-Z]*x", expression):
        raise TooCostly  # its spaces could hide what is counted here
    kinds = [part.lastgroup for part in _CHOICE.finditer(expression)]
    if "nested" in kinds:
        raise TooCostly
    return kinds.count("one")


def has_borders(expression: str) -> bool:
    """Answer True if the expression looks for a word boundary."""
    return any(part["boundary"] for part in _PART.finditer(expression))


def cost(expression: str) -> int:
    """About how many microseconds the linear engine takes to build it; raises SpacedOut."""
    folded = False
    stack: list[int] = [0]  # what each open group costs so far
    last = at = 0  # what a count would repeat, and where the next part begins
    while part := _PART.match(expression, at):
        if expression[at] == "[":
            last, at = _class_cost(expression, at)
            stack[-1] += last
            continue
        at = part.end()
        kind = part.lastgroup if part.lastgroup not in ("least", "most") else "count"
        if part["count"] is not None and (part["least"] or part["most"]):
            times = max(int(part["least"] or 0), int(part["most"] or 0))
            stack[-1] += last * max(0, min(times, 10**6) - 1)
            last *= max(1, times)
            continue
        if kind == "flags":
            if "x" in part["flags"]:
                raise SpacedOut
            folded = folded or "i" in part["flags"]
            if part["flags"].endswith(":"):
                stack.append(0)
            last = 0
        elif kind == "group":
            stack.append(0)
            last = 0
        elif kind == "close" and len(stack) > 1:
            last = stack.pop() + PLAIN
            stack[-1] += last
        else:
            last = _COSTS.get(str(kind), FOLDED if folded else PLAIN)
            stack[-1] += last
    return sum(stack)


def _class_cost(expression: str, begin: int) -> tuple[int, int]:
    """(what the class in brackets that begins there costs, where it ends)."""
    cost, depth, at = WIDE, 0, begin
    while part := _IN_CLASS.match(expression, at):
        at = part.end()
        match part.lastgroup:
            case "open":
                depth += 1
            case "close":
                depth -= 1
            case "property":
                cost += PROPERTY
            case "class":
                cost += CLASS
            case _:
                cost += PLAIN if part[0].isascii() else FOREIGN
        if not depth:
            break
    return cost, at
