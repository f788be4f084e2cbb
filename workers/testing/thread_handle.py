"""A thread in the author's hands: what it did, and what people can do to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, Self
from uuid import UUID

from approvals.queries import ApprovalRow
from checkpoints.errors import InvalidValue, NotAllowedNow
from checkpoints.states import EventKind, Status
from checkpoints.store import EXCHANGEABLE
from checkpoints.verdicts import Question, question_of
from checkpoints.views import ActivityRow, CheckpointRow, EffectFate, EventRow, ThreadRow

from .rehearsal import Decide, names_of, reviewer_of

if TYPE_CHECKING:
    from ..authoring.graph import Graph
    from ..authoring.language_models import Model
    from .play_store import PlayStore
    from .tape import Tape


class Bench(Protocol):
    """The harness, as far as one of its threads needs it."""

    plays: PlayStore
    errors: dict[Any, Exception]
    models: dict[Any, Model]
    tapes: dict[Any, Tape]

    def work(self, thread: Any, decide: Decide = None) -> None: ...

    def settle(self, row: Any, verdict: Any) -> None: ...

    def graph_of(self, thread: Any) -> Graph: ...

    def check_changes(self, graph: Graph, changes: Mapping[str, Any]) -> None: ...


class Played:
    """A thread of a harness. All that is read is an ordinary copy; verbs change the thread."""

    def __init__(self, harness: Bench, thread: UUID) -> None:
        self.id = thread
        self._harness = harness
        self._plays = harness.plays

    # ---- where it stands ---------------------------------------------------------------------

    @property
    def _row(self) -> ThreadRow:
        return self._plays.row(self.id)

    @property
    def _graph(self) -> Graph:
        return self._harness.graph_of(self.id)

    @property
    def children(self) -> list[Played]:
        """The threads that it started, in the order of their starts."""
        return [Played(self._harness, child) for child in self._plays.children(self.id)]

    @property
    def successor(self) -> Played | None:
        """The thread that it handed over to."""
        heir = self._plays.successor(self.id)
        return None if heir is None else Played(self._harness, heir)

    @property
    def status(self) -> Status:
        """One of the statuses of docs/lifecycle.md; equal to its name as text."""
        return self._row.status

    @property
    def reason(self) -> str:
        """The reason for its status, as people read it."""
        return self._row.status_reason

    @property
    def error(self) -> Exception | None:
        """The error that the node raised last, with its traceback."""
        return self._harness.errors.get(self.id)

    @property
    def title(self) -> str:
        """The thread's title."""
        return self._row.title

    @property
    def step(self) -> int:
        """The number of steps on the path to the head."""
        return self._row.step

    @property
    def tokens(self) -> int:
        """The number of tokens of its model calls."""
        return self._row.tokens

    @property
    def cost(self) -> str:
        """The cost of its model calls, as text."""
        return self._row.cost

    @property
    def next_nodes(self) -> tuple[str, ...]:
        """The nodes to come."""
        return self._row.next_nodes

    @property
    def state(self) -> dict[str, Any]:
        """The state at the head, as JSON."""
        return self._plays.state_at(self.id, self._row.head)

    def state_at(self, number: int) -> dict[str, Any]:
        """The state at the checkpoint of this number; 0 is the input."""
        return self._plays.state_at(self.id, self._plays.checkpoint(self.id, number).id)

    # ---- what happened -----------------------------------------------------------------------

    @property
    def checkpoints(self) -> list[CheckpointRow]:
        """Its own checkpoints, oldest first."""
        return self._plays.checkpoints(self.id)

    @property
    def events(self) -> list[EventRow]:
        """Its log, oldest first."""
        return self._plays.events(self.id)

    @property
    def kinds(self) -> list[str]:
        """The kinds of its events, oldest first."""
        return [str(event.kind) for event in self.events]

    @property
    def thoughts(self) -> list[str]:
        """The texts of its nodes' ctx.think."""
        return [e.data["text"] for e in self.events if e.kind == EventKind.THOUGHT_RECORDED]

    @property
    def activities(self) -> list[ActivityRow]:
        """The activities, oldest first; effects among them."""
        return self._plays.activities(self.id)

    @property
    def effects(self) -> list[ActivityRow]:
        """The effects, oldest first; `state` says done or compensated."""
        return [a for a in self.activities if a.kind == "effect"]

    @property
    def approvals(self) -> list[ApprovalRow]:
        """All requests, oldest first."""
        return self._plays.approvals(self.id)

    @property
    def open(self) -> list[ApprovalRow]:
        """Requests that wait for a verdict, oldest first."""
        return self._plays.approvals(self.id, open_only=True)

    def file(self, ref: Mapping[str, Any]) -> bytes:
        """The bytes behind a reference of ctx.artifact."""
        return self._plays.file(str(ref["$artifact"]))

    def verify(self) -> int:
        """Compute the hash chain and all states anew; how many events fit."""
        return self._plays.verify(self.id)

    # ---- what people do ----------------------------------------------------------------------

    def go_on(self, decide: Decide = None) -> Self:
        """Work until it ends or stops for something; `decide` as in `Harness.play`."""
        self._harness.work(self.id, decide)
        return self

    def decide(self, verdict: Any, which: str = "") -> Self:
        """Decide an open request and continue; `which` is its title, tool, node or key."""
        results = [a for a in self.open if not which or which in names_of(a)]
        if len(results) != 1:
            titles = ", ".join(repr(a.title) for a in self.open) or "none"
            raise AssertionError(f"One request must be meant; open: {titles}. {self!r}")
        review = reviewer_of(verdict)(results[0])
        if review is not None:
            self._harness.settle(results[0], review)
        return self.go_on()

    def pause(self, before: str = "") -> Self:
        """Pause it, or let it stop before a node; InvalidValue for one that there is not."""
        if before and before not in self._graph.nodes:
            raise InvalidValue("before", f"there is no node {before!r}")
        self._plays.pause(self.id, before=before)
        return self

    def resume(self, decide: Decide = None) -> Self:
        """Resume a paused thread."""
        self._plays.resume(self.id)
        return self.go_on(decide)

    def retry(self, decide: Decide = None) -> Self:
        """Try again what failed or needs attention."""
        self._plays.retry(self.id)
        return self.go_on(decide)

    def skip(self, node: str, reason: str, decide: Decide = None) -> Self:
        """Go past a node of a stopped thread, as if it had returned no update."""
        self._plays.skip(self.id, node=node, reason=reason)
        return self.go_on(decide)

    @property
    def asked(self) -> Question | None:
        """The open question about an effect that was lost or is called with other arguments."""
        row = self._row
        return question_of(row.status, row.waiting_on)

    def settle(
        self, verdict: str, result: Any = None, reason: str = "", decide: Decide = None
    ) -> Self:
        """Answer that: "happened" with the result, "not_happened", "undo"; or "keep", "again",
        "undo_again" where the arguments changed."""
        if self.asked is None:
            raise AssertionError(f"Nothing is asked about an effect. {self!r}")
        self._plays.settle(self.id, self.asked.activity, verdict, result=result, reason=reason)
        return self.go_on(decide)

    def cancel(self, reason: str = "", *, undo: bool = False) -> Self:
        """End it; open requests are withdrawn. With `undo` what it did is taken back before."""
        return self.go_on() if self._plays.cancel(self.id, reason, undoing=undo) else self

    def edit(self, changes: Mapping[str, Any], reason: str = "edited in a test") -> Self:
        """Write new values over the head; a waiting thread pauses, open requests are withdrawn."""
        self._check(self._row.head, changes)
        self._plays.edit(self.id, changes, reason)
        return self

    def send(self, message: Any) -> Self:
        """Send new input; it joins the state at the next step."""
        if not self._graph.message_channel:
            raise NotAllowedNow(
                "This agent accepts no new input: its graph names no message channel."
            )
        self._plays.send(self.id, message)
        return self

    def signal(self, name: str, value: Any = None) -> Self:
        """Send a signal; the wait for it takes it, now or when it begins."""
        self._plays.signal(self.id, name, value)
        return self

    def fork(
        self,
        at: int | None = None,
        changes: Mapping[str, Any] | None = None,
        *,
        effects: str = "ask",
        decide: Decide = None,
        config: Mapping[str, Any] | None = None,
        budget: Mapping[str, Any] | None = None,
    ) -> Played:
        """A new thread from the checkpoint of this number (None: the head), and work on it.

        A fork asks before its first effect that has no gate; with `effects="run"` it does not.
        At its `budget` (cost, tokens, steps) it pauses.
        """
        number = self._row.number if at is None else at
        point = self._plays.checkpoint(self.id, number)
        self._check(point.id, changes or {})
        thread = self._plays.fork(
            self.id,
            point.id,
            changes=changes or {},
            effects=effects,
            config=config,
            budget=budget,
        )
        return self._played(thread, decide)

    def fork_instead(
        self,
        call: ActivityRow,
        output: Any,
        *,
        decide: Decide = None,
        budget: Mapping[str, Any] | None = None,
    ) -> Played:
        """A counterfactual: a fork in which one of `activities` had answered `output` instead.

        It begins before the step of the call and asks before each effect.
        """
        if call.thread != self.id or call.state != "done" or call.kind not in EXCHANGEABLE:
            raise InvalidValue("call", "must be a finished call among `activities`")
        points = [c for c in self.checkpoints if c.branch == call.branch and c.step < call.step]
        thread = self._plays.fork_instead(call, points[-1].id, output=output, budget=budget)
        return self._played(thread, decide)

    def _played(self, thread: UUID, decide: Decide) -> Played:
        """A fork with what this thread plays with, worked on."""
        if self.id in self._harness.models:
            self._harness.models[thread] = self._harness.models[self.id]
        if self.id in self._harness.tapes:
            self._harness.tapes[thread] = self._harness.tapes[self.id]
        return Played(self._harness, thread).go_on(decide)

    def would_undo(self, to: int) -> list[EffectFate]:
        """List the effects that a rollback to this checkpoint would undo or leave, last first."""
        return self._plays.effects_after(self.id, to)

    def roll_back(self, to: int, reason: str = "rolled back in a test") -> Self:
        """Undo what was done after a checkpoint, last first; the thread stands there, paused."""
        self._plays.roll_back(self.id, to, reason)
        return self.go_on()

    def pass_time(self, seconds: float) -> Self:
        """Let the clock run: requests past their deadline expire, and the thread continues."""
        self._plays.pass_time(seconds)
        self._plays.carry_out_due()
        return self.go_on()

    def _check(self, point: UUID, changes: Mapping[str, Any]) -> None:
        self._harness.check_changes(self._graph, changes)
        state = self._plays.state_at(self.id, point) | dict(changes)
        try:
            self._graph.check_loaded(state)
        except InvalidValue as error:
            raise InvalidValue(error.path, f"{error.reason} (of the changes)") from error

    # ---- how it reads ------------------------------------------------------------------------

    def __repr__(self) -> str:
        after = f", next {' and '.join(self.next_nodes)}" if self.next_nodes else ""
        message = f": {self.reason}" if self.reason else ""
        text = "".join(f" [{a.node} asks {a.title!r}]" for a in self.open)
        return f"<{self.title} is {self.status} at step {self.step}{after}{message}{text}>"

    def __str__(self) -> str:
        """The whole log, a line per event; what `print(thread)` shows."""
        return "\n".join([repr(self), *(_line(e) for e in self.events)])


def _line(event: EventRow) -> str:
    described_by = ("text", "title", "error", "reason", "because", "why", "verdict", "tool", "next")
    message = next((event.data[key] for key in described_by if event.data.get(key)), "")
    node = event.data.get("node", "")
    text = ", ".join(map(str, message)) if isinstance(message, list) else message
    return f"{event.seq:>4}  {event.kind:<22} {node:<12} {text}".rstrip()
