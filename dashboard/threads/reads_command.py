"""Verbs of `threads` that only look."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

from django.db import InterfaceError, OperationalError, connection

from checkpoints import queries
from checkpoints.views import CheckpointRow, EventRow, ThreadRow
from dashboard.documents.json_text import json_of
from dashboard.documents.state_document import state_answer
from dashboard.documents.yaml_text import yaml_of
from dashboard.fields.thread_filters import THREADS, selection_of
from dashboard.html.comparison.compare import compare
from dashboard.html.comparison.endings import ending_of
from dashboard.identity.people import people
from dashboard.identity.permissions import Actor
from dashboard.kit.filters import add_options, read_options
from dashboard.kit.terminal.arguments import (
    checkpoint_named,
    number_from,
    thread_named,
)
from dashboard.kit.terminal.console import PersonalCommand, Usage, Verb
from dashboard.kit.terminal.tables import facts, table
from dashboard.threads.answers import diff_answer, events_answer
from dashboard.threads.descriptions import patch_table, short, show_thread
from dashboard.threads.page.memory import state_in_memory
from dashboard.threads.thread_shapes import (
    ActivityList,
    Checkpoint,
    CheckpointList,
    Thread,
    ThreadList,
)
from dashboard.wording.events import event_sentence
from dashboard.wording.text import span
from dashboard.wording.usages import seconds_taken

FOLLOW_SECONDS = 0.5
BATCH = 200
SEQ_MAX = 2**62


def thread_argument(parser: argparse.ArgumentParser) -> None:
    """Which thread."""
    parser.add_argument("thread", help="id, how it begins, or name")


def on_thread(
    *more: Callable[[argparse.ArgumentParser], None],
) -> Callable[[argparse.ArgumentParser], None]:
    """The thread, then further options."""

    def declare(parser: argparse.ArgumentParser) -> None:
        thread_argument(parser)
        for one in more:
            one(parser)

    return declare


def limit_option(default: int, high: int) -> Callable[[argparse.ArgumentParser], None]:
    """Declare --limit, the number of rows."""

    def declare(parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--limit", type=number_from(1, high), default=default, help=f"rows ({default})"
        )

    return declare


def thread_of(command: PersonalCommand, action: str = "read") -> tuple[Actor, ThreadRow]:
    """Read the acting person and the thread that the command names."""
    actor = command.actor(action)
    ident = thread_named(actor, command.options["thread"])
    return actor, queries.thread(ident, workspace=actor.workspace)


# --- list, show ----------------------------------------------------------------------------------


def _list_options(parser: argparse.ArgumentParser) -> None:
    add_options(parser, THREADS)
    parser.add_argument("--cursor", default="", help="where the page before ended")
    limit_option(30, 1_000)(parser)


def list_threads(command: PersonalCommand) -> None:
    """A page of threads."""
    o, actor = command.options, command.actor("read")
    selection = selection_of(read_options(THREADS, o))
    page = queries.threads(
        selection,
        workspace=actor.workspace,
        limit=o["limit"],
        after=o["cursor"],
        look=queries.LIST_LOOK,
    )
    rows = [
        (t.id, t.status, f"{t.status_since:%Y-%m-%d %H:%M:%S}", t.agent, t.step, t.title)
        for t in page.rows
    ]
    columns = ("thread", "status", "since", "agent", "step", "title")
    results = [Thread.of(t) for t in page.rows]
    command.show(
        ThreadList(results=results, next_cursor=page.next_cursor), table("", columns, rows)
    )
    if not rows and page.next_cursor and not command.as_json:
        command.say(f"None among the threads searched. Search on: --cursor {page.next_cursor}")
    elif not rows:
        command.say("No threads.")
    elif page.next_cursor and not command.as_json:
        command.say(f"There are more: --cursor {page.next_cursor}")


def show(command: PersonalCommand) -> None:
    """One thread."""
    actor, row = thread_of(command)
    show_thread(command, actor, row.id, state=True)


# --- the past ------------------------------------------------------------------------------------


def _event_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--after", type=number_from(0, SEQ_MAX), default=0, help="a sequence number"
    )
    parser.add_argument("--kind", default="", help="kinds or nouns, by commas")
    parser.add_argument(
        "--follow", action="store_true", help="keep printing new events until the thread is done"
    )
    limit_option(100, 10_000)(parser)


def events(command: PersonalCommand) -> None:
    """List events, oldest first."""
    o = command.options
    actor, row = thread_of(command)
    kinds = [kind for kind in o["kind"].split(",") if kind]
    if o["follow"]:
        _follow(command, actor, row, kinds)
        return
    rows = queries.events_after(row.id, o["after"], limit=o["limit"] + 1, kinds=kinds)
    answer = events_answer(rows, after=o["after"], limit=o["limit"])
    columns = ("seq", "at", "kind", "what")
    names = people(e.actor for e in rows)
    shown = [_event_cells(e, names) for e in rows[: o["limit"]]]
    command.show(answer, table("", columns, shown))
    if answer.next_cursor and not command.as_json:
        command.say(f"There are more: --after {answer.next_cursor}")


def _event_cells(event: EventRow, names: dict[str, str]) -> tuple[object, ...]:
    return event.seq, f"{event.at:%H:%M:%S.%f}"[:12], event.kind, event_sentence(event, names)


def _follow(command: PersonalCommand, actor: Actor, row: ThreadRow, kinds: list[str]) -> None:
    """Print events as they come, each once, in order; JSON Lines with --json."""
    seq, warned = int(command.options["after"]), False
    while True:
        try:
            # Read before the events: what comes between the two is shown in the next turn.
            live = queries.thread(row.id, workspace=actor.workspace).live
            result = queries.events_after(row.id, seq, limit=BATCH, kinds=kinds)
            names = people(e.actor for e in result)
            warned = False
        except (OperationalError, InterfaceError):
            connection.close()
            if not warned:
                command.say("The database does not answer; trying again.")
            warned = True
            time.sleep(FOLLOW_SECONDS)
            continue
        for event in result:
            seq = event.seq
            if command.as_json:
                line = json.dumps(json.loads(json_of(event)))
            else:
                cells = table("", ("",) * 4, [_event_cells(event, names)]).rows[0]
                line = f"{cells[0]:>5}  {cells[1]}  {cells[2]:<22}  {' '.join(cells[3].split())}"
            command.stdout.write(line)
        command.stdout.flush()
        if len(result) == BATCH:
            continue
        if not live:
            return
        time.sleep(FOLLOW_SECONDS)


def _checkpoint_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--before", type=number_from(0, 2**31 - 1), help="a checkpoint's number")
    limit_option(50, 1_000)(parser)


def checkpoints(command: PersonalCommand) -> None:
    """A thread's own checkpoints."""
    o = command.options
    _, row = thread_of(command)
    page = queries.checkpoints(row.id, limit=o["limit"], before=o["before"])
    answer = CheckpointList(
        results=[Checkpoint.of(c) for c in page.rows], next_cursor=page.next_cursor
    )
    columns = ("number", "step", "source", "at", "nodes", "next", "bytes", "note", "checkpoint")
    command.show(answer, table("", columns, (_checkpoint_cells(c, row) for c in page.rows)))
    if row.not_kept and not command.as_json:
        command.say(row.not_kept)
    if page.next_cursor and not command.as_json:
        command.say(f"There are more: --before {page.next_cursor}")


