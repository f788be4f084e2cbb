"""`./manage.py breaker ...`: stop many threads, and release them."""

from __future__ import annotations

from uuid import UUID

from dashboard.board.breaker_actions import (
    RELEASE,
    TRIP,
    BreakerPreview,
    BreakerReleased,
    TripBreaker,
)
from dashboard.board.breakers import Breaker, BreakerList, breakers
from dashboard.fields.thread_filters import selection_words
from dashboard.identity.permissions import Actor
from dashboard.kit.command import verb
from dashboard.kit.terminal.console import PersonalCommand, Verb, VerbsCommand
from dashboard.kit.terminal.tables import Table, table


def list_breakers(command: PersonalCommand) -> None:
    """Open breakers, then those that were released."""
    shown = breakers(command.actor("read"))
    command.show(BreakerList(results=shown), _table(*shown))
    if not any(one.closed_at is None for one in shown):
        command.say("No breaker is open.")


def _table(*shown: Breaker) -> Table:
    heads = ("breaker", "stops", "reason", "is", "stopped", "at work", "released")
    return table("", heads, map(_row, shown))


def _show(command: PersonalCommand, _: Actor, made: Breaker) -> None:
    command.show(made, _table(made))


def _show_released(
    command: PersonalCommand, _: Actor, result: BreakerReleased, breaker: UUID
) -> None:
    command.show(result, _table(result.breaker))


def _row(one: Breaker) -> tuple[object, ...]:
    state = "open" if one.closed_at is None else "released"
    row = (str(one.id), selection_words(one.selection), one.reason, state)
    threads = one.threads
    if threads is None:
        return (*row, "", "", "")
    return (*row, threads.stopped, threads.at_work, sum(threads.released.values()))


def _question(wanted: TripBreaker, plan: BreakerPreview) -> str:
    many = f"{plan.total:,} unfinished thread{'' if plan.total == 1 else 's'}"
    return f"Stop {selection_words(wanted.stored())}: {many}?"


class Command(VerbsCommand):
    """Breakers."""

    help = "Stops all threads or a selection, and releases them."
    examples = """
        breaker trip --reason "prices are wrong" --agent payments
        breaker list
        breaker release ID --reason "try a few" --number 5
        breaker release ID --reason "prices are right"
    """
    verbs = (
        Verb("list", "lists breakers", list_breakers),
        verb(
            TRIP,
            _show,
            plan_table=lambda plan: table("", ("status", "threads"), sorted(plan.statuses.items())),
            question=_question,
            note=lambda made: f"Release it with `breaker release {made.id} --reason ...`.",
        ),
        verb(RELEASE, _show_released),
    )
