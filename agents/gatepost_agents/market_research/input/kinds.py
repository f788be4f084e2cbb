"""Tells by its content what a column holds: number, date, category, id or text.

Works on the different values of a column with how often each occurs, so that a long column of few
values costs little. Texts come out normalised: numbers as Python reads them, dates in ISO form.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from .tables import is_gap

# Up to this share of the values may be no number (or date) and the column still counts as one.
SLIPS = 0.02
# From this share of numbers on, a column of other text is worth a word to the person.
NEARLY = 0.5
CATEGORY_LEVELS = 1_000
ID_WORDS = frozenset({
    "id", "key", "uuid", "guid", "nr", "no", "code", "zip", "postcode", "phone", "isbn", "sku",
    "index",
})  # fmt: skip

PLAIN = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?", re.ASCII)
COMMA = re.compile(r"[+-]?(\d{1,3}(\.\d{3})+|\d+),\d+", re.ASCII)
DOTS = re.compile(r"[+-]?\d{1,3}(\.\d{3})+", re.ASCII)
SIGNED = re.compile(r"([$€£¥])?\s*([^$€£¥%]*?)\s*([%€$£¥])?")
LEADING_ZERO = re.compile(r"[+-]?0\d+", re.ASCII)
ISO = re.compile(r"(\d{4})-(\d{2})(?:-(\d{2}))?(?:[T ]\d{2}:\d{2}.*)?", re.ASCII | re.DOTALL)
YEAR_FIRST = re.compile(r"(\d{4})[./](\d{1,2})[./](\d{1,2})(\s.*)?", re.ASCII | re.DOTALL)
YEAR_LAST = re.compile(r"(\d{1,2})([./-])(\d{1,2})[./-](\d{4})(\s.*)?", re.ASCII | re.DOTALL)


@dataclass(frozen=True)
class Kind:
    """`texts[i]` is value i normalised, "" for a gap; `bad` the values that are gaps only because
    they do not fit the kind; `nearly` the share of numbers where a text column holds many."""

    kind: str
    texts: list[str]
    bad: frozenset[int] = frozenset()
    whole: bool = False
    unit: str = ""
    nearly: float = 0.0
    note: str = ""


def words_of(name: str) -> list[str]:
    """The words in a column name, in lower case: `arrDelay_min` gives arr, delay, min."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return re.findall(r"[^\W_]+", apart.lower())


def kind_of(name: str, values: Sequence[str], counts: Sequence[int], declared: str = "") -> Kind:
    """The kind of the column `name`: as `declared`, however badly that fits, or else by content."""
    trimmed = [value.strip() for value in values]
    filled = [i for i, value in enumerate(trimmed) if counts[i] and not is_gap(value)]
    total = sum(counts[i] for i in filled)
    if declared in ("", "number"):
        numbers = _numbers(trimmed, filled, counts)
        share = sum(counts[i] for i in filled if numbers.texts[i]) / total if total else 0.0
        zeros = any(LEADING_ZERO.fullmatch(trimmed[i]) for i in filled)
        if declared == "number" or (share >= 1 - SLIPS and not zeros and total):
            if not declared and _compact_dates(name, numbers, filled):
                return Kind("date", [_dashed(text) for text in numbers.texts])
            return _number_or_id(name, numbers, filled, counts, declared)
        nearly = share if share >= NEARLY and not zeros else 0.0
    else:
        nearly = 0.0
    if declared in ("", "date"):
        dates, note = _dates(trimmed, filled)
        share = sum(counts[i] for i in filled if dates[i]) / total if total else 0.0
        if declared == "date" or (share >= 1 - SLIPS and total):
            bad = frozenset(i for i in filled if not dates[i])
            return Kind("date", dates, bad, note=note)
    texts = ["" if is_gap(value) else value for value in trimmed]
    return Kind(declared or _text_kind(name, texts, filled, total), texts, nearly=nearly)


