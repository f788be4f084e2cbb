"""The author's test bench: a graph played by the real engine on a PostgreSQL that ends with it.

    thread = Harness(graph).play({"goal": "tea"}, decide="approve")
    assert thread.status == "succeeded"
    assert thread.state["receipt"]

No settings, and nothing to start: the first play of a process starts a server of its own in memory.
Everything works as in a worker (gates, forks, rollbacks with undo, edits, pauses, retries, several
open requests), except that nothing outlives the process. Sleeping moves the clock and costs no
time.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from approvals.policies.matches import Facts, Rule
from approvals.rules.terms import Terms
from checkpoints.errors import ConcurrentModificationError, InvalidValue
from checkpoints.records import Work
from checkpoints.states import FINISHED, EventKind, Status
from checkpoints.views import ThreadRow

from ..authoring.ephemeral import check_ephemeral
from ..authoring.graph import Graph
from ..authoring.language_models import Model, Reply, missing
from ..engine.engine import Engine
from ..engine.fenced import fenced_event
from ..engine.rollback import roll_back
from ..node.context import Context
from ..step.advice import engine_failure
from ..step.event_loops import in_own_thread, loop_is_running
from ..step.step import Agent
from .rehearsal import (
    Approve,
    AskBack,
    Decide,
    Edit,
    Rehearsed,
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
from .replay import NotOnTape, OffTape, Taped, begin
from .tape import Tape, read_tape
from .thread_handle import Played
from .tracebacks import use_short_tracebacks

__all__ = [
    "Approve",
    "AskBack",
    "Edit",
    "Harness",
    "NotOnTape",
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
    """The worker dies here; a BaseException, since nothing of it may run."""


class Harness:
    """Plays threads of one graph.

    `agents` are graphs that it may start as children, by their names; itself it may always start.

    `tools` are stand-ins for the outside world, by the name of an activity's function or of a
    tool: `{"look_up": lambda goal: {...}}`, or `{"search": Scripted("first", "second")}`. What
    stands in is recorded like the real thing.

    `stop_after=n` lets the worker die right after the n-th write of its ledger (of each play),
    and another one continues: what was recorded is not called again.

    `guard=False` lets nodes do what belongs into activities, as GATEPOST_GUARD=false does in a
    worker.

    `policy` stands for the policies of an admin: a function of the Facts of an effect (its tool,
    args, risk ...) that answers a Rule or None. `cap` is what a thread may cost before it pauses.
    """

    def __init__(
        self,
        graph: Graph,
        *,
        agents: Sequence[Graph] = (),
        tools: Mapping[str, Callable[..., Any]] | None = None,
        stop_after: int | None = None,
        guard: bool = True,
        policy: Callable[[Facts], Rule | None] | None = None,
        cap: str | None = None,
    ) -> None:
        # Here: who only imports what a graph is made of needs no driver of a database.
        from .play_ledger import PlayLedger
        from .play_store import PlayStore

        use_short_tracebacks()
        self.plays = PlayStore(policy=policy, cap=cap)
        self._ledger = PlayLedger
        self.errors: dict[Any, Exception] = {}
        self.models: dict[Any, Model] = {}
        self.tapes: dict[Any, Tape] = {}
        self._stop_after = stop_after
        self._guard = guard
        self._stand_ins = dict(tools or {})
        self._playing: Any = None
        self.agents: dict[str, Agent] = {}
        for other in agents:
            self._add(other)
        self.install(graph)

    def install(self, graph: Graph) -> None:
        """Put other code in place, as a restart with a new release does.

        Threads that stopped with the former continue by its `on_code_change` and `upgrades`.
        """
        self.agent = self._add(graph)
        self.graph = self.agent.graph

    def _add(self, graph: Graph) -> Agent:
        graph.check()
        known = tools_of(graph)
        check_ephemeral(graph, known)
        stand_ins = stand_ins_of(self._stand_ins, known)
        playing = rehearsed(graph, stand_ins, self._failed, self._context_of)
        tools_now = {n: stand_ins.get(n, t) for n, t in known.items()}
        own = graph.model or missing
        agent = Agent(playing, tools_now, self.plays.announce(playing), "a play", own)
        self.agents[graph.name] = agent
        return agent

    def graph_of(self, thread: Any) -> Graph:
        """The graph that a thread is of."""
        return self.agents[self.plays.row(thread).agent].graph

    def play(
        self,
        input: Mapping[str, Any] | None = None,
        *,
        decide: Decide = None,
        model: Script = None,
        signals: Mapping[str, Any] | None = None,
        title: str = "",
        pause_at: str = "",
        config: Mapping[str, Any] | None = None,
        tape: str | Path | None = None,
    ) -> Played:
        """Start a thread and work on it until it ends, or stops for something.

        `decide` answers requests: "approve", Approve(comment), Edit(args), AskBack(question),
        Reject(reason, what_next) or Respond(value) for all of them; a list of these for one after
        the other, where None passes one over; a dict by title, tool, node or the author's key; or a
        function of the request. Without it (or when the list is used up, or the function answers
        None) the thread stops at the request with the status `waiting`.

        `model` answers `ctx.model` in this thread and its forks: a function of the request, or a
        list of answers, one per call; an answer is a text, a Reply or an exception. Without it
        the graph's own model is asked; the settings are not looked at.

        `signals` are values by the name of the signal, sent before its first step; waits take them.
        A wait for another signal ends at its time, else the thread stops there, `waiting`.

        `tape` is a capsule of a thread of this agent: it begins with the recorded state, and each
        call is answered by what was recorded (activities, models, effects, children, verdicts).
        Nothing is called. Raises NotOnTape for a call that the tape has no answer to.

        Raises InvalidValue for an input that the state's schema refuses.
        """
        if tape is not None:
            if input or config or title or pause_at or signals or model is not None:
                raise TypeError("A tape brings its own input, config and answers.")
            return self._replay(Path(tape), decide)
        values = dict(input or {})
        self.check_changes(self.graph, values)
        if pause_at and pause_at not in self.graph.nodes:
            raise InvalidValue("pause_at", f"there is no node {pause_at!r}")
        thread = self.plays.start(
            self.agent.version_id, input=values, title=title, pause_at=pause_at, config=config
        )
        try:
            self.graph.check_loaded(self.plays.state_at(thread, self.plays.row(thread).head))
        except InvalidValue as error:
            raise InvalidValue(error.path, f"{error.reason} (of the input)") from error
        if model is not None:
            self.models[thread] = scripted_model(model)
        played = Played(self, thread)
        for name, value in (signals or {}).items():
            played.signal(name, value)
        return played.go_on(decide)

    def _replay(self, path: Path, decide: Decide) -> Played:
        """Play a thread from its tape; requests that were open then are for `decide`."""
        tape = read_tape(path)
        agent = self.agents.get(name := tape.row["agent"])
        if agent is None:
            raise InvalidValue("tape", f"is of the agent {name!r}; give its graph")
        thread = begin(self.plays, agent.graph, agent.version_id, tape)
        self.tapes[thread] = tape
        return Played(self, thread).go_on(decide)

    def _context_of(self, ctx: Context) -> Rehearsed:
        """The context for a node, in place of the engine's."""
        step, node = ctx._step, ctx._node  # noqa: SLF001 - not for authors
        tape = self.tapes.get(step.work.thread)
        return Rehearsed(step, node) if tape is None else Taped(step, node, tape)

    # ---- what a worker and the sweep do ------------------------------------------------------

    def work(self, thread: Any, decide: Decide = None) -> None:
        """Let workers, the clock and a reviewer act until nothing happens.

        A node may run an event loop of its own, so none may run around it.
        """
        review, writes = reviewer_of(decide), itertools.count(1)
        if loop_is_running():
            in_own_thread(lambda: self._work(thread, review, writes))
        else:
            self._work(thread, review, writes)

    def _work(
        self,
        thread: Any,
        review: Callable[[Any], Verdict | None],
        writes: itertools.count[int],
    ) -> None:
        """Work on a thread, and then on whom it hands over to."""
        self._work_alone(thread, review, writes)
        heir = self.plays.successor(thread)
        if heir is not None and thread not in self.tapes:  # a tape ends with its thread
            self._work(heir, review, writes)

    def _work_alone(
        self,
        thread: Any,
        review: Callable[[Any], Verdict | None],
        writes: itertools.count[int],
    ) -> None:
        for _ in range(ROUNDS_MAX):
            self.plays.cancel_children()
            row = self.plays.row(thread)
            status = row.status
            if work := self.plays.acquire(thread):
                self._work_on(work, writes)
            elif status is Status.ROLLING_BACK and row.wake_at is not None:
                self.plays.pass_until(row.wake_at)
            elif status in (Status.RUNNING, Status.ROLLING_BACK):
                # The worker was lost: its lease runs out and another one takes over.
                again = self.plays.take_over(thread)
                if again is not None:
                    self._work_on(again, writes)
            elif _awaits(row) and self._with_children(thread, review, writes):
                continue
            elif status is Status.SLEEPING:
                self.plays.pass_until(row.wake_at or self.plays.now())
                self.plays.carry_out_due()
            elif status is not Status.WAITING or not (
                self._review(thread, review) or self.plays.hold_ends(thread)
            ):
                return
        raise AssertionError(f"{Played(self, thread)!r} comes to no end in {ROUNDS_MAX} rounds.")

    def _with_children(
        self,
        thread: Any,
        review: Callable[[Any], Verdict | None],
        writes: itertools.count[int],
    ) -> bool:
        """Let children work until their parent can continue, by their ends or its time; whether."""
        if self.plays.deliver(thread):
            return True
        began = True
        while began:
            began = False
            for child in self.plays.children(thread):
                row = self.plays.row(child)
                if row.status in FINISHED or _is_held(row):
                    continue
                self._work(child, review, writes)
                if self.plays.deliver(thread):
                    return True
                began |= self.plays.row(child).status in FINISHED
        until = self.plays.waits_until(thread)
        if until is None:
            return False
        self.plays.pass_until(until)
        return self.plays.deliver(thread)

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
        self.plays.decide(
            row,
            by=verdict.by,
            verdict=NAMES[type(verdict)],
            comment=verdict.comment,
            args=args,
            what_next=next_,
        )

    def _work_on(self, work: Work, writes: itertools.count[int]) -> None:
        def wrote() -> None:
            if next(writes) == self._stop_after:
                raise WorkerLost

        self._playing = work.thread
        self.errors.pop(work.thread, None)
        ledger = self._ledger(self.plays, wrote)
        agent = self.agents[work.agent]
        model = self.models.get(work.thread) or self.models.get(work.root, agent.model)
        parts: dict[str, Any] = {
            "agent": replace(agent, model=model),
            "ledger": ledger,
            "heartbeat": SimpleNamespace(check=lambda: None),  # nobody else works on a play
            "stopping": lambda: False,
        }
        try:
            if work.status is Status.ROLLING_BACK:
                roll_back(work, **parts)
            else:
                Engine(**parts, slice_seconds=float("inf"), guard=self._guard).advance(work)
        except WorkerLost:
            return
        except OffTape as stop:
            raise stop.error from None
        except ConcurrentModificationError:
            self.plays.fail(work, [fenced_event(work, parts["ledger"])])
        except Exception as error:
            self._failed(error)
            back = work.status is Status.ROLLING_BACK
            by = EventKind.THREAD_PARKED if back else EventKind.THREAD_FAILED
            ledger.leave(work, by, reason=engine_failure(error))

    def _failed(self, error: Exception) -> None:
        self.errors[self._playing] = error

    def check_changes(self, graph: Graph, changes: Mapping[str, Any]) -> None:
        """Refuse channels that the state does not have."""
        for channel in changes:
            if channel not in graph.state.model_fields:
                names = ", ".join(graph.state.model_fields)
                raise InvalidValue(f"$.{channel}", f"the state has no such channel; it has {names}")


def _awaits(row: ThreadRow) -> bool:
    """Answer True if a thread waits for children or signals, maybe beside requests."""
    waits = row.waiting_on
    is_waiting = row.status is Status.WAITING and isinstance(waits, dict)
    return is_waiting and not waits.keys().isdisjoint(("joins", "signals"))


def _is_held(row: ThreadRow) -> bool:
    """Answer True if a child begins when another one has ended."""
    waits = row.waiting_on
    return isinstance(waits, dict) and waits.get("kind") == "limit"
