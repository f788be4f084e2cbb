"""The verb of `threads` that reads an encrypted channel."""

from __future__ import annotations

import argparse

from dashboard.kit.terminal.arguments import checkpoint_named
from dashboard.kit.terminal.console import PersonalCommand, Verb
from dashboard.kit.terminal.tables import facts
from dashboard.threads.descriptions import short
from dashboard.threads.reads_command import on_thread, thread_of
from dashboard.threads.reveal import reveal as reveal_channel
from dashboard.threads.reveal import revealed_answer


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("channel", help="the name of an encrypted channel")
    parser.add_argument("--checkpoint", default="", help="number or id; else the head")


def reveal(command: PersonalCommand) -> None:
    """Print the value; the log of the workspace says who read it."""
    o = command.options
    actor, thread = thread_of(command, "reveal")
    point = checkpoint_named(thread.id, o["checkpoint"] or str(thread.head))
    revealed = reveal_channel(actor, thread.id, o["channel"], point.id)
    title = f"{revealed.channel.name} at checkpoint {point.number}, {revealed.channel.words}"
    rows = [(revealed.channel.name, short(revealed.value, 100_000))]
    command.show(revealed_answer(revealed), facts(title, rows))


REVEALING = (
    Verb(
        "reveal",
        "show the value of an encrypted channel; each reading is recorded",
        reveal,
        on_thread(_options),
        "threads reveal case-17 diagnosis\nthreads reveal case-17 diagnosis --checkpoint 2 --json",
    ),
)
