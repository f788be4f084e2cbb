"""`./manage.py approve [ID] [--verdict ...]`: see what waits for a decision, and decide it."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

from django.contrib.auth import get_user_model

from approvals.queries import ApprovalRow
from approvals.states import ANSWERS, WHAT_NEXT
from checkpoints.state import deltas
from dashboard.approvals.approval_detail import ApprovalDetail
from dashboard.approvals.approvals import Approval, list_requests, listed
from dashboard.approvals.decide import DECIDE, Decide
from dashboard.approvals.filters import REQUESTS
from dashboard.approvals.take_back import TAKE_BACK
from dashboard.approvals.target import approval_named
from dashboard.identity.permissions import Actor, Login
from dashboard.kit.action import read
from dashboard.kit.filters import add_options, option_texts, read_options
from dashboard.kit.shapes.requests import Nothing
from dashboard.kit.terminal.arguments import json_given
from dashboard.kit.terminal.console import PersonalCommand, Usage, add_common_arguments
from dashboard.kit.terminal.tables import Table, facts, table
from dashboard.people.logins.confirmation import verified
from dashboard.people.second_factor import checked_code
from dashboard.wording.sentences import decider

NOTHING_WAITS = "Nothing is waiting for a decision."


class Command(PersonalCommand):
    """Without an id it lists, without a verdict it shows, with both it decides."""

    declared = (DECIDE.name, TAKE_BACK.name)
    help = "Lists what waits for a decision, shows one request, or decides it."
    examples = """
        approve
        approve --box mine --agent payments
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
        add_options(parser, REQUESTS)
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
            if filters := option_texts(REQUESTS, o):
                raise Usage(f"--{min(filters)}", "narrows the list and goes without an id")
            row = approval_named(actor, o["approval"])
            self.show(ApprovalDetail.read(row, actor), _table(row))
            return
        values = read_options(REQUESTS, o)
        page = list_requests(actor, values, limit=200)
        columns = ("approval", "since", "risk", "agent", "title")
        self.show(listed(page, actor), table("", columns, map(_line, page.rows)))
        if not page.rows:
            self.say("There is no such request." if values else NOTHING_WAITS)
        elif page.next_cursor:
            order = "first" if values else "oldest"
            self.say(f"These are the {order} {len(page.rows)}; decide some to see the others.")

    def _decide(self) -> None:
        o, actor = self.options, self.actor("decide")
        row = approval_named(actor, o["approval"])
        if o["password_stdin"] or o["code_stdin"]:
            user = get_user_model()._default_manager.get(pk=actor.user_id)
            line = sys.stdin.readline().rstrip("\n")
            check = checked_code if o["code_stdin"] else verified
            at = check(None, user, line)
            actor = replace(actor, login=Login("", at))
        values = {
            "verdict": o["verdict"],
            "proposal_hash": o["hash"] or row.standing_hash,
            "comment": o["comment"],
            "args": None if o["answer"] is None else json_given(o["answer"], "--args"),
            "what_next": o["what_next"],
        }
        wanted = read(Decide, values)
        done = DECIDE.run(actor, wanted, row.id)
        if text := DECIDE.done(wanted, done):
            self.say(text)
        self._show(actor, done)

    def _take_back(self) -> None:
        o, actor = self.options, self.actor("decide")
        if o["verdict"]:
            raise Usage("--take-back", "goes without --verdict")
        done = TAKE_BACK.run(actor, Nothing(), approval_named(actor, o["approval"]).id)
        self.say(TAKE_BACK.done(Nothing(), done))
        self._show(actor, done)

    def _show(self, actor: Actor, row: ApprovalRow) -> None:
        self.show(Approval.from_row(row, actor), _table(row))


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
