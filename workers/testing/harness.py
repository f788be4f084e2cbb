"""The author's test bench: a graph played by the real engine on a ledger in memory.

    thread = Harness(graph).play({"goal": "tea"}, decide="approve")
    assert thread.status == "succeeded"
    assert thread.state["receipt"]

No server, no database, no settings. Everything works as in a worker (gates, forks, rollbacks with
undo, edits, pauses, retries, several requests at once), except that nothing outlives the process.
Sleeping moves the clock and costs no time.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from uuid_utils.compat import uuid7

from approvals.gates import Reviewer
from approvals.policies.matches import Facts, Rule
from approvals.rules.terms import Terms
from checkpoints.errors import ConcurrentModificationError, InvalidValue, LeaseLost
from checkpoints.payloads.base import LIMITS
from checkpoints.records import Work
from checkpoints.states import EventKind, Status

from ..authoring.graph import Graph
from ..authoring.language_models import Model, Reply, missing
from ..engine.engine import Engine
from ..engine.fenced import fenced_event
from ..engine.rollback import roll_back
from ..step.advice import engine_failure
from ..step.step import Agent
from .memory import people, requests
from .memory import starts as births
from .memory.book import Book
from .memory.ledger import MemoryLedger
from .memory.undo import cancel_and_undo
from .rehearsal import (
    Approve,
    AskBack,
    Decide,
    Edit,
    Reject,
    Respond,
    Script,
    Scripted,
    Verdict,
    rehearsed,
    reviewer_of,
    scripted_model,
    stand_ins_of,
    tools_of,
)
from .thread_handle import Played
from .tracebacks import use_short_tracebacks

__all__ = [
    "Approve",
    "AskBack",
    "Edit",
    "Harness",
    "Played",
    "Reject",
    "Reply",
    "Respond",
    "Rule",
    "Scripted",
    "Terms",
    "Verdict",
]

ROUNDS_MAX = 10_000
NAMES = {
    Approve: "approve",
    AskBack: "respond",
    Edit: "edit",
    Reject: "reject",
    Respond: "respond",
}


class WorkerLost(BaseException):
    """The worker dies here; a BaseException, since nothing of it may run any more."""


class Harness:
    """Plays threads of one graph.

    `tools` are stand-ins for the outside world, by the name of an activity's function or of a
    tool: `{"look_up": lambda goal: {...}}`, or `{"search": Scripted("first", "second")}`. What
    stands in is recorded like the real thing.

    `stop_after=n` lets the worker die right after the n-th write of its ledger (of each play),
    and another one goes on: what was recorded is not called again.

    `guard=False` lets nodes do what belongs into activities, as GATEPOST_GUARD=false does in a
    worker.

    `policy` stands for the policies of an admin: a function of the Facts of an effect (its tool,
    args, risk ...) that answers a Rule or None. `cap` is what a thread may cost before it pauses.
    """

    def __init__(
        self,
        graph: Graph,
        *,
        tools: Mapping[str, Callable[..., Any]] | None = None,
        stop_after: int | None = None,
        guard: bool = True,
        policy: Callable[[Facts], Rule | None] | None = None,
        cap: str | None = None,
    ) -> None:
        use_short_tracebacks()
        self.book = Book(policy=policy, cap=cap)
        self.errors: dict[Any, Exception] = {}
        self.models: dict[Any, Model] = {}
        self._stop_after = stop_after
        self._guard = guard
        self._given = dict(tools or {})
        self._playing: Any = None
        self.install(graph)

    def install(self, graph: Graph) -> None:
        """Put other code in place, as a restart with a new release does.

        Threads that stopped with the former go on by its `on_code_change` and `upgrades`.
        """
        graph.check()
        known = tools_of(graph)
        stand_ins = stand_ins_of(self._given, known)
        self.graph = rehearsed(graph, stand_ins, self._failed)
        tools_now = {n: stand_ins.get(n, t) for n, t in known.items()}
        own = graph.model or missing
        self.agent = Agent(self.graph, tools_now, uuid7(), "in memory", own)
        self.book.limits[self.agent.version_id] = LIMITS[graph.payloads]

    def play(
        self,
        input: Mapping[str, Any] | None = None,
        *,
        decide: Decide = None,
        model: Script = None,
        title: str = "",
        pause_at: str = "",
        config: Mapping[str, Any] | None = None,
    ) -> Played:
        """Start a thread and work on it until it ends, or stops for something.

        `decide` answers requests: "approve", Approve(comment), Edit(args), AskBack(question),
        Reject(reason, what_next) or Respond(value) for all of them; a list of these for one after
        the other; a dict by title, tool or node; or a function of the request. Without it (or when
        the list is used up, or the function answers None) the thread stops at the request with the
        status `waiting`.

        `model` answers `ctx.model` in this thread and its forks: a function of the request, or a
        list of answers, one per call; an answer is a text, a Reply or an exception. Without it
        the graph's own model is asked; the settings are not looked at.

        Raises InvalidValue for an input that the state's schema refuses.
        """
        values = dict(input or {})
        self.check_changes(values)
        if pause_at and pause_at not in self.graph.nodes:
            raise InvalidValue("pause_at", f"there is no node {pause_at!r}")
        thread = births.start(
            self.book,
            self.graph,
            agent_version=self.agent.version_id,
            input=values,
            actor="user:author",
            title=title,
            pause_at=pause_at,
            config=config,
        )
        found = self.book.row(thread)
        try:
            self.graph.check_loaded(self.book.materialise(thread, found.head).state)
        except InvalidValue as error:
            raise InvalidValue(error.path, f"{error.reason} (of the input)") from error
        if model is not None:
            self.models[thread] = scripted_model(model)
        return Played(self, thread).go_on(decide)

    # ---- what a worker and the sweep do ------------------------------------------------------

    def work(self, thread: Any, decide: Decide = None) -> None:
        """Let workers, the clock and a reviewer act until nothing happens any more."""
        review = reviewer_of(decide)
        writes = itertools.count(1)
        for _ in range(ROUNDS_MAX):
            status = self.book.row(thread).status
            if work := people.acquire(self.book, thread, owner="worker:harness"):
                self._work_on(work, writes)
            elif status is Status.ROLLING_BACK and self.book.row(thread).wake_at is not None:
                self._sleep(thread)
            elif status in (Status.RUNNING, Status.ROLLING_BACK):
                # The worker was lost: its lease runs out and another one takes over.
                self.book.pass_time(people.LEASE_SECONDS + 1)
                again = people.take_over(self.book, thread, owner="worker:harness-2")
                if again is not None:
                    self._work_on(again, writes)
            elif self._end(thread):
                continue
            elif status is Status.SLEEPING:
                self._sleep(thread)
                people.wake_sleepers(self.book)
                requests.expire_due(self.book)
            elif status is not Status.WAITING or not (
                self._review(thread, review) or requests.hold_ends(self.book, thread)
            ):
                return
        raise AssertionError(f"{Played(self, thread)!r} comes to no end in {ROUNDS_MAX} rounds.")

    def _sleep(self, thread: Any) -> None:
        """Let the clock run to the time that the thread waits for."""
        until = self.book.row(thread).wake_at or self.book.now()
        self.book.pass_time((until - self.book.now()).total_seconds() + 0.001)

    def _review(self, thread: Any, review: Callable[[Any], Verdict | None]) -> bool:
        """Let the reviewer look at each open request; whether one was decided."""
        decided = False
        for row in Played(self, thread).open:
            verdict = review(row)
            if verdict is not None:
                self.settle(row, verdict)
                decided = True
        return decided

    def settle(self, row: Any, verdict: Verdict) -> None:
        """Decide one request, as a reviewer who saw exactly this proposal."""
        args: Any = None
        if isinstance(verdict, Respond | Edit):
            args = verdict.value if isinstance(verdict, Respond) else dict(verdict.args)
        next_ = verdict.what_next if isinstance(verdict, Reject) else ""
        requests.decide(
            self.book,
            row.id,
            reviewer=Reviewer(f"user:{verdict.by}", verdict.by, verdict.by),
            verdict=NAMES[type(verdict)],
            proposal_hash=row.standing_hash,
            comment=verdict.comment,
            args=args,
            **({"what_next": next_} if next_ else {}),
        )

    def _end(self, thread: Any) -> bool:
        """End a thread whose reviewer said so with a rejection that counts; whether one did."""
        if self.book.row(thread).status is not Status.WAITING:
            return False
        for row in Played(self, thread).approvals:
            if row.status == "settled" and row.what_next in ("stop", "roll_back"):
                said = f"Rejected by {row.decided_by_name}: {row.comment}"
                who, undo = row.decided_by, row.what_next == "roll_back"
                if not (undo and cancel_and_undo(self.book, thread, actor=who, reason=said)):
                    people.cancel(self.book, thread, actor=who, reason=said)
                return True
        return False

    def _work_on(self, work: Work, writes: itertools.count[int]) -> None:
        def wrote() -> None:
            if next(writes) == self._stop_after:
                raise WorkerLost

        self._playing = work.thread
        self.errors.pop(work.thread, None)
        ledger = MemoryLedger(self.book, wrote)
        asked = self.models.get(work.thread, self.agent.model)
        parts: dict[str, Any] = {
            "agent": replace(self.agent, model=asked),
            "ledger": ledger,
            "heart": Holding(self.book, work),
            "stopping": lambda: False,
        }
        try:
            if work.status is Status.ROLLING_BACK:
                roll_back(work, **parts)
            else:
                Engine(**parts, slice_seconds=float("inf"), guard=self._guard).advance(work)
        except WorkerLost:
            return
        except ConcurrentModificationError:
            self.book.move(work.thread, events=[fenced_event(work, parts["ledger"])])
        except Exception as error:
            self._failed(error)
            back = work.status is Status.ROLLING_BACK
            by = EventKind.THREAD_PARKED if back else EventKind.THREAD_FAILED
            ledger.leave(work, by, reason=engine_failure(error))

    def _failed(self, error: Exception) -> None:
        self.errors[self._playing] = error

    def check_changes(self, changes: Mapping[str, Any]) -> None:
        """Refuse channels that the state does not have."""
        for channel in changes:
            if channel not in self.graph.state.model_fields:
                names = ", ".join(self.graph.state.model_fields)
                raise InvalidValue(f"$.{channel}", f"the state has no such channel; it has {names}")


class Holding:
    """The heart of a worker in memory: the lease is its own until somebody takes it."""

    def __init__(self, book: Book, work: Work) -> None:
        self._book = book
        self._work = work

    def check(self) -> None:
        """Raise LeaseLost once the lease is gone."""
        if self._book.row(self._work.thread).lease_token != self._work.token:
            raise LeaseLost(thread=self._work.thread)
