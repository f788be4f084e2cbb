"""Playing a tape: the graph works as installed, and each of its calls is answered by the tape.

Nothing is called: no function of an activity, no model, no tool, no child. What the tape does not
answer ends the play with NotOnTape.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, cast
from uuid import UUID

from approvals.queries import ApprovalRow
from checkpoints.errors import GatepostError, InvalidValue
from checkpoints.records import NewActivity, Position
from checkpoints.state import deltas
from checkpoints.state.channels import Digests
from checkpoints.state.encrypted import is_envelope
from checkpoints.states import EventKind, Status
from checkpoints.store.statement.moves import first_checkpoint
from checkpoints.views import ActivityRow, AgentRow

from ..authoring.children import Joined
from ..authoring.frozen import plain
from ..authoring.graph import Gate, Graph, Tool
from ..node.children import CANCEL, SEND
from ..step.answers import Answer, Outcome
from .rehearsal import Rehearsed
from .tape import Tape

if TYPE_CHECKING:
    from .play_store import PlayStore

SHOWN = 300
_CALLS = {"model": "ctx.model", "effect": "ctx.effect", "activity": "ctx.activity"}
_OWN = ("spawn", "join", SEND, CANCEL)


class NotOnTape(GatepostError):
    """A play asks for what its tape has not recorded.

    `node`, `step` and `call` say where, `difference` what the tape has instead.
    """

    def __init__(self, node: str, step: int, call: str, difference: str) -> None:
        super().__init__(f"{call} of node {node!r} in step {step} is not on the tape: {difference}")
        self.node = node
        self.step = step
        self.call = call
        self.difference = difference


class RecordedError(GatepostError):
    """The recorded call raised an error."""


class OffTape(BaseException):
    """Carries NotOnTape out of the engine; a BaseException, so that no node catches it."""

    def __init__(self, error: NotOnTape) -> None:
        super().__init__()
        self.error = error


def begin(plays: PlayStore, graph: Graph, version: UUID, tape: Tape) -> UUID:
    """Begin a thread where a tape begins; id, chain and branch are the recorded ones."""
    for channel, value in tape.state.items():
        if is_envelope(value):
            raise InvalidValue(
                deltas.at("$", channel),
                "is encrypted, and its key stays in the installation: this tape cannot be played",
            )
    graph.check_loaded(tape.state)
    row, point, digests = tape.row, tape.point, Digests.of(tape.state, graph.reducers)
    checkpoint = first_checkpoint(
        step=point["step"],
        branch=point["branch"],
        source="input",
        next_nodes=tuple(deltas.decode(point["next_nodes"])),
        delta={"set": tape.state},
        state_hash=digests.root,
        state_bytes=digests.size,
        schema_version=point["schema_version"],
        agent_version=version,
        created_by=row["started_by"],
        config=tape.config or None,
    )
    columns = {
        "workspace_id": row["workspace_id"],
        "agent": graph.name,
        "agent_version_id": version,
        "queue": graph.queue,
        "title": row["title"],
        "started_by": row["started_by"],
        "effects": tape.effects,
        "parent": row["parent"],
        "root": row["root"],
        "depth": row["depth"],
        "chain_id": row["chain_id"],
    }
    data = {"agent": graph.name, "agent_version": str(version), "title": row["title"], "row": {}}
    plays.begin_taped(tape.thread, checkpoint, EventKind.THREAD_STARTED, data=data, row=columns)
    plays.accepted[tape.thread] = tape.versions
    plays.files |= tape.files
    plays.joined |= tape.children
    return tape.thread


class Taped(Rehearsed):
    """A context whose calls are answered by a tape, and refused where it has no answer."""

    def __init__(self, step: Any, node: str, tape: Tape) -> None:
        super().__init__(step, node)
        self._tape = tape
        self._last: Position | None = None
        self._asks: tuple[str, dict[str, Any]] | None = None
        for call in tape.calls(step.number, node):
            step.records[self._position_of(call)] = call
        for request in tape.requests_of(step.number, node):
            # What was open then is asked in the play, so that it can be decided there.
            if request.status != "withdrawn" and not request.open:
                step.requests[request.id] = request
                step.decided.setdefault(self._position_of(request), request)

    # ---- what reaches the tape -----------------------------------------------------------------

    def _position(self, name: str, key: str | None = None) -> Position:
        self._last = super()._position(name, key)
        return self._last

    def _new(self, position: Position, kind: str, tool: str, args: Any, **more: Any) -> NewActivity:
        """Nothing new is ever done: raise what was raised then, or refuse."""
        known = self._step.record_at(position)
        if kind == "value" and more.get("approval"):
            return super()._new(position, kind, tool, args, **more)  # what people said in the play
        if known is not None and known.state == "failed" and _same(known.args, args):
            raise recorded_error(known.error)
        return self._refuse(position, kind, tool, args)

    def effect(
        self,
        tool: Tool,
        args: Mapping[str, Any],
        *,
        gate: Gate | None = None,
        key: str | None = None,
    ) -> Outcome:
        position = self._next(key or tool.name)
        known, value = self._step.record_at(position), plain(dict(args))
        requests = [r for r in self._requests_at(position) if _same(r.args, value)]
        if known is None:
            is_known = bool(requests)
        else:
            done = _same(self._as_done(known, value), known.args)
            is_known = done or any(request.open for request in requests)
        if not is_known:
            self._refuse(position, "effect", tool.name, value)
        return super().effect(tool, args, gate=gate, key=key)

    def ask(
        self,
        question: str,
        *,
        schema: dict[str, Any] | None = None,
        key: str | None = None,
        **more: Any,
    ) -> Answer:
        position = self._next(key or "ask")
        if not any(_same(r.args, {"question": question}) for r in self._requests_at(position)):
            self._refuse(position, "value", "ask", {"question": question})
        return super().ask(question, schema=schema, key=key, **more)

    def send(self, to: Any, message: Any, *, key: str | None = None) -> None:
        self._asks = SEND, {"to": to, "message": plain(message)}
        try:
            super().send(to, message, key=key)
        finally:
            self._asks = None

    def cancel(self, child: Any, *, key: str | None = None) -> None:
        self._asks = CANCEL, {"child": plain(child)}
        try:
            super().cancel(child, key=key)
        finally:
            self._asks = None

    def _boundary(self) -> None:
        super()._boundary()
        if self._asks is not None and self._last is not None:
            self._refuse(self._last, "activity", *self._asks)

    def _version(self, agent: str) -> AgentRow:
        """A child's version is not looked at: what is not on the tape is refused after it."""
        return cast(AgentRow, None)

    def _deadline(self, position: Position, within: float | None) -> float | None:
        """A join that comes here was not answered by the tape."""
        return self._refuse(position, "activity", "join", None)

    def _joined(self, result: Sequence[Mapping[str, Any]], handles: Any) -> Joined:
        for row in result:
            point = UUID(row["thread"]), UUID(row["checkpoint"])
            if row["status"] == Status.SUCCEEDED and point not in self._tape.children:
                why = f"the child {row['thread']} is not in the capsule: export with children."
                self._raise("ctx.join", why)
        return super()._joined(result, handles)

    # ---- refusals ------------------------------------------------------------------------------

    def _next(self, label: str) -> Position:
        """The position of the next call."""
        ordinal = self._ordinals.get(label, 0)
        step = self._step
        return Position(step.work.branch, step.number, self._node, 0, f"{label}#{ordinal}")

    def _position_of(self, row: ActivityRow | ApprovalRow) -> Position:
        # In the branch of the play: a fork of it keeps to the tape as well.
        return Position(self._step.work.branch, row.step, row.node, row.index, row.key)

    def _requests_at(self, position: Position) -> list[ApprovalRow]:
        return [
            request
            for request in self._tape.requests_of(self._step.number, self._node)
            if self._position_of(request) == position
        ]

    def _refuse(self, position: Position, kind: str, tool: str, args: Any) -> NoReturn:
        call = _CALLS.get(kind, "ctx")
        name = call if kind == "model" else f"{call} {tool!r}" if call != "ctx" else f"ctx.{tool}"
        name = f"ctx.{tool}" if kind == "activity" and tool in _OWN else name
        known = self._step.record_at(position)
        requests = self._requests_at(position)
        if known is not None and args is not None:
            self._raise(name, first_difference(known.args, args))
        if known is None and requests and args is not None:
            if _same(requests[-1].args, args):
                self._raise(name, "the tape ends here: nobody had decided this request yet.")
            self._raise(name, first_difference(requests[-1].args, args))
        others = [row.key for row in self._tape.calls(self._step.number, self._node)]
        if others:
            self._raise(name, f"there the tape has {', '.join(dict.fromkeys(others))[:SHOWN]}.")
        self._raise(name, f"it has nothing there. The thread was {self._tape.end}.")

    def _raise(self, call: str, difference: str) -> NoReturn:
        raise OffTape(NotOnTape(self._node, self._step.number, call, difference))


