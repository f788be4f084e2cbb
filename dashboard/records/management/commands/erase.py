"""`./manage.py erase ...`: erase the content of threads, with a second person; legal holds."""

from __future__ import annotations

import argparse
from uuid import UUID

from checkpoints.queries.erasures.requests import ErasureRow, HoldRow
from dashboard.identity.permissions import Actor
from dashboard.kit.action import read
from dashboard.kit.command import verb
from dashboard.kit.terminal.arguments import thread_named
from dashboard.kit.terminal.console import PersonalCommand, Verb, VerbsCommand, add_yes_argument
from dashboard.kit.terminal.tables import Table, facts, table
from dashboard.records import erasures, legal_holds
from dashboard.records.erase import (
    DECIDE_ERASURE,
    ERASE,
    ERASURE,
    DecideErasure,
    ErasurePreview,
    ErasureScope,
    RequestErasure,
)
from dashboard.records.legal_holds import HOLD, LIFT_HOLD


def list_erasures(command: PersonalCommand) -> None:
    """Requests that wait, then the others."""
    shown = erasures.list_erasures(command.actor("read"))
    command.show(shown, _table(*shown.results))


def preview(command: PersonalCommand) -> None:
    """Describe what an erasure would drop."""
    actor = command.actor("request_erasure")
    thread = thread_named(actor, command.options["thread"])
    plan = ERASE.plan(actor, read(ErasureScope, {"scope": command.options["scope"]}), thread)
    command.show(plan, _plan(ErasurePreview.model_validate(plan)))


def approve(command: PersonalCommand) -> None:
    """Approve a request and erase."""
    actor = command.actor("erase")
    ident = ERASURE.find(actor, command.options["erasure"])
    n = erasures.erasure(actor, ident).n_threads
    if command.confirmed(f"Erase the content of {n:,} thread{'' if n == 1 else 's'} for good?"):
        _decide(command, actor, ident, "approve", command.options["comment"])


def refuse(command: PersonalCommand) -> None:
    """Refuse a request; nothing is erased."""
    actor = command.actor("erase")
    ident = ERASURE.find(actor, command.options["erasure"])
    _decide(command, actor, ident, "refuse", command.options["reason"])


def list_holds(command: PersonalCommand) -> None:
    """Legal holds that are set, then those that were."""
    shown = legal_holds.list_holds(command.actor("read"))
    command.show(shown, _holds(*shown.results))


def _show(command: PersonalCommand, _: Actor, made: ErasureRow, __: UUID) -> None:
    command.show(made, _table(made))


def _show_hold(command: PersonalCommand, _: Actor, made: HoldRow, __: UUID) -> None:
    command.show(made, _holds(made))


def _decide(
    command: PersonalCommand, actor: Actor, ident: UUID, verdict: str, comment: str
) -> None:
    wanted = DecideErasure.model_validate({"verdict": verdict, "comment": comment})
    made = DECIDE_ERASURE.run(actor, wanted, ident)
    _show(command, actor, erasures.erasure(actor, ident), ident)
    command.say(DECIDE_ERASURE.done(wanted, made))


def _question(_: RequestErasure, plan: ErasurePreview) -> str:
    n = len(plan.threads)
    return f"Request the erasure of {n:,} thread{'' if n == 1 else 's'}, {plan.rows:,} rows?"


def _table(*shown: ErasureRow) -> Table:
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


def _holds(*shown: HoldRow) -> Table:
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


def _preview_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("thread", help="id, how it begins, or name")
    parser.add_argument(
        "--scope",
        choices=("thread", "family"),
        default="thread",
        help="thread: with its forks and children; family: including its origin",
    )


def _approve_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("erasure", metavar="ID")
    parser.add_argument("--comment", default="", help="it stays in the log")
    add_yes_argument(parser)


def _refuse_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("erasure", metavar="ID")
    parser.add_argument("--reason", required=True, help="why; it stays in the log")


class Command(VerbsCommand):
    """Erasure."""

    help = (
        "Erases the content of threads and keeps the proof. One person requests it, another one "
        "approves; a legal hold forbids it."
    )
    examples = """
        erase preview 01a2f0c3 --scope family
        erase request 01a2f0c3 --reason "consent withdrawn" --yes
        erase approve ID --as admin --yes
        erase hold 01a2f0c3 --reason "case 17"
    """
    verbs = (
        Verb("list", "lists requests for erasure", list_erasures),
        Verb("preview", "counts what an erasure would drop", preview, _preview_options),
        verb(
            ERASE,
            _show,
            called="request",
            question=_question,
            note=lambda made: f"Approve it with `erase approve {made.id}`.",
        ),
        # Two verbs of one action: each takes the text of its verdict under another name.
        Verb(
            "approve",
            DECIDE_ERASURE.help,
            approve,
            _approve_options,
            DECIDE_ERASURE.examples,
            DECIDE_ERASURE.name,
        ),
        Verb("refuse", "refuses a request", refuse, _refuse_options),
        verb(HOLD, _show_hold),
        verb(LIFT_HOLD, _show_hold, called="lift"),
        Verb("holds", "lists legal holds", list_holds),
    )