def _checkpoint_cells(c: CheckpointRow, thread: ThreadRow) -> tuple[object, ...]:
    note = "head" if c.id == thread.head else "left behind" if c.abandoned else ""
    at = f"{c.created_at:%Y-%m-%d %H:%M:%S}"
    nodes, following = ", ".join(c.nodes), ", ".join(c.next_nodes)
    return c.number, c.step, c.source, at, nodes, following, c.state_bytes, note, c.id


def activities(command: PersonalCommand) -> None:
    """List recorded activities, newest first."""
    _, row = thread_of(command)
    rows = queries.activities(row.id, limit=command.options["limit"])
    columns = ("step", "node", "kind", "tool", "state", "took", "tries", "result")
    shown = (
        (
            a.step,
            a.node,
            a.kind,
            a.tool,
            a.state,
            "" if (seconds := seconds_taken(a)) is None else span(seconds),
            a.attempts,
            a.error or short(a.result, 100),
        )
        for a in rows
    )
    answer = ActivityList(results=rows)
    command.show(answer, table("", columns, shown))
    if not rows:
        command.say(row.not_kept or "Nothing is recorded yet.")


def _state_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--checkpoint", default="", help="number or id; else the head")
    parser.add_argument("--yaml", action="store_true", help="the same answer as --json, in YAML")


