"""The address of a question to the record: one reading for page, API, command and saved views."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Final
from urllib.parse import urlencode
from uuid import UUID

from django.contrib.auth import get_user_model

from approvals import records
from approvals.records import NOTABLE, Question
from approvals.states import RISKS, VERDICTS
from checkpoints.errors import InvalidValue
from checkpoints.state import deltas
from dashboard.errors import Invalid
from dashboard.fields.parameters import TEXT, address_lists, first_wrong
from dashboard.fields.typed_values import time_in_utc, without_thousands
from dashboard.wording.amounts import AMOUNTS
from dashboard.wording.parties import PAYEES

TEXT_MAX: Final = 200
STEP_MAX: Final = 999_999_999
EVERYTHING, WITHOUT_STEPS = "all", "notable"
# What can be asked, by the names of the parameters, each with what it takes.
FILTERS: Final[Mapping[str, str]] = {
    "q": "Words in a proposal, its arguments, a comment or a reason.",
    "agent": "The name of an agent.",
    "thread": "The id of a thread.",
    "kind": "Kinds (`approval.decided`) or nouns (`approval`) by commas. Without it: everything "
    "but the steps, as `notable`. With `all`: the steps as well.",
    "actor": "A person’s name, or an actor as the log names it (`user:7`).",
    "node": "A node of the graph.",
    "step": "The number of a step.",
    "tool": "A tool.",
    "decision": f"A verdict: {', '.join(VERDICTS)}.",
    "risk": f"The risk of a request: {', '.join(RISKS)}.",
    "payee": "Part of a payee’s name in a proposal.",
    "amount_from": "Only proposals that name this amount or more.",
    "amount_to": "Only proposals that name this amount or less.",
    "since": "A date or time (ISO 8601, UTC unless it says otherwise): from then on.",
    "until": "A date or time: before then; a date includes its day.",
}
# The workspace of a question that is only read.
_NOWHERE: Final = UUID(int=0)


def question_of(workspace: UUID, filters: Mapping[str, str]) -> Question:
    """The question that texts by the names of FILTERS ask; raises Invalid with the name."""
    return replace(_question(workspace, filters), actors=_actors(filters.get("actor", "").strip()))


def _question(workspace: UUID, filters: Mapping[str, str]) -> Question:
    """The question without its actors, whose names have to be looked up."""
    values = {name: _text(name, filters.get(name, "")) for name in FILTERS}
    return Question(
        workspace,
        thread=_thread(values["thread"]),
        agent=values["agent"],
        kinds=_kinds(values["kind"]),
        node=values["node"],
        step=_step(values["step"]),
        since=_time("since", values["since"]),
        until=_time("until", values["until"], whole_day=True),
        tool=values["tool"],
        decision=_word("decision", values["decision"], VERDICTS),
        risk=_word("risk", values["risk"], RISKS),
        text=values["q"],
        payee=values["payee"],
        least=_amount("amount_from", values["amount_from"]),
        most=_amount("amount_to", values["amount_to"]),
        payees=PAYEES,
        amounts=AMOUNTS,
    )


def named(filters: Mapping[str, str]) -> dict[str, str]:
    """Those of the filters that say something."""
    return {name: value for name in FILTERS if (value := filters.get(name, "").strip())}


def read_address(text: str) -> str:
    """The canonical address of a question such as `payee=ACME&decision=approve`.

    Raises Invalid, which names the word that the search does not take, or the value.
    """
    filters = _filters(text)
    try:
        _question(_NOWHERE, filters)
    except Invalid as error:
        fault = error.faults[0]
        raise Invalid("$.address", f"“{fault.path}” {fault.message}") from error
    return urlencode(named(filters))


def readable(text: str) -> tuple[str, str]:
    """(the address that can be opened, why its search shows nothing) of a saved text.

    No filter is ever left out, since the search would show more than was saved.
    """
    try:
        return read_address(text), ""
    except Invalid as error:
        return text, f"{error.faults[0].message.rstrip('.')}."


def _filters(text: str) -> dict[str, str]:
    lists = address_lists(text)
    lists.pop("p", None)  # a place in the answers, which nobody means to keep
    if wrong := first_wrong(lists.items(), dict.fromkeys(FILTERS, TEXT)):
        raise Invalid("$.address", wrong.explained("The search"))
    return {name: values[-1] for name, values in lists.items()}


def _text(name: str, value: str) -> str:
    try:
        deltas.check(value, name)
    except InvalidValue as error:
        raise Invalid(name, error.reason) from error
    if len(value) > TEXT_MAX:
        raise Invalid(name, f"is longer than {TEXT_MAX} characters")
    return value.strip()


def _thread(value: str) -> UUID | None:
    try:
        return UUID(value) if value else None
    except ValueError as error:
        raise Invalid("thread", "must be the id of a thread") from error


def _kinds(value: str) -> tuple[str, ...]:
    if value == EVERYTHING:
        return ()
    if value in ("", WITHOUT_STEPS):
        return NOTABLE
    try:
        return records.expand([word.strip() for word in value.split(",") if word.strip()])
    except InvalidValue as error:
        raise Invalid("kind", error.reason) from error


def _actors(value: str) -> tuple[str, ...] | None:
    if not value:
        return None
    users = get_user_model()._default_manager.filter(username__iexact=value)
    return (value, *(f"user:{pk}" for pk in users.values_list("pk", flat=True)))


def _step(value: str) -> int | None:
    if not value:
        return None
    if not (value.isascii() and value.isdecimal() and len(value) <= len(str(STEP_MAX))):
        raise Invalid("step", "must be a whole number")
    return int(value)


def _word(name: str, value: str, known: tuple[str, ...]) -> str:
    if value and value not in known:
        raise Invalid(name, f"knows only {', '.join(known)}")
    return value


def _amount(name: str, value: str) -> Decimal | None:
    if not value:
        return None
    try:
        amount = Decimal(without_thousands(value))
    except InvalidOperation as error:
        raise Invalid(name, "must be a number such as 48200.00") from error
    if not amount.is_finite() or abs(amount) >= Decimal(10) ** 18:
        raise Invalid(name, "must be a number such as 48200.00")
    return amount


def _time(name: str, value: str, *, whole_day: bool = False) -> datetime | None:
    if not value:
        return None
    try:
        if len(value) == len("2026-11-26"):
            day = datetime.combine(date.fromisoformat(value), datetime.min.time(), UTC)
            return day + timedelta(days=1) if whole_day else day
        return time_in_utc(value)
    except (ValueError, OverflowError) as error:
        raise Invalid(name, "must be a date or time such as 2026-11-26") from error
