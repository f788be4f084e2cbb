"""How long a condition may take: estimated before it is asked, from its text and the values.

The library cannot be interrupted, and its process answers nothing while it works. So a condition
whose regular expressions take long to build is refused when it is saved, and one that would take
longer than SECONDS_MAX with the values at hand is not asked: it has no answer then. The figures are
upper bounds of what was measured; test_condition_cost.py measures them again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from checkpoints.errors import InvalidValue

SECONDS_MAX: Final = 0.25

# Seconds for each value and character: to hand it over, to look at it once, to add it up.
HAND_OVER: Final = (3e-6, 4e-9)
MENTION: Final = (3e-7, 6e-9)
CALL: Final = 4e-6
ROUND: Final = 6e-6  # for each word that a list macro does with an item

# Parts of a regular expression, in microseconds to build it each time that it is asked.
PATTERN_MAX: Final = 40_000
PROPERTY, CLASS, WIDE, FOLDED, PLAIN = 3_000, 1_000, 10, 10, 3
# Seconds for each character that a regular expression reads, and more for a large one.
SCAN, SCAN_LARGE = 5e-8, 5e-11
_PART: Final = re.compile(
    r"(?P<flags>\(\?[A-Za-z-]+[:)])|(?P<group>\(\?P?<\w+>|\(\?:|\()|(?P<close>\))"
    r"|(?P<count>\{\s*(?P<least>\d*)\s*(?:,\s*(?P<most>\d*)\s*)?\})"
    r"|(?P<border>\\[bB])|(?P<property>\\[pP](?:\{[^}]*\}|.))|(?P<class>\\[wWdDsS]|\[\[?:)|(?P<escaped>\\.)|(?P<wide>\[\^|\.)|(?P<plain>.)",
    re.DOTALL,
)


_PARTS: Final = {"property": PROPERTY, "class": CLASS, "wide": WIDE}


@dataclass(slots=True)
class Cost:
    """The operations in the text of a condition, counted while it is parsed."""

    mentions: int = 0  # of variables, outside of list macros
    calls: int = 0  # of helpers that go through a value
    rounds: int = 0  # words inside of list macros
    inner: int = 0  # of those the mentions of variables, each looked at anew for each item
    inner_calls: int = 0
    patterns: list[str] = field(default_factory=list)  # as CEL spells them

    def seconds(self, values: Mapping[str, Any]) -> float:
        """An upper bound of what it takes with these values."""
        n_values, n_characters = max(volumes(values), default=(0, 0))
        look = n_values * MENTION[0] + n_characters * MENTION[1]
        once = n_values * HAND_OVER[0] + n_characters * HAND_OVER[1]
        once += self.mentions * look + self.calls * (n_values * CALL + look)
        each = self.rounds * ROUND + self.inner * look
        each += self.inner_calls * (CALL + (look if self.inner else 0.0))
        scans = sum(SCAN + SCAN_LARGE * pattern_cost(one) for one in self.patterns)
        return once + n_values * each + self.rounds * look + n_characters * scans


def volumes(values: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    """(values, characters in texts and names) of all variables, as they add up."""
    n_values = n_characters = 0
    waiting: list[Any] = list(values.values())
    while waiting:
        value = waiting.pop()
        n_values += 1
        if isinstance(value, str):
            n_characters += len(value)
        elif isinstance(value, Mapping):
            waiting += [*value, *value.values()]
        elif isinstance(value, list | tuple):
            waiting += value
        yield n_values, n_characters


def check_patterns(patterns: list[str]) -> None:
    """Refuse regular expressions that together take long to build."""
    if sum(map(pattern_cost, patterns)) > PATTERN_MAX:
        raise InvalidValue(
            "condition",
            "has regular expressions that are too large; repeat less, or write [a-z0-9] for \\w",
        )


def pattern_cost(literal: str) -> int:
    """About how many microseconds it takes to build the regular expression of a CEL text."""
    text = _unquoted(literal)
    folded = False
    stack: list[int] = [0]  # what each open group costs so far
    last = 0  # what a count would repeat
    for part in _PART.finditer(text):
        kind = part.lastgroup if part.lastgroup not in ("least", "most") else "count"
        if part["count"] is not None and (part["least"] or part["most"]):
            times = max(int(part["least"] or 0), int(part["most"] or 0))
            stack[-1] += last * max(0, min(times, 10**6) - 1)
            last *= max(1, times)
            continue
        if kind == "flags":
            if "x" in part["flags"]:
                raise InvalidValue("condition", "may not use the flag x in a regular expression")
            folded = folded or "i" in part["flags"]
            if part["flags"].endswith(":"):
                stack.append(0)
            last = 0
        elif kind == "border":
            # Beside letters other than ASCII it makes the search many times slower.
            raise InvalidValue("condition", "may not use \\b in a regular expression")
        elif kind == "group":
            stack.append(0)
            last = 0
        elif kind == "close" and len(stack) > 1:
            last = stack.pop() + PLAIN
            stack[-1] += last
        else:
            last = _PARTS.get(str(kind), FOLDED if folded else PLAIN)
            stack[-1] += last
    return sum(stack)


def _unquoted(literal: str) -> str:
    """The text between the quotes; refuses escapes that could hide what is counted here."""
    prefix = re.match("[rRbB]*", literal)
    raw = prefix is not None and "r" in prefix[0].lower()
    body = literal[len(prefix[0]) if prefix else 0 :]
    quotes = 3 if body[:3] in ("'''", '"""') else 1
    text = body[quotes:-quotes]
    if raw:
        return text
    if re.search(r"""\\[^\\'"]""", re.sub(r"\\\\", "", text)):
        raise InvalidValue("condition", "has an escape in a regular expression; write it as r'...'")
    return re.sub(r"""\\([\\'"])""", r"\1", text)
