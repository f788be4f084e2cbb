"""Regular expressions that others wrote: asked as they read, and never for long."""

from __future__ import annotations

import random
import re
import time

import pytest

from checkpoints.state.json_schemas import expressions

# Without bounds most of them take years.
SECONDS = 120.0


@pytest.mark.parametrize(
    ("expression", "fits", "not_"),
    [
        (r"^[a-z]+$", "abc", "abc1"),
        ("b", "abc", "ac"),
        (r"^\d{4}-\d{2}$", "2026-11", "2026-1"),
        (r"^(?=.*[A-Z])(?=.*\d).{8,}$", "Passw0rd!", "password1"),
        (r"^(.)x\1$", "axa", "axb"),
        (r"^\w{1,64}$", "gatepost", "gate post"),
        (r"\bpay\b", "to pay now", "repayment"),
        (r"^[]a-c]+$", "a]b", "d"),
    ],
)
def test_a_text_fits_as_the_expression_reads(expression: str, fits: str, not_: str) -> None:
    assert expressions.is_match(expression, fits)
    assert not expressions.is_match(expression, not_)


@pytest.mark.parametrize("expression", ["(", "[", "a{2,1}", "(?P<a>b)(?P<a>c)", "*"])
def test_what_is_none_is_told(expression: str) -> None:
    with pytest.raises(re.error):
        expressions.check(expression)


@pytest.mark.parametrize(
    "expression",
    [
        r"^(a+)+$", r"^(a|a)*$", r"^(a|aa)+$", r"^(a+)+(?=b)", r"^(?:a+){20}(?!b)c",
        r"^(?=(a+)+$)b", r"^(a*)*\1$", r"^(?>a*)(?:a|a?)+$", r"(?x)(a+) +(?=b)",
        r"a*a*a*a*a*a*(?=b)", r"(a|a)(a|a)(a|a)(a|a)(a|a)(a|a)(?=b)" * 4, r"(?=b)" + "a?" * 500,
        r"[](]a+(?=b)" + "a*" * 40, r"[\w\d\s]{900}", r"(\w{50}){50}", r"((.{0,99}){0,99}){0,99}",
        "(" * 900 + "a" + ")*" * 900, "[" * 5_000,
    ],
)  # fmt: skip
def test_none_takes_long(expression: str) -> None:
    began = time.perf_counter()
    for text in ("", "a" * 40 + "!", "a" * 5_000 + "!"):
        try:
            assert expressions.is_match(expression, text) in (True, False)
        except (expressions.TooCostly, re.error, RecursionError):
            pass
    assert time.perf_counter() - began < SECONDS


@pytest.mark.slow
def test_none_of_many_made_up_ones_takes_long_and_both_engines_agree() -> None:
    random_ = random.Random(16)
    atoms = ("a", "b", "[ab]", "[^a]", ".", r"\d", "(a|ab)", "(?=a)", "(?!b)", "(a*)", r"\.", "|")
    counts = ("", "", "", "*", "+", "?", "{2}", "{1,3}", "{2,}", "+?")
    compared = refused = 0
    for _ in range(2_000):
        parts = [
            random_.choice(atoms) + random_.choice(counts) for _ in range(random_.randint(1, 7))
        ]
        expression = "".join(parts)
        if random_.random() < 0.3:
            expression = f"({expression})" + random_.choice(counts)
        text = "".join(random_.choice("ab1.") for _ in range(random_.choice((3, 8, 40))))
        began = time.perf_counter()
        try:
            result = expressions.is_match(expression, text)
        except (expressions.TooCostly, re.error):
            refused += 1
            result = None
        assert time.perf_counter() - began < SECONDS, (expression, text)
        if result is not None and len(text) < 9:
            compared += 1
            assert result == (re.search(expression, text) is not None), (expression, text)
    assert compared > 500, (compared, refused)
    assert refused > 100, (compared, refused)
