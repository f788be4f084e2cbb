"""Conditions of policies in CEL: read, checked before they are saved, and asked of an action; pure.

A condition is bounded: its length, which names and functions it may use, one list macro deep, how
large its regular expressions are, and how long it may take (see `condition_cost`). Nothing here
reads or writes anything.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, Final, Literal

from checkpoints.errors import InvalidValue
from checkpoints.names import escaped
from checkpoints.unseen import HIDDEN

from . import facts
from .condition_cost import SECONDS_MAX, Cost, check_patterns, volumes
from .look_alikes import texts_of, words_of
from .syntax_errors import in_words, operator_of

# The library logs each error of a helper; what has no answer is reported where it counts.
logging.getLogger("cel").setLevel(logging.CRITICAL)

LENGTH_MAX: Final = 2_000
DEPTH_MAX: Final = 30
# With a list macro a condition may do something for each value, and that may look at all of them.
VALUES_MAX: Final = 500
CHARACTERS_MAX: Final = 200_000
SUMS_MAX: Final = 10  # of lists, a sum is a copy
# A double holds up to this many digits exactly enough to compare as the decimals do.
DIGITS_MAX: Final = 15
AMOUNT: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,29})(?:\.[0-9]{1,30})?")
CURRENCY: Final = re.compile(r"[A-Z]{3}")

VARIABLES: Final = tuple(facts.FACTS)
type Subject = Literal["effect", "operation", "node"]
# What a node that has not begun does not have.
NOT_OF_NODES: Final = frozenset({"tool", "args", "undo", "risk", "operation"})
MACROS: Final = frozenset({"all", "exists", "exists_one", "filter"})
FUNCTIONS: Final = frozenset(
    {"amount", "money", "total", "lower", "has", "size", "int", "double", "string", "contains"}
    | {"startsWith", "endsWith", "matches", "duration", "timestamp"}
)
_WORDS: Final = frozenset({"true", "false", "null", "in"})
_TOKEN: Final = re.compile(
    r"""//[^\n]*|[rRbB]{0,2}(?:'''(?:.|\n)*?'''|\"\"\"(?:.|\n)*?\"\"\")"""
    r"""|[rR][bB]?'[^']*'|[rR][bB]?"[^"]*"|[bB]?'(?:\\.|[^'\\])*'|[bB]?"(?:\\.|[^"\\])*\""""
    r"""|[A-Za-z_]\w*|\d[\w.]*|\s+|."""
)


class Unanswered(Exception):
    """A condition has no answer for this action; the sentence says why."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition that may be asked of effects, of what people do to threads, or of nodes.

    `names` are the facts that it looks at.
    """

    text: str
    program: Any
    subject: Subject
    cost: Cost
    names: frozenset[str]
    texts: tuple[str, ...] = ()
    words: tuple[str, ...] = ()  # of its regular expressions

    def holds(self, values: Mapping[str, Any]) -> bool:
        """Evaluate the condition; `values` has each of VARIABLES. Raises Unanswered."""
        if self.cost.rounds:
            _bounded(values)
        if self.cost.seconds(values) > SECONDS_MAX:
            raise Unanswered("the arguments are too large for this condition")
        import cel

        try:
            context = cel.Context(dict(values))
            for name, function in _HELPERS.items():
                context.add_function(name, function)
            result = self.program.execute(context)
        except KeyError as error:
            raise Unanswered(f"there is no {str(error.args[0])[:80].strip('"\'')}") from error
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit):
                raise
            raise Unanswered(_message_of(error)) from error
        if not isinstance(result, bool):
            raise Unanswered("it is neither true nor false")
        return result


@lru_cache(maxsize=1_000)
def condition(text: str) -> Condition:
    """The condition of this text; raises InvalidValue with what is wrong and where."""
    if not text.strip():
        raise InvalidValue("condition", "is empty; `true` holds always")
    if len(text) > LENGTH_MAX:
        raise InvalidValue("condition", f"is longer than {LENGTH_MAX:,} characters")
    names, cost = _looked_through(text)
    texts = texts_of(tokens_of(text))
    words = words_of(cost.patterns)
    if hidden := next((one for one in texts if HIDDEN.search(one)), None):
        raise InvalidValue(
            "condition", f"has a character that nobody sees, in the text {escaped(hidden)}"
        )
    check_patterns(cost.patterns)
    if "node" in names and (other := sorted(names & NOT_OF_NODES)):
        raise InvalidValue(
            "condition",
            f"names a node and {other[0]!r}: before a node there is none; write two policies",
        )
    program = _compiled(text)
    condition = Condition(text, program, _subject(names), cost, frozenset(names), texts, words)
    try:
        condition.holds(_SAMPLE)
    except Unanswered as error:
        if "neither true nor false" in str(error):
            raise InvalidValue("condition", "must be true or false, such as `tool == 'pay'`") from (
                error
            )
    return condition


