"""Verbs of `threads` that start and control."""

from __future__ import annotations

import argparse
from typing import Any
from uuid import UUID

from checkpoints import queries
from dashboard.identity.permissions import Actor
from dashboard.kit.command import verb
from dashboard.kit.terminal.arguments import add_version_argument, json_given, pair, values
from dashboard.kit.terminal.console import PersonalCommand, Usage, Verb, add_yes_argument
from dashboard.kit.terminal.tables import Table, facts
from dashboard.threads.actions import ON_THREAD
from dashboard.threads.cancel import CancelPreview, preview_cancel
from dashboard.threads.cancel import cancel as cancel_thread
from dashboard.threads.descriptions import cancel_tables, show_thread
from dashboard.threads.files import ADD_FILE
from dashboard.threads.input import INPUT
from dashboard.threads.move_up import MOVE_UP, MoveUpPreview
from dashboard.threads.reads_command import on_thread, thread_of
from dashboard.threads.signal import SIGNAL
from dashboard.threads.start import start_or_continue
from dashboard.threads.target import refuse_preview
from dashboard.threads.thread_shapes import Artifact


def print_target(command: PersonalCommand, actor: Actor, _: Any, thread: UUID) -> None:
    """Print the thread that something was done to."""
    show_thread(command, actor, thread)


def print_reference(command: PersonalCommand, _: Actor, ref: dict[str, Any], __: UUID) -> None:
    """Print what input and state take to refer to a file."""
    row = (ref["$artifact"], ref["name"], ref["media_type"], f"{ref['size']:,} bytes")
    command.show(
        Artifact(**ref), Table("File", ("$artifact", "name", "media type", "size"), (row,))
    )


def takes_values(parser: argparse.ArgumentParser) -> None:
    """Values of channels."""
    parser.add_argument("--set", action="append", default=[], metavar="CHANNEL=VALUE")
    parser.add_argument(
        "--file", action="append", default=[], metavar="CHANNEL=PATH", help="upload a file"
    )


def takes_reason(parser: argparse.ArgumentParser) -> None:
    """Add --reason, which is saved in the log."""
    parser.add_argument("--reason", default="", help="kept in the log")


def _start_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("agent", help="its name; `agent list` shows them")
    parser.add_argument("--input", default="{}", metavar="JSON|@PATH")
    takes_values(parser)
    parser.add_argument("--title", default="")
    parser.add_argument("--name", help="continue the thread of this name if there is one")
    parser.add_argument("--label", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--pause-at", default="", metavar="NODE", help="stop before this node")
    takes_config(parser)


def takes_config(parser: argparse.ArgumentParser) -> None:
    """Model, temperature, prompt texts."""
    parser.add_argument(
        "--config",
        default="{}",
        metavar="JSON|@PATH",
        help="model, temperature, prompt texts: what nodes read as ctx.config",
    )


def config_of(command: PersonalCommand) -> dict[str, Any]:
    """The object given as --config."""
    value = json_given(command.options["config"], "--config")
    if not isinstance(value, dict):
        raise Usage("--config", "must be an object")
    return value


def start(command: PersonalCommand) -> None:
    """Start a thread, or find the one of this name."""
    o, actor = command.options, command.actor("start")
    value = json_given(o["input"], "--input")
    if not isinstance(value, dict):
        raise Usage("--input", "must be an object of channels")
    if o["set"] or o["file"]:
        agent = queries.agent(o["agent"], workspace=actor.workspace)
        value |= values(actor, agent, o["set"], o["file"])
    thread, new = start_or_continue(
        actor,
        agent=o["agent"],
        input=value,
        title=o["title"],
        name=o["name"],
        labels=dict(pair("--label", word, "key=value") for word in o["label"]),
        pause_at=o["pause_at"],
        config=config_of(command),
    )
    command.say("Started." if new else "A thread of this name exists already; here it is.")
    show_thread(command, actor, thread)


def _input_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("message", nargs="?", metavar="JSON|@PATH", help="a message as JSON")
    parser.add_argument("--text", help="a message that is text, as it is")


def _message(options: dict[str, Any]) -> dict[str, Any]:
    if (options["message"] is None) == (options["text"] is None):
        raise Usage("JSON", "or --text: give one of them")
    if options["text"] is not None:
        return {"message": options["text"]}
    return {"message": json_given(options["message"], "JSON")}


def _value_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("value", nargs="?", metavar="JSON|@PATH", help="what the wait answers")


def _value(options: dict[str, Any]) -> dict[str, Any]:
    value = options["value"]
    return {} if value is None else {"value": json_given(value, "JSON")}


def _cancel_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--undo", action="store_true", help="undo its effects, most recent first")
    parser.add_argument(
        "--undo-unknown",
        action="store_true",
        help="with --undo: also what may have happened, where it has an undo",
    )
    parser.add_argument("--preview", action="store_true", help="only say what it would do")


def cancel(command: PersonalCommand) -> None:
    """End a thread; with --undo show the plan and ask. Say what is undone and what stays."""
    o = command.options
    actor, thread = thread_of(command, "cancel")
    how = {"undo_effects": o["undo"], "undo_unknown": o["undo_unknown"]}
    version = o["version"]
    if o["preview"] or (o["undo"] and not o["yes"]):
        plan = preview_cancel(actor, thread.id, o["reason"], **how)
        refuse_preview(actor, "cancel", thread.id, version)
        if o["preview"]:
            command.show(CancelPreview.of(plan), *cancel_tables(plan))
            return
        if command.stdout.isatty() and not command.as_json:
            command.show(CancelPreview.of(plan), *cancel_tables(plan))
        else:
            command.say(f"{len(plan.undo)} of {len(plan.all_effects)} effects would be undone.")
        if not command.confirmed("Undo these and cancel?"):
            return
        # Exactly what was shown is done, or nothing.
        version = plan.version if version is None else version
    undone = cancel_thread(actor, thread.id, o["reason"], **how, expected_version=version)
    if undone:
        n, all_of_them = len(undone.undo), len(undone.effects)
        command.say(f"A worker undoes {n} of {all_of_them} effects, most recent first.")
    elif unknown := queries.thread(thread.id, workspace=actor.workspace).status_reason:
        command.say(unknown)
    show_thread(command, actor, thread.id)


def _place_table(plan: MoveUpPreview) -> Table:
    return facts(
        "",
        [
            ("queue", plan.queue),
            ("passes", f"{plan.passes:,} of its workspace"),
            ("stay before it", f"up to {plan.workspaces:,}, one of each other workspace"),
        ],
    )


DOING = (
    Verb(
        "start",
        "start a thread, or continue the one of this name",
        start,
        _start_options,
        "threads start market-research --set question='What delays flights?' --title Delays\n"
        "threads start market-research --input @input.json --name order-17 --json",
    ),
    *(verb(one, print_target) for one in ON_THREAD),
    verb(MOVE_UP, print_target, plan_table=_place_table),
    verb(INPUT, print_target, without=["message"], beside=(_input_options, _message)),
    verb(ADD_FILE, print_reference, names={"name": ["name"]}),
    verb(
        SIGNAL,
        print_target,
        names={"name": ["name"]},
        without=["value"],
        beside=(_value_options, _value),
    ),
    Verb(
        "cancel",
        "end a thread; what it did stays done; --undo shows what it would undo and asks",
        cancel,
        on_thread(_cancel_options, takes_reason, add_version_argument, add_yes_argument),
        "threads cancel order-17 --undo --preview\n"
        "threads cancel order-17 --undo --reason 'ordered twice' --yes",
    ),
)
