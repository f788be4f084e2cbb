"""A condition that cannot be read is refused in words: what is wrong, where, what to write."""

from __future__ import annotations

import re

import pytest

from approvals.policies.conditions import condition
from approvals.policies.syntax_errors import in_words
from checkpoints.errors import InvalidValue

GOOD = (
    "tool == 'bank.pay' && amount(args.total) > 1000",
    "tool in ['a', 'b'] || agent.startsWith('x')",
    "args.lines.exists(l, l.iban == 'AT' && amount(l.total) >= 1.5)",
    "!(risk == 'high') && labels[\"team\"] == 'x' // why\n&& cost > 10",
)
PARSERS = re.compile(
    r"<EOF>|expecting|IDENTIFIER|Syntax error|viable|recognition|extraneous|Incomplete|<input>"
)


def refused(text: str) -> str:
    with pytest.raises(InvalidValue) as raised:
        condition(text)
    return raised.value.reason


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tool ==", "it ends too early; something must follow `==` (character 8)"),
        ("tool == 'x' &&", "something must follow `&&`"),
        ("tool = 'x'", "write `==` to compare (character 6)"),
        ("tool === 'x'", "write `==` to compare"),
        ("tool == 'x", "a text has no closing quote (character 9)"),
        ("tool == “pay”", "write straight quotes"),
        ("(tool == 'x'", "a `)` is missing at the end"),
        ("tool in ['a', 'b'", "a `]` is missing at the end"),
        ("amount(args.total > 1000", "a `)` is missing at the end"),
        ("tool == 'x')", "`)` closes nothing that is open"),
        ("tool == 'x' and agent == 'y'", "write `&&` instead of `and`"),
        ("tool == 'x' or agent == 'y'", "write `||` instead of `or`"),
        ("not tool == 'x'", "write `!` instead of `not`"),
        ("tool == 'a' & risk == 'b'", "write `&&`"),
        ("tool <> 'x'", "write `!=`"),
        ("args.total > 1,000", "write numbers without separators"),
        ("tool == 'x' risk == 'y'", "`risk` cannot follow `'x'`; join conditions"),
        ("cost > 10€", "`€` cannot be part of a condition"),
        ("&& tool == 'x'", "`&&` cannot stand here"),
        ("true &&\n tool ==", "(line 2, character 9)"),
        ("tol == 'x'", "knows no 'tol'; did you mean 'tool'?"),
    ],
)
def test_it_says_what_is_wrong_and_what_to_write(text: str, words: str) -> None:
    assert words in refused(text)


def test_no_half_condition_shows_the_parsers_text() -> None:
    """Each beginning of a good condition, and each without one of its characters."""
    reasons = {}
    for good in GOOD:
        halves = {good[:i] for i in range(1, len(good))}
        halves |= {good[:i] + good[i + 1 :] for i in range(len(good))}
        for text in halves:
            try:
                condition(text)
            except InvalidValue as error:
                reasons[text] = error.reason
    assert len(reasons) > 150
    wrong = {t: r for t, r in reasons.items() if PARSERS.search(r) or len(r) > 250}
    assert wrong == {}


def test_a_message_without_a_place_is_not_shown() -> None:
    assert in_words("tool", "whatever") == "it is not a condition"