def _same(old: Any, new: Any) -> bool:
    return deltas.canonical(old) == deltas.canonical(new)


def first_difference(old: Any, new: Any, path: str = "$") -> str:
    """The first place where two JSON values differ, with both values, as a sentence."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted(old.keys() | new.keys()):
            inner = deltas.at(path, name)
            if name not in new:
                return f"{inner} is missing; the tape has {_short(old[name])}."
            if name not in old:
                return f"{inner} is {_short(new[name])}; the tape has none."
            if not _same(old[name], new[name]):
                return first_difference(old[name], new[name], inner)
    if isinstance(old, list) and isinstance(new, list):
        for number, (then, now) in enumerate(zip(old, new, strict=False)):
            if not _same(then, now):
                return first_difference(then, now, deltas.at(path, number))
        return f"{path} has {len(new)} items; the tape has {len(old)}."
    return f"{path} is {_short(new)}; the tape has {_short(old)}."


def _short(value: Any) -> str:
    text = deltas.canonical(value).decode()
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def recorded_error(text: str) -> Exception:
    """An error as it was recorded: of a built-in type where it names one, its text in any case."""
    name, _, message = text.partition(": ")
    kind: Callable[..., Any] | None = getattr(builtins, name, None)
    if isinstance(kind, type) and issubclass(kind, Exception):
        try:
            error = kind(message) if message else kind()
        except TypeError:
            return RecordedError(text)
        return error
    return RecordedError(text)
