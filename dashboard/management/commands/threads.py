"""`./manage.py threads ...`: look at threads and control them from a terminal."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, cast
from uuid import UUID

from rich.table import Table

from approvals import queries as gates
from checkpoints import deltas, queries
from checkpoints.states import Status
from checkpoints.views import ThreadRow
from checkpoints.why import why_waiting
from dashboard import actions
from dashboard.api.previews import ForkPreview, RollBackPreview
from dashboard.api.shapes import Event, Thread, ThreadDetail
from dashboard.errors import Invalid
from dashboard.permissions import Actor
from dashboard.plans import ForkPlan, RollBackPlan
from dashboard.sentences import event_sentence
from dashboard.terminal import (
    PersonalCommand,
    checkpoint_named,
    common_arguments,
    facts,
    json_given,
    table,
    thread_named,
    values,
)


class Command(PersonalCommand):
    """One verb per subcommand; each says afterwards where the thread stands."""

    help = "Looks at threads, starts and controls them."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Subcommands with their options."""
        verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")

        def verb(name: str, does: str) -> argparse.ArgumentParser:
            made = verbs.add_parser(name, help=does, parents=[common_arguments()])
            if name not in ("list", "start"):
                made.add_argument("thread", help="id, or how it begins")
            return made

        listed = verb("list", "lists threads, those that moved last first")
        listed.add_argument("--status", default="", help="one or several, by commas")
        listed.add_argument("--agent", default="")
        listed.add_argument("-q", default="", help="part of a title")
        listed.add_argument("--limit", type=int, default=30)
        verb("show", "shows a thread, what it waits for and its state")
        events = verb("events", "shows what happened, oldest first")
        events.add_argument("--after", type=int, default=0, help="a sequence number")
        events.add_argument("--kind", default="", help="kinds or nouns, by commas")
        events.add_argument("--limit", type=int, default=100)
        start = verb("start", "starts a thread")
        start.add_argument("agent")
        start.add_argument("--input", default="{}", metavar="JSON|@PATH")
        _takes_values(start)
        start.add_argument("--title", default="")
        start.add_argument("--name", help="continues the thread of this name if there is one")
        start.add_argument("--label", action="append", default=[], metavar="KEY=VALUE")
        start.add_argument("--pause-at", default="", metavar="NODE")
        pause = verb("pause", "pauses a thread at its next step")
        pause.add_argument("--before", default="", metavar="NODE")
        verb("resume", "lets a paused thread go on")
        verb("retry", "tries a failed step again")
        cancel = verb("cancel", "ends a thread")
        cancel.add_argument("--reason", default="")
        edit = verb("edit", "writes new values over the head")
        _takes_values(edit)
        edit.add_argument("--reason", default="")
        edit.add_argument("--version", type=int, help="only if the thread has not moved since")
        fork = verb("fork", "starts a new thread from a checkpoint of this one")
        fork.add_argument("--checkpoint", default="", help="number or id; else the head")
        _takes_values(fork)
        fork.add_argument("--title", default="")
        fork.add_argument("--effects", choices=("ask", "run"), default="ask")
        fork.add_argument("--reason", default="")
        fork.add_argument("--preview", action="store_true", help="only say what it would do")
        back = verb("rollback", "moves the head back and undoes effects")
        back.add_argument("checkpoint", help="number or id")
        back.add_argument("--reason", default="")
        back.add_argument("--run-on", action="store_true", help="go on instead of pausing there")
        back.add_argument("--preview", action="store_true", help="only say what it would do")

    def act(self) -> None:
        """Dispatch."""
        verb = self.options["verb"]
        cast(Callable[[], None], getattr(self, f"{verb}_"))()

    # --- looking ---------------------------------------------------------------------------------

    def list_(self) -> None:
        o, actor = self.options, self.actor("read")
        statuses = [word for word in o["status"].split(",") if word]
        if unknown := set(statuses) - set(map(str, Status)):
            raise Invalid("--status", f"does not know {', '.join(sorted(unknown))}")
        page = queries.threads(
            workspace=actor.workspace,
            statuses=[Status(word) for word in statuses],
            agent=o["agent"],
            q=o["q"],
            limit=max(1, min(o["limit"], 1_000)),
        )
        rows = [
            (t.id, t.status, f"{t.status_since:%Y-%m-%d %H:%M:%S}", t.agent, t.step, t.title)
            for t in page.rows
        ]
        columns = ("thread", "status", "since", "agent", "step", "title")
        self.tell([Thread.of(t) for t in page.rows], table("", columns, rows))
        if not rows:
            self.say("No threads.")

    def show_(self) -> None:
        actor = self.actor("read")
        self._tell_thread(actor, thread_named(actor, self.options["thread"]), state=True)

    def events_(self) -> None:
        o, actor = self.options, self.actor("read")
        thread = self._thread(actor)
        kinds = [kind for kind in o["kind"].split(",") if kind]
        limit = max(1, min(o["limit"], 10_000))
        rows = queries.events_after(thread.id, max(0, o["after"]), limit=limit, kinds=kinds)
        shown = [(e.seq, f"{e.at:%H:%M:%S.%f}", e.kind, event_sentence(e)) for e in rows]
        columns = ("seq", "at", "kind", "what")
        self.tell([Event.model_validate(e) for e in rows], table("", columns, shown))

    # --- doing -----------------------------------------------------------------------------------

    def start_(self) -> None:
        o, actor = self.options, self.actor("start")
        given = json_given(o["input"], "--input")
        if not isinstance(given, dict):
            raise Invalid("--input", "must be an object of channels")
        if o["set"] or o["file"]:
            given |= values(actor, queries.agent(o["agent"]), o["set"], o["file"])
        labels = dict(word.partition("=")[::2] for word in o["label"])
        thread, new = actions.start_or_continue(
            actor,
            agent=o["agent"],
            input=given,
            title=o["title"],
            name=o["name"],
            labels=labels,
            pause_at=o["pause_at"],
        )
        self.say("Started." if new else "A thread of this name exists already; here it is.")
        self._tell_thread(actor, thread)

    def pause_(self) -> None:
        self._done("pause", self.options["before"])

    def resume_(self) -> None:
        self._done("resume")

    def retry_(self) -> None:
        self._done("retry")

    def cancel_(self) -> None:
        self._done("cancel", self.options["reason"])

    def edit_(self) -> None:
        o, actor = self.options, self.actor("edit")
        thread = self._thread(actor)
        changes = self._changes(actor, thread)
        actions.edit(actor, thread.id, changes, o["reason"], o["version"])
        self._tell_thread(actor, thread.id)

    def fork_(self) -> None:
        o, actor = self.options, self.actor("fork")
        thread = self._thread(actor)
        head = thread.head
        target = checkpoint_named(thread.id, o["checkpoint"]).id if o["checkpoint"] else head
        changes = self._changes(actor, thread)
        if o["preview"]:
            plan = actions.preview_fork(actor, thread.id, target, changes)
            self.tell(ForkPreview.of(plan), _fork_table(plan))
            return
        new = actions.fork(actor, thread.id, target, changes, o["title"], o["effects"], o["reason"])
        self._tell_thread(actor, new)

    def rollback_(self) -> None:
        o, actor = self.options, self.actor("roll_back")
        thread = self._thread(actor)
        target = checkpoint_named(thread.id, o["checkpoint"]).id
        if o["preview"]:
            plan = actions.preview_roll_back(actor, thread.id, target)
            self.tell(RollBackPreview.of(plan), *_roll_back_tables(plan))
            return
        actions.roll_back(actor, thread.id, target, o["reason"], run_on=o["run_on"])
        self._tell_thread(actor, thread.id)

    # --- shared ----------------------------------------------------------------------------------

    def _done(self, action: str, *args: Any) -> None:
        actor = self.actor(action)
        thread = thread_named(actor, self.options["thread"])
        getattr(actions, action)(actor, thread, *args)
        self._tell_thread(actor, thread)

    def _thread(self, actor: Actor) -> ThreadRow:
        ident = thread_named(actor, self.options["thread"])
        return queries.thread(ident, workspace=actor.workspace)

    def _changes(self, actor: Actor, thread: ThreadRow) -> dict[str, Any]:
        version = queries.agent_version(thread.agent_version_id)
        return values(actor, version, self.options["set"], self.options["file"])

    def _tell_thread(self, actor: Actor, ident: UUID, *, state: bool = False) -> None:
        row = queries.thread(ident, workspace=actor.workspace)
        open_ones = gates.for_thread(ident, open_only=True)
        why = why_waiting(row, open_ones, queries.workers())
        told = ThreadDetail.told(row, why=why, actor=actor, approvals=open_ones)
        shown = facts(
            row.title,
            [
                ("thread", row.id),
                ("agent", f"{row.agent} {row.version_label}"),
                ("status", row.status),
                ("why", f"{why.sentence} {why.action}".strip()),
                ("step", f"{row.step} (checkpoint {row.number}, version {row.version})"),
                ("next", ", ".join(row.next_nodes) or "-"),
                *(("approval", f"{a.id} {a.title}") for a in open_ones),
            ],
        )
        tables = [shown]
        if state and not self.options["as_json"]:
            now = queries.state_at(ident, row.head)
            tables.append(facts("State", ((c, _short(v)) for c, v in now.items())))
        self.tell(told, *tables)


