"""Threads that a node starts and waits for: children, each with a record of its own."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal
from uuid import UUID

from checkpoints.errors import NotFound
from checkpoints.queries import ChildRow
from checkpoints.records import Position
from checkpoints.state import deltas
from checkpoints.state.encrypted import is_envelope, readers_of
from checkpoints.states import FINISHED, EventKind, Status
from checkpoints.store import CHILDREN_AT_ONCE, NewChild, NewEvent, derived_id
from checkpoints.views import ActivityRow, AgentRow

from ..authoring.checks import check_text, shown
from ..authoring.children import (
    KEY,
    Child,
    ChildrenFailed,
    Failure,
    Joined,
    Need,
    check_need,
    child_of,
    failed_message,
)
from ..authoring.errors import ChildrenAwaited, StepFailed
from ..authoring.frozen import plain
from ..step.advice import check_key, check_seconds, storable
from .effects import Effects

EVENT_CHILDREN = 100  # children that one event names
CHILDREN_MAX = 100_000
OPEN = "open"
HAND_OFF, SEND, CANCEL = "hand_off", "send", "cancel"
LEFT = "It had not ended in time."


class Children(Effects):
    """A node's children in one step."""

    def spawn(
        self, agent: str, input: Mapping[str, Any], *, key: str | None = None, title: str = ""
    ) -> Child:
        """Start a thread of another agent (or the same) without waiting for it; `join` does.

        The child is a thread of its own: checkpoints, gates, code version, and the workspace of
        this one. It is started once, whatever is killed when. With another input at the same
        place another child is started; the former stays as it is.
        """
        (child,) = self._spawned("spawn", agent, [input], key=key, titles=[title])
        return child

    def join(
        self,
        children: Sequence[Any],
        *,
        need: Need = "all",
        within: float | None = None,
        failures: Literal["raise", "list"] = "raise",
    ) -> Joined:
        """Wait for children without a worker; the results of those that succeeded.

        1. Answer from the record if this join has finished before: for good.
        2. Read the children, and leave the node while the outcome is not decided.
        3. Raise ChildrenFailed if too few succeeded; failures="list" lists those that did not.
        4. Record how each child stands, and answer.

        `need` is "all", "any" or how many have to succeed; the node continues as soon as that is
        decided, or after `within` seconds, counted from the first time it reaches this join.
        """
        handles = [child_of(child) for child in children]
        count = check_need(need, failures, handles)
        check_seconds(within, "within=")
        position = self._position("join")
        args = {
            "children": [child["$thread"] for child in handles],
            "need": count,
            "failures": failures,
        }
        known = self._step.record_at(position)
        if known is not None and known.state == "done" and _same(known, args):
            return self._joined(known.result, handles)
        until = self._deadline(position, within)
        current = self._children_now(handles)
        succeeded = sum(row.status is Status.SUCCEEDED for row in current)
        ended = sum(row.status in FINISHED for row in current)
        left = None if until is None else until - self._step.ledger.clock()
        beyond = failures == "raise" and ended - succeeded > len(current) - count
        if succeeded < count and ended < len(current) and not beyond and (left is None or left > 0):
            raise ChildrenAwaited([row.id for row in current], count, failures == "raise", left)
        result = [_outcome(row) for row in current]
        if failures == "raise" and succeeded < count:
            joined = self._joined(result, handles)
            raise ChildrenFailed(failed_message(joined, count), joined)
        self._boundary()
        revision = self._step.revision(position, same=False)
        activity = self._new(position, "activity", "join", args, revision=revision)
        for i in range(0, len(result), EVENT_CHILDREN):
            data = {"activity": str(activity.id), "children": result[i : i + EVENT_CHILDREN]}
            self._step.add_event(NewEvent(EventKind.CHILD_JOINED, data, self._step.work.owner))
        events = self._step.take_events()
        self._step.ledger.record(self._step.work, activity, result=result, events=events)
        return self._joined(result, handles)

    def map(
        self,
        agent: str,
        items: Sequence[Mapping[str, Any]],
        *,
        at_most: int | None = 8,
        need: Need = "all",
        within: float | None = None,
        failures: Literal["raise", "list"] = "raise",
        key: str | None = None,
    ) -> Joined:
        """Start a child for each input and join them; at most `at_most` work at a time.

        The next one begins when one ends. None of `at_most` means no limit.
        """
        if at_most is not None and (isinstance(at_most, bool) or not at_most >= 1):
            raise StepFailed(f"at_most= is a number of at least 1, or None, not {shown(at_most)}.")
        children = self._spawned("map", agent, items, key=key, at_most=at_most or 0)
        return self.join(children, need=need, within=within, failures=failures)

    def hand_off(self, agent: str, state: Mapping[str, Any] | None = None) -> Child:
        """End this thread with this step, and let another agent continue from its last checkpoint.

        The other one begins with the values of channels that both have, shared and not copied, and
        with `state` over them. It has a thread of its own: killed, it continues from there. What
        waits for this thread (`ctx.join` of its parent) waits for that one.
        """
        check_text(agent, "The name of an agent")
        values = plain(dict(state or {}))
        storable(values, f"What is handed over to {agent!r}")
        self._step.refuse_secrets(values, f"What is handed over to {agent!r}")
        position = self._position(HAND_OFF)
        if position.key != f"{HAND_OFF}#0" or self._step.handed:
            raise StepFailed("A thread hands over once: its step has done so already.")
        version = self._version(agent)  # before it is on record: one that nobody has fails here
        thread = str(derived_id("child", self._key(position)))
        hidden = readers_of(version.channels).keys()
        args = {"agent": agent, "state": self._hidden(values, hidden)}

        def handed() -> dict[str, Any]:
            state = self._hidden(values, hidden, sealed=True)
            return {"agent": agent, "state": state, "thread": thread}

        result = self._once(position, "value", HAND_OFF, args, handed)
        self._step.handed.append(result)
        return Child(result["thread"])

    def cancel(self, child: Any, *, key: str | None = None) -> None:
        """Cancel a child with all that it started, once; a join sees it as cancelled.

        What it did stays done. A child that has ended stays as it ended; one at work loses its
        lease, so its late end is refused. It is cancelled within seconds: join it to wait for that.
        """
        handle = child_of(child)
        position = self._position(CANCEL, key)
        args = {"child": handle[KEY]}
        known = self._step.record_at(position)
        if known is not None and known.state == "done" and _same(known, args):
            return
        self._step.refuse_secrets(args, "A message")
        self._boundary()
        work, ledger = self._step.work, self._step.ledger
        row = ledger.children(work, [handle.thread]).get(handle.thread)
        if row is None:
            raise StepFailed(f"The thread {handle.thread} is not a child of this one.")
        revision = self._step.revision(position, same=False)
        activity = self._new(position, "activity", CANCEL, args, revision=revision)
        ledger.cancel_child(work, activity, child=row.id, events=self._step.take_events())

    # ---- messages --------------------------------------------------------------------------------

    @property
    def parent(self) -> Child | None:
        """The thread that started this one."""
        parent = self._step.work.parent
        return None if parent is None else Child(parent)

    def send(self, to: Any, message: Any, *, key: str | None = None) -> None:
        """Send a message into another thread, once: a child, the parent, or any other by its id.

        It joins the message channel of that thread as what people send does: each message as it
        is, in the order of the receiver's log, however many threads write at the same time.
        """
        handle = child_of(to if isinstance(to, Mapping) else {KEY: to})
        position = self._position(SEND, key)
        args = {"to": handle[KEY], "message": plain(message)}
        storable(args, "A message")
        known = self._step.record_at(position)
        if known is not None and known.state == "done" and _same(known, args):
            return
        self._boundary()
        work = self._step.work
        try:
            if not self._step.ledger.message_channel_of(work, handle.thread):
                raise StepFailed(
                    f"The agent of {handle.thread} takes no messages: it has no message channel."
                )
        except NotFound as error:
            raise StepFailed(error.message) from error
        revision = self._step.revision(position, same=False)
        activity = self._new(position, "activity", SEND, args, revision=revision)
        events = self._step.take_events()
        self._step.ledger.send(work, activity, to=handle.thread, result=None, events=events)

    # ---- how they are started ------------------------------------------------------------------

    def _spawned(
        self,
        name: str,
        agent: str,
        inputs: Sequence[Mapping[str, Any]],
        *,
        key: str | None = None,
        titles: Sequence[str] = (),
        at_most: int = 0,
    ) -> list[Child]:
        """The children of one call, started now where they are not yet, some by one statement."""
        check_text(agent, "The name of an agent")
        check_key(agent)
        for title in titles:
            check_text(title, "A child's title")
        values = _checked_inputs(inputs)
        position = self._position(f"{name} {agent}" if key is None else key)
        children: list[Child] = []
        for index in range(0, len(values), CHILDREN_AT_ONCE):
            some = values[index : index + CHILDREN_AT_ONCE]
            batch = replace(position, index=index // CHILDREN_AT_ONCE)
            children += self._batch(batch, position, agent, some, index, titles, at_most)
        return children

    def _batch(
        self,
        position: Position,
        first: Position,
        agent: str,
        inputs: Sequence[dict[str, Any]],
        begins: int,
        titles: Sequence[str],
        at_most: int,
    ) -> list[Child]:
        more: dict[str, Any] = {"titles": list(titles)} if any(titles) else {}
        if at_most:
            more["at_most"] = at_most
        plain_args = {"agent": agent, "inputs": list(inputs), **more}
        storable(plain_args, f"What children of {agent!r} are started with")
        step = self._step
        known = step.record_at(position)
        if known is not None and known.state == "done":
            hidden = {c for one in known.args["inputs"] for c, v in one.items() if is_envelope(v)}
            args = {**plain_args, "inputs": [self._hidden(value, hidden) for value in inputs]}
            if _same(known, args):
                return [Child(thread) for thread in known.result["children"]]
        step.refuse_secrets(plain_args, f"What children of {agent!r} are started with")
        self._boundary()
        step.flush_if_many()
        revision = step.revision(position, same=False)
        version = self._version(agent)
        hidden = set(readers_of(version.channels))
        args = {**plain_args, "inputs": [self._hidden(value, hidden) for value in inputs]}
        base = self._key(first, revision)
        children = []
        for offset, value in enumerate(inputs):
            ordinal = begins + offset
            hold = "" if not at_most else "released" if ordinal < at_most else "held"
            title = titles[ordinal] if titles else ""
            new = NewChild(derived_id("child", base, ordinal), value, title, ordinal, hold)
            children.append(new)
        activity = self._new(position, "activity", "spawn", args, revision=revision)
        step.ledger.spawn(
            step.work,
            activity,
            version,
            children,
            fan_out=derived_id("fan-out", base),
            at_most=at_most,
            events=step.take_events(),
        )
        return [Child(child.id) for child in children]

    def _hidden(
        self, values: Mapping[str, Any], channels: Collection[str], *, sealed: bool = False
    ) -> dict[str, Any]:
        """Values for another agent as they are recorded: those of its encrypted channels hidden.

        By their fingerprints, which are equal for equal values; `sealed`, so that they can be read.
        """
        names = [channel for channel in values if channel in channels]
        cipher = self._step.ledger.channel_cipher(self._step.work) if names else None
        if cipher is None:
            return dict(values)
        hide = cipher.seal if sealed else cipher.fingerprint
        return {**values, **{channel: hide(channel, values[channel]) for channel in names}}

    def _version(self, agent: str) -> AgentRow:
        """The version of an agent that a child of it begins with."""
        try:
            return self._step.ledger.agent(self._step.work, agent)
        except NotFound as error:
            raise StepFailed(error.message) from error

    # ---- how they ended --------------------------------------------------------------------------

    def _children_now(self, handles: Sequence[Child]) -> list[ChildRow]:
        """The rows of children in the order of their handles; raises StepFailed for another's."""
        rows = self._step.ledger.children(self._step.work, [child.thread for child in handles])
        for child in handles:
            if child.thread not in rows:
                raise StepFailed(f"The thread {child.thread} is not a child of this one.")
        return [rows[child.thread] for child in handles]

    def _deadline(self, position: Position, within: float | None) -> float | None:
        """The deadline of a join, recorded when the join is first reached."""
        if within is None:
            return None
        clock = self._step.ledger.clock
        own = replace(position, key=f"{position.key} within")
        until = self._once(own, "value", "within", {"seconds": within}, lambda: clock() + within)
        return float(until)

    def _joined(self, result: Sequence[Mapping[str, Any]], handles: Sequence[Child]) -> Joined:
        """The result of a join, from its record; states are read where they were joined."""
        joined = Joined()
        points = []
        for child, row in zip(handles, result, strict=True):
            if row["status"] == Status.SUCCEEDED:
                joined.children.append(child)
                state_hash = bytes.fromhex(row["state_hash"])
                points.append((UUID(row["thread"]), UUID(row["checkpoint"]), state_hash))
            else:
                status, reason = row["status"], row["reason"]
                failure = Failure(child, row["agent"], row["title"], status, reason)
                joined.failures.append(failure)
        joined.results.extend(self._step.ledger.states_at(points))
        return joined


def _outcome(row: ChildRow) -> dict[str, Any]:
    """A child as the record of a join names it: how it ended, or that it has not."""
    is_finished = row.status in FINISHED
    return {
        "thread": str(row.id),
        "agent": row.agent,
        "title": row.title,
        "status": str(row.status) if is_finished else OPEN,
        "reason": row.reason if is_finished else LEFT,
        "checkpoint": str(row.head),
        "state_hash": row.state_hash.hex(),
        "seq": row.last_seq,
        "hash": row.last_hash.hex(),
    }


def _same(known: ActivityRow, args: Any) -> bool:
    return deltas.canonical(known.args) == deltas.canonical(args)


def _checked_inputs(inputs: Any) -> list[dict[str, Any]]:
    if isinstance(inputs, str | bytes | Mapping) or not isinstance(inputs, Sequence):
        raise StepFailed(f"The items are a list of inputs, not {shown(inputs)}.")
    if len(inputs) > CHILDREN_MAX:
        raise StepFailed(f"At most {CHILDREN_MAX:,} children are started together.")
    values = plain(list(inputs))
    for value in values:
        if not isinstance(value, dict):
            raise StepFailed(f"The input of a child is a dict of channels, not {shown(value)}.")
    return list(values)
