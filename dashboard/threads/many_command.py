"""The verb of `threads` that does the same to every thread of a query."""

from __future__ import annotations

import argparse
from typing import Final

from checkpoints import queries
from dashboard.kit.terminal.arguments import values
from dashboard.kit.terminal.console import PersonalCommand, Usage, Verb, add_yes_argument
from dashboard.kit.terminal.tables import table
from dashboard.threads.command import takes_reason
from dashboard.threads.many import AT_ONCE, BULK_ACTIONS, BulkAction, act_on_many, preview_many
from dashboard.threads.many_calls import Outcomes

COLUMNS: Final = ("thread", "status", "result", "title")


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=[name.replace("_", "-") for name in BULK_ACTIONS])
    parser.add_argument("-q", required=True, metavar="QUERY", help="as on the board: status:failed")
    parser.add_argument("--to", type=int, metavar="NUMBER", help="roll-back: to which checkpoint")
    parser.add_argument("--undo", action="store_true", help="cancel: first undo what was done")
    parser.add_argument("--set", action="append", default=[], metavar="CHANNEL=VALUE")
    parser.add_argument("--retry", action="store_true", help="edit: then retry the step")
    parser.add_argument("--preview", action="store_true", help="only say what it would do")
    takes_reason(parser)
    add_yes_argument(parser)


def act(command: PersonalCommand) -> None:
    """Preview, ask, then do it to each thread by itself."""
    o, actor = command.options, command.actor("read")
    if not queries.parse_query(o["q"]).terms:
        raise Usage("-q", "names no thread; to stop all of them use `breaker trip`")
    page = queries.threads(queries.Selection(q=o["q"]), workspace=actor.workspace, limit=AT_ONCE)
    ids = [row.id for row in page.rows]
    changes = {}
    if o["set"] and page.rows:
        version = queries.agent_version(page.rows[0].agent_version_id)
        changes = values(actor, version, o["set"], ())
    name = o["action"].replace("-", "_")
    action = BulkAction(name, o["to"], o["undo"], o["reason"], changes, o["retry"])
    if ids or name != "edit":
        action.check(actor, sure=not o["preview"])
    if not ids:
        command.say("No thread matches.")
        return
    outcomes = preview_many(actor, action, ids)
    if not o["preview"]:
        n = sum(not one.why for one in outcomes)
        undone = sum(one.undone for one in outcomes)
        also = f", {undone:,} effects are undone" if undone else ""
        if not command.confirmed(f"{o['action']}: {n:,} of {len(ids):,} threads{also}?"):
            return
        seen = {one.thread: one.row.version for one in outcomes if one.row is not None}
        outcomes = act_on_many(actor, action, ids, seen)
    good = "possible" if o["preview"] else "done"
    rows = [
        (
            one.thread,
            "" if one.row is None else one.row.status,
            one.why or good,
            "" if one.row is None else one.row.title,
        )
        for one in outcomes
    ]
    command.show(Outcomes.of(outcomes), table("", COLUMNS, rows))
    if page.next_cursor:
        command.say(f"More threads match: these are the newest {AT_ONCE}. Repeat for the rest.")


MANY: Final = (
    Verb(
        "many",
        "pause, resume, retry, edit, skip, cancel or roll back every thread of a query",
        act,
        _options,
        "threads many retry -q 'status:failed agent:payments'\n"
        "threads many cancel -q 'label:team:old' --undo --reason 'replaced' --preview",
    ),
)
