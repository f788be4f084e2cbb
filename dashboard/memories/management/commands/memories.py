"""`./manage.py memories ...`: what agents know, listed, searched, added, corrected, deleted."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from uuid import UUID

from checkpoints.memories import MemoryRow
from dashboard.identity.permissions import Actor
from dashboard.kit.action import by_id
from dashboard.kit.command import verb
from dashboard.kit.filters import add_options, read_options
from dashboard.kit.terminal.arguments import thread_named
from dashboard.kit.terminal.console import PersonalCommand, Verb, VerbsCommand
from dashboard.kit.terminal.tables import Table, table
from dashboard.memories import reads
from dashboard.memories.actions import (
    CORRECT,
    FORGET,
    FORGET_AFTER,
    MEMORY,
    REMEMBER,
    MemoriesForgotten,
)
from dashboard.memories.filters import MEMORIES, SEARCH

FILTERS = (SEARCH, *MEMORIES)


def list_memories(command: PersonalCommand) -> None:
    """The newest memories, or what a search finds."""
    o = command.options
    chosen = read_options(FILTERS, o)
    shown = reads.list_memories(command.actor("read"), chosen, limit=o["limit"])
    command.show(shown, _table(shown.results))
    if not shown.results:
        command.say("There is no such memory.")


def show(command: PersonalCommand) -> None:
    """One memory with its former texts."""
    actor = command.actor("read")
    shown = reads.one_memory(actor, MEMORY.find(actor, command.options["memory"]))
    former = table(
        "",
        ("revision", "text", "by", "at"),
        ((one.revision, one.text[:80], one.author, one.written_at) for one in shown.former),
    )
    command.show(shown, _table([shown]), former)


def _show(command: PersonalCommand, _: Actor, shown: MemoryRow, *__: UUID) -> None:
    command.show(shown, _table([shown]))


def _show_forgotten(command: PersonalCommand, _: Actor, shown: MemoriesForgotten) -> None:
    command.show(shown, table("", ("deleted",), [(shown.forgotten,)]))


def _table(shown: Sequence[MemoryRow]) -> Table:
    return table(
        "",
        ("memory", "kind", "read by", "from", "outside", "text"),
        (
            (
                str(one.id),
                one.kind,
                f"{one.scope} {one.owner}".strip(),
                one.author,
                "yes" if one.outside else "",
                f"gone: {one.gone_reason}"[:80] if one.gone_at else one.text[:80],
            )
            for one in shown
        ),
    )


def _list_options(parser: argparse.ArgumentParser) -> None:
    add_options(parser, FILTERS)
    parser.add_argument("--limit", type=int, default=50, choices=range(1, 201), metavar="N")


def _name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("memory", metavar="ID")


class Command(VerbsCommand):
    """Memories."""

    help = "Lists and searches what agents know; adds to it, corrects and deletes."
    examples = """
        memories list --scope agent --agent payments
        memories list -q "payment terms"
        memories remember --text "Weber is paid within 30 days."
        memories forget ID --reason "It is wrong"
    """
    verbs = (
        Verb("list", "lists memories, the newest first, or searches", list_memories, _list_options),
        Verb("show", "shows a memory and its former texts", show, _name),
        verb(REMEMBER, _show, without=["metadata"]),
        verb(CORRECT, _show, without=["metadata"]),
        verb(FORGET, _show),
        verb(
            FORGET_AFTER,
            _show_forgotten,
            called="forget-after",
            finds={
                "thread": thread_named,
                "checkpoint": by_id(
                    "There is no such checkpoint; `threads checkpoints` lists them."
                ),
            },
        ),
    )