def _compiled(text: str) -> Any:
    import cel  # with it comes a toolkit of terminals, 0.2 s: not with each start

    try:
        return cel.compile(text)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit):
            raise
        words = in_words(text, str(error))
        raise InvalidValue("condition", f"cannot be read: {words}") from error


def refusal(text: str) -> str:
    """Explain why the condition of a saved policy is no longer valid; empty where it is."""
    try:
        condition(text)
    except InvalidValue as error:
        return f"this policy's condition is no longer taken: {error.reason}"
    return ""


def claims(text: str) -> tuple[str, ...]:
    """The claimed facts that a condition looks at; none of one that is no longer taken."""
    try:
        return facts.claimed_of(condition(text).names)
    except InvalidValue:
        return ()


def _subject(names: Collection[str]) -> Subject:
    return "node" if "node" in names else "operation" if "operation" in names else "effect"


def subject_of(text: str) -> Subject:
    """Name the subject of a condition, also of one that is refused."""
    return _subject(_names(text))


def names_tool(text: str) -> bool:
    """Say whether a condition reads the tool's name, also one that is refused."""
    return "tool" in _names(text)


def literals(text: str) -> dict[str, list[str]]:
    """List the names that a condition compares `tool`, `agent` or `node` with, by fact."""
    tokens, result = tokens_of(text), dict[str, list[str]]()
    for i, word in enumerate(tokens):
        if word not in ("tool", "agent", "node") or (i and tokens[i - 1] == "."):
            continue
        after, before = tokens[i + 1 : i + 4], tokens[max(0, i - 3) : i]
        compared: list[str] = []
        if after[:2] == ["=", "="]:
            compared = after[2:]
        elif before[-2:] == ["=", "="]:
            compared = before[:1]
        elif after[:2] == ["in", "["] and "]" in tokens[i:]:
            compared = tokens[i + 3 : tokens.index("]", i)]
        texts = [one[1:-1] for one in compared if one[:1] in ("'", '"') and len(one) > 2]
        result.setdefault(word, []).extend(one for one in texts if one not in result[word])
    return {name: texts for name, texts in result.items() if texts}


def _names(text: str) -> list[str]:
    tokens = tokens_of(text)
    return [
        word
        for before, word, after in zip(["", *tokens], tokens, [*tokens[1:], ""], strict=False)
        if before != "." and after != "("
    ]


def tokens_of(text: str) -> list[str]:
    """Split a condition into its words, without blanks and comments."""
    return [t for t in _TOKEN.findall(text) if not t.isspace() and not t.startswith("//")]