def _number_or_id(
    name: str, numbers: Kind, filled: list[int], counts: Sequence[int], declared: str
) -> Kind:
    kind = "number"
    if not declared and numbers.whole:
        results = [int(float(numbers.texts[i])) for i in filled if numbers.texts[i]]
        different = len(results) == sum(counts[i] for i in filled) and len(results) >= 20
        sequence = different and max(results) - min(results) + 1 == len(results)
        if sequence or (words_of(name) or ["index"])[-1] in ID_WORDS:
            kind = "id"
    return Kind(kind, numbers.texts, numbers.bad, numbers.whole, numbers.unit)


def _numbers(trimmed: list[str], filled: list[int], counts: Sequence[int]) -> Kind:
    """The values as numbers, in the one way of writing that fits most of them."""
    best, best_count = Kind("number", [""] * len(trimmed)), -1
    for pattern in (PLAIN, THOUSANDS, COMMA):
        texts, signs, whole = [""] * len(trimmed), set(), True
        for i in filled:
            text, sign = _bare(trimmed[i])
            if pattern.fullmatch(text) or PLAIN.fullmatch(text):
                if pattern is COMMA and ("," in text or DOTS.fullmatch(text)):
                    text = text.replace(".", "").replace(",", ".")
                texts[i] = text = text.replace(",", "")
                if abs(float(text)) == float("inf"):
                    texts[i] = ""
                    continue
                signs.add(sign)
                whole = whole and float(text).is_integer()
        count = sum(counts[i] for i in filled if texts[i])
        if count > best_count:
            unit = signs.pop() if len(signs) == 1 else ""
            bad = frozenset(i for i in filled if not texts[i])
            best, best_count = Kind("number", texts, bad, whole, unit), count
        if not best.bad:
            break
    return best


def _bare(text: str) -> tuple[str, str]:
    """A number without its currency or percent sign, and that sign."""
    if text and (text[0] in "$€£¥" or text[-1] in "$€£¥%"):
        match = SIGNED.fullmatch(text)
        if match and not (match[1] and match[3]):
            return match[2], match[1] or match[3] or ""
    return text, ""


def _compact_dates(name: str, numbers: Kind, filled: list[int]) -> bool:
    """Answer True if the numbers are dates like 20130131, in a column whose name has "date"."""
    return "date" in words_of(name) and all(_dashed(numbers.texts[i]) for i in filled)


def _dashed(text: str) -> str:
    if re.fullmatch(r"(19|20)\d{6}", text, re.ASCII) is None:
        return ""
    return _day(int(text[:4]), int(text[4:6]), int(text[6:]))


def _day(year: int, month: int, day: int) -> str:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return ""


def _dates(trimmed: list[str], filled: list[int]) -> tuple[list[str], str]:
    """The values as ISO dates ("" where one is none) and a note where day and month are a guess."""
    texts, late = [""] * len(trimmed), []
    for i in filled:
        value = trimmed[i]
        if match := ISO.fullmatch(value):
            texts[i] = value if _day(int(match[1]), int(match[2]), int(match[3] or 1)) else ""
        elif match := YEAR_FIRST.fullmatch(value):
            texts[i] = _joined(_day(int(match[1]), int(match[2]), int(match[3])), match[4])
        elif match := YEAR_LAST.fullmatch(value):
            late.append((i, match))
    if not late:
        return texts, ""
    first = any(int(result[1]) > 12 for _, result in late)
    second = any(int(result[3]) > 12 for _, result in late)
    guess = not first and not second
    month_first = second or (guess and late[0][1][2] == "/")
    for i, match in late:
        one, two = int(match[1]), int(match[3])
        month, day = (one, two) if month_first else (two, one)
        texts[i] = _joined(_day(int(match[4]), month, day), match[5])
    order = "month/day/year" if month_first else "day/month/year"
    return texts, f"dates could be read in two ways and were read as {order}" if guess else ""


def _joined(day: str, rest: str | None) -> str:
    return day + (rest or "").rstrip() if day else ""


def _text_kind(name: str, texts: list[str], filled: list[int], total: int) -> str:
    levels = len({texts[i] for i in filled})
    if levels == total >= 20:
        # Names and notes have blanks between words; keys do not.
        return "text" if any(" " in texts[i] for i in filled) else "id"
    if levels <= CATEGORY_LEVELS and levels <= max(2, total / 2):
        return "category"
    return "id" if (words_of(name) or [""])[-1] in ID_WORDS else "text"
