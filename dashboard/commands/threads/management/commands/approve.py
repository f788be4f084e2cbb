"""`./manage.py approve [ID] [--verdict ...]`: see what waits for a decision, and decide it."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from uuid import UUID

from django.contrib.auth import get_user_model

from approvals import queries as gates
from approvals.queries import ApprovalRow
from approvals.states import ALLOWING, ANSWERS, UNSETTLED, WHAT_NEXT
from checkpoints.state import deltas
from dashboard import actions
from dashboard.actions.people.second_factor import checked_code
from dashboard.api.shapes.approval_detail import ApprovalDetail
from dashboard.api.shapes.approvals import Approval, ApprovalList
from dashboard.commands.terminal.arguments import json_given
from dashboard.commands.terminal.console import PersonalCommand, Usage, add_common_arguments
from dashboard.commands.terminal.tables import Table, facts, table
from dashboard.errors import Missing
from dashboard.identity.logins.confirmation import verified
from dashboard.identity.permissions import Actor, Login
from dashboard.wording.sentences import decider


class Command(PersonalCommand):
    """Without an id it lists, without a verdict it shows, with both it decides."""

    help = "Lists what waits for a decision, shows one request, or decides it."
    examples = """
        approve
        approve 0199a3
        approve 0199a3 --verdict approve --comment 'fine'
        approve 0199a3 --verdict reject --comment 'wrong address' --as manager
        approve 0199a3 --verdict reject --comment 'enough of this' --what-next roll_back
        approve 0199a3 --verdict edit --args '{"amount": "40.00"}'
        approve 0199a3 --verdict approve --code-stdin --as manager
        approve 0199a3 --verdict respond --comment 'why this supplier?'
        approve 0199a3 --take-back
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Options of the verdict."""
        add_common_arguments(parser)
        parser.add_argument("approval", nargs="?", help="id, or how it begins")
        parser.add_argument("--verdict", choices=ANSWERS)
        parser.add_argument(
            "--comment", default="", help="needed to reject and to ask the agent; kept in the log"
        )
        parser.add_argument(
            "--args",
            dest="answer",
            metavar="JSON|@PATH",
            help="the answer to a question, or with edit all arguments again",
        )
        parser.add_argument(
            "--what-next",
            default="",
            choices=WHAT_NEXT,
            help="with reject: let the agent continue, stop the thread, or stop and undo",
        )
        parser.add_argument(
            "--take-back", action="store_true", help="your decision, while it does not count yet"
        )
        parser.add_argument(
            "--hash", default="", help="the proposal_hash that was seen; else the one of now"
        )
        shown = parser.add_mutually_exclusive_group()
        shown.add_argument(
            "--password-stdin",
            action="store_true",
            help="your password on standard input, where high risk needs it",
        )
        shown.add_argument(
            "--code-stdin",
            action="store_true",
            help="a code of your second factor on standard input, in place of the password",
        )

    def act(self) -> None:
        """List, show or decide."""
        o = self.options
        if o["approval"] and o["take_back"]:
            self._take_back()
            return
        if o["approval"] and o["verdict"]:
            self._decide()
            return
        if o["verdict"] or o["take_back"]:
            option = "--verdict" if o["verdict"] else "--take-back"
            raise Usage(option, "needs the id of a request")
        actor = self.actor("read")
        if o["approval"]:
            row = _named(actor, o["approval"])
            self.tell(ApprovalDetail.read(row, actor), _table(row))
            return
        page = gates.approvals(workspace=actor.workspace, limit=200)
        rows = page.rows
        results = [Approval.from_row(row, actor) for row in rows]
        self.tell(
            ApprovalList(results=results, next_cursor=page.next_cursor),
            table("", ("approval", "since", "risk", "agent", "title"), map(_line, rows)),
        )
        if not rows:
            self.say("Nothing is waiting for a decision.")
        elif page.next_cursor:
            self.say(f"These are the oldest {len(rows)}; decide some to see the others.")

    def _decide(self) -> None:
        o, actor = self.options, self.actor("decide")
        row = _named(actor, o["approval"])
        if o["password_stdin"] or o["code_stdin"]:
            user = get_user_model()._default_manager.get(pk=actor.user_id)
            line = sys.stdin.readline().rstrip("\n")
            check = checked_code if o["code_stdin"] else verified
            at = check(None, user, line)
            actor = replace(actor, login=Login("", at))
        done = actions.decide(
            actor,
            row.id,
            o["verdict"],
            o["hash"] or row.standing_hash,
            o["comment"],
            None if o["answer"] is None else json_given(o["answer"], "--args"),
            o["what_next"],
        )
        if done.status == "held":
            self.say(f"It counts from {done.effective_at:%H:%M:%S} on; --take-back undoes it.")
        elif done.open and o["verdict"] in ALLOWING:
            self.say("Recorded. Others still have to approve.")
        elif done.open:
            self.say("Asked. The request stays open.")
        self._tell(actor, done)

    def _take_back(self) -> None:
        o, actor = self.options, self.actor("decide")
        if o["verdict"]:
            raise Usage("--take-back", "goes without --verdict")
        done = actions.take_back(actor, _named(actor, o["approval"]).id)
        self.say("Undone. The request is open again.")
        self._tell(actor, done)

    def _tell(self, actor: Actor, row: ApprovalRow) -> None:
        self.tell(Approval.from_row(row, actor), _table(row))


def _line(row: ApprovalRow) -> tuple[object, ...]:
    return row.id, f"{row.requested_at:%Y-%m-%d %H:%M:%S}", row.risk, row.agent, row.headline


def _table(row: ApprovalRow) -> Table:
    decided = row.outcome or ("" if row.open else row.status)
    by = decider(row)
    return facts(
        "",
        [
            ("approval", row.id),
            ("title", row.title),
            *([("what it does", row.shown_sentence)] if row.shown_sentence else []),
            ("thread", f"{row.thread} {row.thread_title}"),
            ("tool", row.tool or "-"),
            ("arguments", deltas.canonical(row.shown_args).decode()),
            ("undo", row.undo or "cannot be undone"),
            ("risk", row.risk),
            *(("reason", reason) for reason in row.reasons),
            ("hash", row.standing_hash),
            ("deadline", row.decide_by or "none"),
            ("status", row.status),
            *([("outcome", f"{decided} by {by or '-'}")] if decided else []),
            *([("comment", row.comment)] if row.comment else []),
        ],
    )


def _named(actor: Actor, value: str) -> ApprovalRow:
    try:
        return gates.approval(UUID(value), workspace=actor.workspace)
    except ValueError:
        pass
    rows = [
        row
        for status in UNSETTLED
        for row in gates.approvals(workspace=actor.workspace, status=status, limit=200).rows
    ]
    results = [row for row in rows if str(row.id).startswith(value.lower())]
    if len(results) != 1:
        raise Missing(
            f"{'More than one' if results else 'No'} open request has an id that begins with "
            f"{value}."
        )
    return results[0]
