"""Filters of the search of the records: its page, calls, commands, exports and saved views."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, Final
from uuid import UUID

from approvals import records
from approvals.records import NOTABLE
from approvals.states import RISKS, VERDICTS
from checkpoints.errors import InvalidValue
from dashboard.fields import filters
from dashboard.fields.filters import Filter, Kind
from dashboard.fields.parameters import TEXT, TEXT_MAX
from dashboard.fields.typed_values import time_in_utc, without_thousands

STEP_MAX: Final = 999_999_999
EVERYTHING, WITHOUT_STEPS = "all", "notable"
AMOUNT: Final = "must be a number such as 48200.00"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFilter(Filter):
    """A filter of events; its condition is a field of `approvals.records.questions.Question`.

    `field` is the name of that field where it differs. `folded`: the input stands among those that
    a page folds away.
    """

    field: str = ""
    folded: bool = False


def _kind(type_: type, value: Callable[[str], Any] = str, **more: Any) -> Kind:
    """A text of the form; the page shows the form again with what is wrong in it."""
    return Kind(type=type_, page=TEXT, value=value, in_address=TEXT_MAX, **more)


def _thread(word: str) -> UUID:
    try:
        return UUID(word)
    except ValueError:
        raise ValueError("must be the id of a thread") from None


def _kinds(word: str) -> tuple[str, ...]:
    if word == EVERYTHING:
        return ()
    if word == WITHOUT_STEPS:
        return NOTABLE
    try:
        return records.expand([part.strip() for part in word.split(",") if part.strip()])
    except InvalidValue as error:
        raise ValueError(error.reason) from error


def _step(word: str) -> int:
    if not (word.isascii() and word.isdecimal() and len(word) <= len(str(STEP_MAX))):
        raise ValueError("must be a whole number")
    return int(word)


def _amount(word: str) -> Decimal:
    try:
        amount = Decimal(without_thousands(word))
    except InvalidOperation:
        raise ValueError(AMOUNT) from None
    if not amount.is_finite() or abs(amount) >= Decimal(10) ** 18:
        raise ValueError(AMOUNT)
    return amount


def _since(word: str) -> datetime:
    return _time(word, whole_day=False)


def _until(word: str) -> datetime:
    return _time(word, whole_day=True)


def _time(word: str, *, whole_day: bool) -> datetime:
    try:
        if len(word) == len("2026-11-26"):
            day = datetime.combine(date.fromisoformat(word), datetime.min.time(), UTC)
            return day + timedelta(days=1) if whole_day else day
        return time_in_utc(word)
    except (ValueError, OverflowError):
        raise ValueError("must be a date or time such as 2026-11-26") from None


_TEXT: Final = _kind(str)
_ONE_VERDICT: Final = filters.one({word: word.replace("_", " ") for word in VERDICTS})
_ONE_RISK: Final = filters.one({word: word for word in RISKS})
# As they stand on the page.
RECORDS: Final = (
    RecordFilter(
        name="q",
        kind=_TEXT,
        help="Words in a proposal, its arguments, a comment or a reason.",
        field="text",
    ),
    RecordFilter(
        name="since",
        kind=_kind(datetime, _since, input="date"),
        help="A date or time (ISO 8601, UTC unless it says otherwise): from then on.",
        label="From",
    ),
    RecordFilter(
        name="until",
        kind=_kind(datetime, _until, input="date"),
        help="A date or time: before then; a date includes its day.",
        label="Until",
    ),
    RecordFilter(
        name="actor",
        kind=_TEXT,
        help="A person’s name, or an actor as the log names it (`user:7`).",
        label="Who",
        field="actors",
    ),
    RecordFilter(
        name="kind",
        kind=_kind(tuple, _kinds),
        help="Kinds (`approval.decided`) or nouns (`approval`) by commas. Without it: everything "
        "but the steps, as `notable`. With `all`: the steps as well.",
        label="What",
        unset="Hide steps",
        field="kinds",
    ),
    RecordFilter(
        name="decision",
        kind=replace(_ONE_VERDICT, page=TEXT),
        help=f"A verdict: {', '.join(VERDICTS)}.",
        label="Decision",
    ),
    RecordFilter(
        name="payee",
        kind=_TEXT,
        help="Part of a payee’s name in a proposal.",
        label="Payee",
    ),
    RecordFilter(
        name="amount_from",
        kind=_kind(Decimal, _amount, digits="decimal"),
        help="Only proposals that name this amount or more.",
        label="Amount from",
        field="least",
    ),
    RecordFilter(
        name="amount_to",
        kind=_kind(Decimal, _amount, digits="decimal"),
        help="Only proposals that name this amount or less.",
        label="Amount to",
        field="most",
    ),
    RecordFilter(
        name="agent",
        kind=_TEXT,
        help="The name of an agent.",
        label="Agent",
        folded=True,
    ),
    RecordFilter(
        name="tool",
        kind=_TEXT,
        help="A tool.",
        label="Tool",
        folded=True,
    ),
    RecordFilter(
        name="node",
        kind=_TEXT,
        help="A node of the graph.",
        label="Node",
        folded=True,
    ),
    RecordFilter(
        name="step",
        kind=_kind(int, _step, high=STEP_MAX, digits="numeric"),
        help="The number of a step.",
        label="Step",
        folded=True,
    ),
    RecordFilter(
        name="risk",
        kind=replace(_ONE_RISK, page=TEXT),
        help=f"The risk of a request: {', '.join(RISKS)}.",
        label="Risk",
        folded=True,
    ),
    RecordFilter(
        name="thread",
        kind=_kind(UUID, _thread),
        help="The id of a thread.",
        label="Thread",
        folded=True,
    ),
)