def state(command: PersonalCommand) -> None:
    """The whole state at a checkpoint."""
    o = command.options
    if o["yaml"] and o["as_json"]:
        raise Usage("--yaml", "and --json exclude each other")
    _, row = thread_of(command)
    if row.is_ephemeral and not o["checkpoint"]:
        answer, where = state_in_memory(row), "State in memory"
    else:
        point = checkpoint_named(row.id, o["checkpoint"] or str(row.head))
        answer = state_answer(row, point)
        where = f"State at checkpoint {point.number} (step {point.step})"
    if o["yaml"]:
        text = yaml_of(json.loads(json_of(answer))).decode()
        command.stdout.write(text, ending="")
        return
    shown = ((channel, short(value, 100_000)) for channel, value in answer.state.items())
    command.show(answer, facts(where, shown))
    if row.not_kept and not command.as_json:
        command.say(row.not_kept)


def _diff_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--from", dest="old", required=True, metavar="CHECKPOINT")
    parser.add_argument("--to", dest="new", default="", metavar="CHECKPOINT", help="else the head")
    parser.add_argument("--to-thread", default="", metavar="THREAD", help="a fork, for example")


def diff(command: PersonalCommand) -> None:
    """Show the differences between two checkpoints, and where their paths diverge."""
    o = command.options
    actor, row = thread_of(command)
    other = row
    if o["to_thread"]:
        ident = thread_named(actor, o["to_thread"])
        other = queries.thread(ident, workspace=actor.workspace)
    old = checkpoint_named(row.id, o["old"])
    new = checkpoint_named(other.id, o["new"] or str(other.head))
    result, ending = compare(old, new), ending_of(row, old, other, new)
    ends: list[tuple[str, Any]] = [
        ("common", result.common and f"checkpoint {result.common.number}")
    ]
    for name, event in (("from", result.old_event), ("to", result.new_event)):
        ends.append((name, event and f"event {event.seq}: {event_sentence(event)}"))
    step = result.diverged.step
    ends.append(("differ", "nowhere" if step is None else f"in step {step}"))
    if ending is not None:
        ends.append(("ending", ending.words))
    payload = facts("Ways", ((name, value or "ends there") for name, value in ends))
    patch = result.patch
    command.show(diff_answer(result, ending), patch_table(patch), payload)
    if not patch:
        command.say("The two states are the same.")


LOOKING = (
    Verb(
        "list",
        "list threads, those that moved most recent first",
        list_threads,
        _list_options,
        "threads list --status waiting,attention\nthreads list --json | jq -r '.results[].id'",
    ),
    Verb("show", "show a thread, what it waits for and its state", show, thread_argument),
    Verb(
        "events",
        "show what happened, oldest first",
        events,
        on_thread(_event_options),
        "threads events 0199a3 --kind approval,effect\nthreads events demo-flights --follow",
    ),
    Verb(
        "checkpoints",
        "list a thread's own checkpoints, newest first",
        checkpoints,
        on_thread(_checkpoint_options),
    ),
    Verb(
        "activities",
        "list calls, effects and finished nodes, newest first",
        activities,
        on_thread(limit_option(50, 1_000)),
    ),
    Verb(
        "state",
        "show the whole state at a checkpoint",
        state,
        on_thread(_state_options),
        "threads state demo-flights --checkpoint 2\nthreads state demo-flights --yaml > state.yaml",
    ),
    Verb(
        "diff",
        "show what differs between two checkpoints",
        diff,
        on_thread(_diff_options),
        "threads diff demo-flights --from 2\nthreads diff 0199a3 --from 2 --to-thread 0199b7",
    ),
)
