"""Verbs of `breaker`: list, trip, release."""

from __future__ import annotations

import argparse
from uuid import UUID

from dashboard import actions
from dashboard.actions.fleet import breakers
from dashboard.actions.fleet.breakers import Selection
from dashboard.api.fleet.breakers import Breaker, BreakerList, BreakerPreview, BreakerReleased
from dashboard.commands.terminal.arguments import pair
from dashboard.commands.terminal.console import PersonalCommand, Verb
from dashboard.commands.terminal.tables import Table, table
from dashboard.errors import Missing
from dashboard.wording.operations import selection_words


def list_breakers(command: PersonalCommand) -> None:
    """Open breakers, then those that were released."""
    shown = [Breaker.of(*row) for row in breakers.breakers(command.actor("read"))]
    command.tell(BreakerList(results=shown), _table(shown))
    if not any(one.closed_at is None for one in shown):
        command.say("No breaker is open.")


def trip(command: PersonalCommand) -> None:
    """Stop all threads of the workspace, or a selection."""
    o, actor = command.options, command.actor("breaker")
    selection = Selection(
        agent=o["agent"],
        framework=o["framework"],
        q=o["q"],
        labels=dict(pair("--label", word, "key=value") for word in o["label"]),
        parent=o["parent"],
        root=o["root"],
    )
    touched = actions.preview_trip(actor, selection)
    words = selection_words(selection.stored())
    if o["preview"]:
        command.tell(BreakerPreview.of(touched), _counts(BreakerPreview.of(touched)))
        return
    many = f"{touched.total:,} unfinished thread{'' if touched.total == 1 else 's'}"
    if not command.confirmed(f"Stop {words}: {many}?"):
        return
    row = actions.trip_breaker(actor, selection, o["reason"])
    made = Breaker.of(*breakers.breaker(actor, row.id))
    command.tell(made, _table([made]))
    command.say(f"Stopped. Release it with `breaker release {row.id} --reason ...`.")


def release(command: PersonalCommand) -> None:
    """Let all threads of a breaker go on, or some first."""
    o, actor = command.options, command.actor("breaker")
    row, n = actions.release_breaker(
        actor, _ident(o["breaker"]), o["reason"], number=o["number"], percent=o["percent"]
    )
    now = Breaker.of(*breakers.breaker(actor, row.id))
    command.tell(BreakerReleased(released=n, breaker=now), _table([now]))
    command.say(f"{n:,} thread{' goes' if n == 1 else 's go'} on.")


def _ident(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Missing("There is no such breaker; `breaker list` shows them.") from None


def _counts(preview: BreakerPreview) -> Table:
    return table("", ("status", "threads"), sorted(preview.statuses.items()))


def _table(shown: list[Breaker]) -> Table:
    return table(
        "",
        ("breaker", "stops", "reason", "is", "stopped", "at work", "released"),
        (
            (
                str(one.id),
                selection_words(one.selection),
                one.reason,
                "open" if one.closed_at is None else "released",
                *(
                    ("", "", "")
                    if one.threads is None
                    else (
                        one.threads.stopped,
                        one.threads.at_work,
                        sum(one.threads.released.values()),
                    )
                ),
            )
            for one in shown
        ),
    )


def _trip_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--reason", required=True, help="why; kept in the log")
    parser.add_argument("--agent", default="", help="only threads of this agent")
    parser.add_argument("--label", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--framework", default="", help="only agents written in it")
    parser.add_argument("--q", default="", metavar="TEXT", help="only titles or ids with this text")
    parser.add_argument("--parent", type=UUID, help="only children of this thread")
    parser.add_argument("--root", type=UUID, help="only the family tree of this thread")
    parser.add_argument("--preview", action="store_true", help="only count what it would stop")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def _release_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("breaker", metavar="ID")
    parser.add_argument("--reason", required=True, help="why; kept in the log")
    some = parser.add_mutually_exclusive_group()
    some.add_argument(
        "--number", type=int, help="number of threads to release first; it stays open"
    )
    some.add_argument(
        "--percent", type=int, help="percentage of threads to release first; it stays open"
    )


VERBS = (
    Verb("list", "lists breakers", list_breakers),
    Verb(
        "trip",
        "stops all threads, or a selection",
        trip,
        _trip_options,
        'breaker trip --reason "prices are wrong" --agent payments\n'
        'breaker trip --reason "stop everything" --yes',
    ),
    Verb(
        "release",
        "lets stopped threads continue",
        release,
        _release_options,
        'breaker release ID --reason "try a few" --number 5\n'
        'breaker release ID --reason "prices are right"',
    ),
)
