"""Questions to the record as people write them: one reading for page, API and command."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Final
from uuid import UUID

from django.contrib.auth import get_user_model

from approvals import records
from approvals.records import NOTABLE, Answers, Question
from approvals.states import RISKS, VERDICTS
from checkpoints.errors import InvalidValue
from checkpoints.state import deltas
from dashboard.errors import Invalid, translated
from dashboard.identity.permissions import Actor, require
from dashboard.wording.amounts import AMOUNTS
from dashboard.wording.parties import PAYEES

TEXT_MAX: Final = 200
STEP_MAX: Final = 999_999_999
EVERYTHING, WITHOUT_STEPS = "all", "notable"
# What can be asked, by the names of the parameters, each with what it takes.
FILTERS: Final[Mapping[str, str]] = {
    "q": "Words that stand in a proposal, its arguments, a comment or a reason.",
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


@translated()
def ask(actor: Actor, filters: Mapping[str, str], *, cursor: str = "", limit: int = 50) -> Answers:
    """Events of the actor's workspace that fit every filter, newest first."""
    require(actor, "read")
    try:
        return records.answer(question_of(actor.workspace, filters), cursor=cursor, limit=limit)
    except InvalidValue as error:
        # The name of a parameter, not a path within a body.
        raise Invalid(error.path, error.reason) from error


def question_of(workspace: UUID, filters: Mapping[str, str]) -> Question:
    """The question that texts by the names of FILTERS ask; raises Invalid with the name."""
    values = {name: _text(name, filters.get(name, "")) for name in FILTERS}
    return Question(
        workspace,
        thread=_thread(values["thread"]),
        agent=values["agent"],
        kinds=_kinds(values["kind"]),
        actors=_actors(values["actor"]),
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
        amount = Decimal(value.replace(",", ""))
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
        at = datetime.fromisoformat(value)
        return at if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise Invalid(name, "must be a date or time such as 2026-11-26") from error
