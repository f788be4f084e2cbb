"""Verbs of `threads` that change the past's course: edit, fork, rollback."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any
from uuid import UUID

from checkpoints import queries
from checkpoints.views import CheckpointRow, ThreadRow
from dashboard.identity.permissions import Actor
from dashboard.kit.terminal.arguments import (
    add_version_argument,
    checkpoint_named,
    json_given,
    pair,
    values,
)
from dashboard.kit.terminal.console import REFUSED, PersonalCommand, Usage, Verb, add_yes_argument
from dashboard.kit.terminal.state_files import Changed, changed_in
from dashboard.kit.terminal.tables import table
from dashboard.threads.code import choose_code, choose_code_many
from dashboard.threads.code_changes import ChosenMany
from dashboard.threads.command import config_of, takes_config, takes_reason, takes_values
from dashboard.threads.descriptions import (
    edit_table,
    fork_table,
    patch_table,
    roll_back_tables,
    short,
    show_thread,
)
from dashboard.threads.edit import EditPreview, preview_edit
from dashboard.threads.edit import edit as edit_thread
from dashboard.threads.fork import ForkPreview, fork_point, preview_fork
from dashboard.threads.fork import fork as fork_thread
from dashboard.threads.page.code_question import CHOICES, RIGHT, alike
from dashboard.threads.reads_command import on_thread, thread_of
from dashboard.threads.roll_back import RollBackPreview, preview_roll_back, roll_back
from dashboard.threads.target import refuse_preview


def _preview_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--preview", action="store_true", help="only say what it would do")


def _changes(command: PersonalCommand, actor: Actor, thread: ThreadRow) -> dict[str, Any]:
    version = queries.agent_version(thread.agent_version_id)
    return values(actor, version, command.options["set"], command.options["file"])


def _takes_file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--from",
        dest="from_file",
        type=Path,
        metavar="FILE",
        help="a state that `threads state --yaml` or --json wrote, changed in an editor",
    )


def _from_file(
    command: PersonalCommand, thread: ThreadRow, at: CheckpointRow | None
) -> Changed | None:
    """Read the changes of the --from file; None, with a message, if there are none."""
    o = command.options
    if o["set"] or o["file"]:
        raise Usage("--from", "and --set or --file exclude each other")
    changed = changed_in(o["from_file"], thread, at=at)
    if not changed.changes:
        command.say("The file says what the state says; nothing was done.")
        return None
    return changed


def _agreed(command: PersonalCommand, patch: Any, question: str) -> bool:
    """Show the difference, ask."""
    if command.stdout.isatty() and not command.as_json:
        patch_table(patch).draw(command.stdout)
    else:
        for op in patch:
            command.say(f"{op['op']} {op['path']} {short(op['value']) if 'value' in op else ''}")
    return command.confirmed(question)


def edit(command: PersonalCommand) -> None:
    """Write new values over the head."""
    o = command.options
    actor, thread = thread_of(command, "edit")
    version = o["version"]
    if o["from_file"]:
        head = queries.checkpoint(thread.id, thread.head)
        changed = _from_file(command, thread, head)
        if changed is None:
            return
        changes = changed.changes
        if not o["preview"]:
            plan = preview_edit(actor, thread.id, changes)
            if not _agreed(command, plan.patch, "Write this over the head?"):
                return
            # Exactly what was shown is done, or nothing.
            version = thread.version if version is None else version
    else:
        changes = _changes(command, actor, thread)
    if o["preview"]:
        plan = preview_edit(actor, thread.id, changes, version, o["reason"])
        refuse_preview(actor, "edit", thread.id, version)
        command.show(EditPreview.of(plan), edit_table(plan), patch_table(plan.patch))
        return
    edit_thread(actor, thread.id, changes, o["reason"], version)
    show_thread(command, actor, thread.id)


def _fork_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--checkpoint", default="", help="number or id; else the head")
    takes_values(parser)
    parser.add_argument("--title", default="")
    parser.add_argument(
        "--effects",
        choices=("ask", "run"),
        default="ask",
        help="stop before the first effect (ask), or not (run)",
    )
    takes_config(parser)
    parser.add_argument(
        "--instead-of",
        metavar="ACTIVITY",
        help="a finished call: fork before its step with another output, see --output",
    )
    parser.add_argument("--output", metavar="JSON|@PATH", help="what that call answers instead")
    parser.add_argument(
        "--budget",
        action="append",
        default=[],
        metavar="LIMIT=N",
        help="pause the fork there: cost=0.50, tokens=2000, steps=5",
    )


def _more(command: PersonalCommand) -> dict[str, Any]:
    """The budget and the exchanged output, where they are given."""
    o = command.options
    more: dict[str, Any] = {}
    for word in o["budget"]:
        name, text = pair("--budget", word, "limit=number")
        if name != "cost" and not (text.isascii() and text.isdecimal() and len(text) < 16):
            raise Usage("--budget", f"{name} must be a whole number")
        more.setdefault("budget", {})[name] = text if name == "cost" else int(text)
    if (o["instead_of"] is None) != (o["output"] is None):
        raise Usage("--instead-of", "and --output belong together")
    if o["instead_of"] is not None:
        try:
            call = UUID(o["instead_of"])
        except ValueError:
            raise Usage("--instead-of", "must be the id of an activity") from None
        more |= {"instead_of": call, "output": json_given(o["output"], "--output")}
    return more


def fork(command: PersonalCommand) -> None:
    """Begin a new thread from a checkpoint of this one."""
    o = command.options
    actor, thread = thread_of(command, "fork")
    value = checkpoint_named(thread.id, o["checkpoint"]) if o["checkpoint"] else None
    more, config = _more(command), config_of(command)
    named = value.id if value else None
    target = fork_point(actor, thread.id, named, more.get("instead_of"))
    if o["from_file"]:
        changed = _from_file(command, thread, value)
        if changed is None:
            return
        target, changes = changed.point.id, changed.changes
        if not o["preview"]:
            shown = preview_fork(actor, thread.id, target, changes, config, **more)
            if not _agreed(command, shown.patch, "Fork with this?"):
                return
    else:
        changes = _changes(command, actor, thread)
    if o["preview"]:
        more |= {name: o[name] for name in ("title", "effects", "reason")}
        plan = preview_fork(actor, thread.id, target, changes, config, **more)
        command.show(ForkPreview.of(plan), fork_table(plan))
        return
    new = fork_thread(
        *(actor, thread.id, target, changes, o["title"], o["effects"], o["reason"], config),
        **more,
    )
    show_thread(command, actor, new)


def _rollback_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("checkpoint", help="number or id")
    parser.add_argument("--run-on", action="store_true", help="continue instead of pausing there")
    parser.add_argument("--keep-effects", action="store_true", help="undo nothing outside")


def rollback(command: PersonalCommand) -> None:
    """Show the plan, ask, move the head back."""
    o = command.options
    actor, thread = thread_of(command, "roll_back")
    target = checkpoint_named(thread.id, o["checkpoint"]).id
    version = o["version"]
    if o["preview"] or not o["yes"]:
        plan = preview_roll_back(actor, thread.id, target, o["reason"])
        refuse_preview(actor, "roll_back", thread.id, version)
        if o["preview"]:
            command.show(RollBackPreview.of(plan), *roll_back_tables(plan))
            return
        if command.stdout.isatty() and not command.as_json:
            command.show(RollBackPreview.of(plan), *roll_back_tables(plan))
        else:
            undone = f"{len(plan.undo)} of {len(plan.effects)} effects would be undone"
            command.say(f"Back to checkpoint {plan.target.number}: {undone}.")
        if not command.confirmed("Roll back?"):
            return
        # Exactly what was shown is done, or nothing.
        version = plan.version if version is None else version
    undo = not o["keep_effects"]
    roll_back(actor, thread.id, target, o["reason"], version, o["run_on"], compensate=undo)
    show_thread(command, actor, thread.id)


def _code_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("choice", choices=CHOICES, help="what happens to the thread")
    parser.add_argument(
        "--alike", action="store_true", help="and of all threads that ask the very same"
    )


def code(command: PersonalCommand) -> None:
    """Choose which code continues a thread."""
    o = command.options
    choice = o["choice"]
    actor, thread = thread_of(command, RIGHT[choice])
    if o["alike"]:
        done = choose_code_many(actor, alike(actor, thread) or [thread.id], choice)
        rows = ((c.thread, c.goes_on or "-", c.error.detail if c.error else choice) for c in done)
        columns = ("thread", "continues", "outcome")
        command.show(ChosenMany.from_row(done), table("", columns, rows))
        if any(c.error for c in done):
            raise SystemExit(REFUSED)
        return
    result = choose_code(actor, thread.id, choice, expected_version=o["version"])
    show_thread(command, actor, result)


CHANGING = (
    Verb(
        "code",
        "choose which code continues a thread whose agent changed: pin, accept, fork, unpin",
        code,
        on_thread(_code_options, add_version_argument),
        "threads code order-17 pin\nthreads code order-17 accept --alike",
    ),
    Verb(
        "edit",
        "write new values over the head; open requests are withdrawn",
        edit,
        on_thread(
            takes_values,
            takes_reason,
            add_version_argument,
            _preview_option,
            _takes_file,
            add_yes_argument,
        ),
        "threads edit demo-flights --set question='And in winter?' --reason 'asked wrongly'\n"
        "threads edit demo-flights --from state.yaml --reason 'asked wrongly'",
    ),
    Verb(
        "fork",
        "start a new thread from a checkpoint of this one, which stays as it is",
        fork,
        on_thread(_fork_options, takes_reason, _preview_option, _takes_file, add_yes_argument),
        "threads fork demo-flights --checkpoint 2 --set limit=5 --preview\n"
        "threads fork demo-flights --checkpoint 2 --title 'What if'\n"
        "threads fork demo-flights --from state.yaml --yes\n"
        "threads fork demo-flights --checkpoint 2 --budget cost=0.50 --budget steps=5\n"
        "threads fork demo-flights --instead-of ACTIVITY --output @other.json",
    ),
    Verb(
        "rollback",
        "move the head back and undo effects, most recent first; shows the plan and asks",
        rollback,
        on_thread(
            _rollback_options, takes_reason, add_version_argument, _preview_option, add_yes_argument
        ),
        "threads rollback demo-flights 2 --preview\n"
        "threads rollback demo-flights 2 --reason 'wrong data' --yes",
    ),
)