def _takes_values(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--set", action="append", default=[], metavar="CHANNEL=VALUE")
    parser.add_argument("--file", action="append", default=[], metavar="CHANNEL=PATH")


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else deltas.canonical(value).decode()
    return text if len(text) <= 300 else f"{text[:300]}…"


def _fork_table(plan: ForkPlan) -> Table:
    return facts(
        "A fork would",
        [
            ("start at", f"checkpoint {plan.target.number} (step {plan.target.step})"),
            ("do next", ", ".join(plan.next_nodes) or "nothing"),
            ("call again", f"{plan.again} recorded calls, {plan.tokens} tokens, {plan.cost}"),
            ("change", ", ".join(op["path"][1:] for op in plan.patch) or "nothing"),
            ("first effect", plan.first_effect or "none recorded"),
        ],
    )


def _roll_back_tables(plan: RollBackPlan) -> tuple[Table, ...]:
    return (
        facts(
            "A rollback would",
            [
                ("go back to", f"checkpoint {plan.target.number} (step {plan.target.step})"),
                ("leave behind", f"{plan.steps} checkpoints"),
                ("withdraw", ", ".join(a.title for a in plan.approvals) or "no request"),
                ("undo", f"{len(plan.undo)} of {len(plan.effects)} effects"),
            ],
        ),
        table(
            "Effects, last first",
            ("effect", "fate", "what"),
            ((e.activity.tool, e.fate, e.text) for e in plan.effects),
        ),
    )
