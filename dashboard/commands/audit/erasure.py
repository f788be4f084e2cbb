"""Verbs of `erase`: list, preview, request, approve, refuse, hold, lift, holds."""

from __future__ import annotations

import argparse
from uuid import UUID

from dashboard import actions
from dashboard.actions.erasure import erasures
from dashboard.api.erasure.erasures import (
    Erasure,
    ErasureList,
    ErasurePreview,
    Hold,
    HoldList,
)
from dashboard.commands.terminal.arguments import thread_named
from dashboard.commands.terminal.console import PersonalCommand, Verb
from dashboard.commands.terminal.tables import Table, facts, table
from dashboard.errors import Missing


def list_erasures(command: PersonalCommand) -> None:
    """Requests that wait, then the others."""
    rows = erasures.erasures(command.actor("read"))
    shown = [Erasure.model_validate(row) for row in rows]
    command.tell(ErasureList(results=shown), _table(shown))


def preview(command: PersonalCommand) -> None:
    """Describe what an erasure would drop."""
    actor = command.actor("request_erasure")
    thread = thread_named(actor, command.options["thread"])
    plan = ErasurePreview.of(actions.preview_erasure(actor, thread, command.options["scope"]))
    command.tell(plan, _plan(plan))


def request(command: PersonalCommand) -> None:
    """Ask for an erasure; nothing is erased before somebody else approves."""
    o, actor = command.options, command.actor("request_erasure")
    thread = thread_named(actor, o["thread"])
    plan = actions.preview_erasure(actor, thread, o["scope"])
    n = len(plan.selection.threads)
    many = f"{n:,} thread{'' if n == 1 else 's'}, {plan.counts.rows:,} rows"
    if not command.confirmed(f"Request the erasure of {many}?"):
        return
    row = actions.request_erasure(actor, thread, o["scope"], o["reason"])
    made = Erasure.model_validate(row)
    command.tell(made, _table([made]))
    command.say(f"Requested. Somebody else approves it with `erase approve {row.id}`.")


def approve(command: PersonalCommand) -> None:
    """Approve a request and erase."""
    actor, ident = command.actor("erase"), _ident(command.options["erasure"])
    row = erasures.erasure(actor, ident)
    n = row.n_threads
    if not command.confirmed(f"Erase the content of {n:,} thread{'' if n == 1 else 's'} for good?"):
        return
    actions.decide_erasure(actor, ident, True, command.options["comment"])
    _tell(command, erasures.erasure(actor, ident).id)


def refuse(command: PersonalCommand) -> None:
    """Refuse a request; nothing is erased."""
    actor, ident = command.actor("erase"), _ident(command.options["erasure"])
    actions.decide_erasure(actor, ident, False, command.options["reason"])
    _tell(command, ident)


def hold(command: PersonalCommand) -> None:
    """Set a legal hold."""
    actor = command.actor("hold")
    thread = thread_named(actor, command.options["thread"])
    made = Hold.of(actions.set_hold(actor, thread, command.options["reason"]))
    command.tell(made, _holds([made]))


def lift(command: PersonalCommand) -> None:
    """Lift a legal hold."""
    actor = command.actor("hold")
    thread = thread_named(actor, command.options["thread"])
    made = Hold.of(actions.lift_hold(actor, thread, command.options["reason"]))
    command.tell(made, _holds([made]))


def list_holds(command: PersonalCommand) -> None:
    """Legal holds that are set, then those that were."""
    shown = [Hold.of(row) for row in erasures.holds(command.actor("read"))]
    command.tell(HoldList(results=shown), _holds(shown))


def _tell(command: PersonalCommand, ident: UUID) -> None:
    made = Erasure.model_validate(erasures.erasure(command.actor("read"), ident))
    command.tell(made, _table([made]))


def _ident(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Missing("There is no such erasure in this workspace.") from None


def _table(shown: list[Erasure]) -> Table:
    return table(
        "",
        ("erasure", "thread", "scope", "threads", "state", "requested by", "decided by", "reason"),
        (
            (
                *(str(one.id), str(one.thread), one.scope, one.n_threads, one.state),
                *(one.requested_by_name, one.decided_by_name, one.reason),
            )
            for one in shown
        ),
    )


def _plan(plan: ErasurePreview) -> Table:
    return facts(
        "",
        [
            ("threads", f"{len(plan.threads):,}"),
            ("forks", f"{plan.forks:,}"),
            ("not finished", f"{len(plan.unfinished):,}"),
            ("under legal hold", f"{len(plan.held):,}"),
            ("rows", f"{plan.rows:,}"),
            ("bytes", f"{plan.bytes:,}"),
            ("files", f"{plan.files:,} of {plan.file_bytes:,} bytes"),
            ("in the way", plan.obstacle or "nothing"),
        ],
    )


def _holds(shown: list[Hold]) -> Table:
    return table(
        "",
        ("thread", "is", "set by", "since (UTC)", "reason"),
        (
            (
                *(str(one.thread), "set" if one.lifted_at is None else "lifted", one.set_by),
                *(f"{one.set_at:%Y-%m-%d %H:%M}", one.reason),
            )
            for one in shown
        ),
    )


def _thread_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("thread", metavar="THREAD", help="id, or how it begins")
    parser.add_argument(
        "--scope",
        choices=("thread", "family"),
        default="thread",
        help="thread: with its forks and children; family: including its origin",
    )


def _request_options(parser: argparse.ArgumentParser) -> None:
    _thread_options(parser)
    parser.add_argument("--reason", required=True, help="why; it stays in the log")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def _approve_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("erasure", metavar="ID")
    parser.add_argument("--comment", default="", help="it stays in the log")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def _refuse_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("erasure", metavar="ID")
    parser.add_argument("--reason", required=True, help="why; it stays in the log")


def _hold_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("thread", metavar="THREAD", help="id, or how it begins")
    parser.add_argument("--reason", required=True, help="why; it stays in the log")


VERBS = (
    Verb("list", "lists requests for erasure", list_erasures),
    Verb("preview", "counts what an erasure would drop", preview, _thread_options),
    Verb(
        "request",
        "requests an erasure",
        request,
        _request_options,
        'erase request 01a2f0c3 --reason "consent withdrawn" --scope family --yes',
    ),
    Verb("approve", "approves a request and erases", approve, _approve_options, "erase approve ID"),
    Verb("refuse", "refuses a request", refuse, _refuse_options),
    Verb(
        "hold", "sets a legal hold", hold, _hold_options, 'erase hold 01a2f0c3 --reason "case 17"'
    ),
    Verb("lift", "lifts a legal hold", lift, _hold_options),
    Verb("holds", "lists legal holds", list_holds),
)