def _looked_through(text: str) -> tuple[set[str], Cost]:
    """(its variables, what it costs); refuses what is unknown or not bounded."""
    tokens = tokens_of(text)
    if tokens.count("+") > SUMS_MAX:
        raise InvalidValue("condition", f"adds more than {SUMS_MAX} times; `total` adds a list")
    names: set[str] = set()
    bound: set[str] = set()
    cost = Cost()
    sums = 0
    opened: list[bool] = []  # for each open bracket whether it is that of a macro
    for i, word in enumerate(tokens):
        before = tokens[i - 1] if i else ""
        after = tokens[i + 1] if i + 1 < len(tokens) else ""
        if word in "([{":
            opened.append(word == "(" and before in MACROS)
            if len(opened) > DEPTH_MAX:
                raise InvalidValue("condition", f"is nested deeper than {DEPTH_MAX}")
        elif word in ")]}" and opened:
            opened.pop()
        elif word == "+" and any(opened):
            sums += 1
            if sums > 2:
                raise InvalidValue("condition", "adds more than twice inside of a list macro")
        elif re.fullmatch(r"[A-Za-z_]\w*", word) and word not in _WORDS:
            if after == "(":
                _check_function(word, any(opened), method=before == ".")
                if word == "matches":
                    cost.patterns.append(_pattern(tokens[i + 2 : i + 4]))
                if word in MACROS and i + 2 < len(tokens):
                    bound.add(tokens[i + 2])
                    cost.rounds += 1
            elif before != ".":
                names.add(word)
            _count(cost, word, inside=any(opened), called=after == "(", bound=bound)
        elif any(opened):
            cost.rounds += 1  # operators work, too
        elif word in ("==", "!=", "<", ">", "+"):
            cost.mentions += 1
    if unknown := sorted(names - bound - set(VARIABLES)):
        _compiled(text)  # a quote that is not closed makes a name of each word in a text
        close = get_close_matches(unknown[0], VARIABLES, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else "; there are " + ", ".join(VARIABLES)
        raise InvalidValue("condition", f"knows no {unknown[0]!r}{hint}")
    return names, cost


def _count(cost: Cost, word: str, *, inside: bool, called: bool, bound: set[str]) -> None:
    """Add one name of the text to what it costs."""
    helper = called and word in _HELPERS
    if not inside:
        cost.mentions += 1
        cost.calls += helper
        return
    cost.rounds += 1
    cost.inner_calls += helper
    # Of a variable that is small whatever an agent does each look is free.
    cost.inner += word in ("args", "labels") and word not in bound


def _pattern(following: list[str]) -> str:
    """The one text in the brackets after `matches`; a text that is put together is refused."""
    if len(following) < 2 or following[0][-1:] not in ("'", '"') or following[1] != ")":
        raise InvalidValue("condition", "takes a plain text in matches, such as matches('^LT')")
    return following[0]


def _check_function(name: str, inside: bool, *, method: bool) -> None:
    if operator := operator_of(name):
        raise InvalidValue("condition", f"cannot be read: write `{operator}` instead of `{name}`")
    if name not in FUNCTIONS and name not in MACROS:
        known = ", ".join(sorted(FUNCTIONS | MACROS))
        raise InvalidValue("condition", f"knows no function {name!r}; there are {known}")
    if inside and (name in MACROS or name in ("matches", "total")):
        raise InvalidValue("condition", f"may not use {name} inside of another list macro")
    if name in MACROS and not method:
        raise InvalidValue("condition", f"uses {name} without a list before it")


def _bounded(values: Mapping[str, Any]) -> None:
    for n_values, n_characters in volumes(values):
        if n_values > VALUES_MAX or n_characters > CHARACTERS_MAX:
            raise Unanswered("the arguments are too large to go through one by one")


def amount(value: Any) -> float:
    """A decimal string or a number as a number that compares as the decimal does."""
    return _double(_decimal(value))


def money(value: Any, currency: Any) -> float:
    """The amount of `{amount, currency}` in this currency, as `amount` reads it.

    Raises ValueError for another currency or none: 50 of one is not 50 of another.
    """
    if not isinstance(currency, str) or not CURRENCY.fullmatch(currency):
        raise ValueError("money takes a currency of three capital letters, such as 'EUR'")
    if not isinstance(value, Mapping) or not {"amount", "currency"} <= value.keys():
        raise ValueError("money takes a value with amount and currency")
    if value["currency"] != currency:
        raise ValueError(f"it is not in {currency}")
    return amount(value["amount"])


def total(values: Iterable[Any]) -> float:
    """The sum of decimal strings or numbers, added as decimals."""
    if not isinstance(values, list | tuple):
        raise ValueError("total takes a list")
    return _double(sum((_decimal(v) for v in values), Decimal()))


def _lower(text: Any) -> str:
    if not isinstance(text, str):
        raise ValueError("lower takes a text")
    return text.lower()


_HELPERS: Final[dict[str, Callable[..., Any]]] = {
    "amount": amount,
    "money": money,
    "total": total,
    "lower": _lower,
}


def _decimal(value: Any) -> Decimal:
    """A number or a text in the one form of a decimal; any other spelling is no amount.

    Tools read "1e3", "1_000" or digits of another script each in their own way, or not at all.
    """
    if isinstance(value, str):
        if not AMOUNT.fullmatch(value):
            raise ValueError("an amount is a number or a text such as '1234.50'")
    elif isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("an amount is a number or a text such as '1234.50'")
    # Of a double its shortest text: 0.1 is meant, not the binary fraction next to it.
    result = Decimal(str(value))
    if not result.is_finite():
        raise ValueError("an amount is a finite number")
    return result


def _double(value: Decimal) -> float:
    if len(value.normalize().as_tuple().digits) > DIGITS_MAX:
        raise ValueError(f"an amount has at most {DIGITS_MAX} digits")
    return float(value)


def _message_of(error: BaseException) -> str:
    """The first line of what the library says, without its advice."""
    text = str(error).replace("Python function call failed: ValueError: ", "")
    line = text.splitlines()[0] if text else type(error).__name__
    return line.partition(". Check ")[0].partition(". CEL does not")[0][:200]


_SAMPLE: Final[dict[str, Any]] = {
    "tool": "tool",
    "args": {},
    "undo": "none",
    "agent": "agent",
    "cost": 0.0,
    "risk": "medium",
    "labels": {},
    "operation": "",
    "started_by": "user:1",
    "node": "node",
}
