"""Separate an event's content from what only names or dates it; pure.

Two runs that did the same have other ids, times, salts, hashes, workers and attempts. What is left
of an event without them is its content; `Slot` says where in its step it stands, so that nodes
that work at the same time may finish in any order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from checkpoints.queries.compared.steps import LoggedEvent, LoggedStep
from checkpoints.states import EventKind
from dashboard.wording import events
from dashboard.wording.events import CALL, CHANGE, CHECKPOINT, REQUEST, STEP_FAILURE

# Kinds that are about nothing (leases, pauses, retries, cursors) only say how the work was done.
ABOUT: Final[Mapping[str, str]] = {
    kind: display.compared for kind, display in events.KINDS.items() if display.compared
}
KINDS: Final = tuple(sorted(map(str, ABOUT)))
# Members of an event's own data that name, date, count or measure.
_NAMES: Final = frozenset(
    {
        *("activity", "agent_version", "approval", "at", "attempt", "branch", "by", "by_name"),
        *("base", "base_chain", "base_checkpoint", "base_hash", "base_number", "base_seq"),
        *("call", "chain", "checkpoint", "child", "decided_at", "decision", "decision_hash"),
        *("effective_at", "gatepost", "idempotency_key", "input", "inputs", "lost", "number"),
        *("owner", "parent", "proposal_hash", "python", "retry_in", "seal", "sent_by", "seq"),
        *("step", "thread", "usage", "worker"),
    }
)
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?")
_HEX = re.compile(r"[0-9a-f]{32,128}", re.IGNORECASE)
# Of values of agents a time or a hash is left out only under a name that says what it is.
_TIMES = re.compile(r"(?:.*_)?(?:at|time|timestamp|ts|created|updated)", re.IGNORECASE)
_HASHES = re.compile(r"(?:.*_)?(?:hash|salt|digest|seal|etag|checksum|nonce)", re.IGNORECASE)
ID, TIME, HASH = "<id>", "<time>", "<hash>"


class Slot(NamedTuple):
    """The position of something in a step: what it is about, node, fan-out slot, key, how often."""

    about: str
    node: str = ""
    ordinal: int = 0
    key: str = ""
    nth: int = 0


@dataclass(frozen=True, slots=True)
class Content:
    """The contribution of one event; `seq` finds it in the log of its thread."""

    slot: Slot
    value: dict[str, Any]
    seq: int
    kind: str


def without_names(value: Any, key: str = "") -> Any:
    """A value of an agent without ids, and without the times and hashes that say they are such."""
    if isinstance(value, dict):
        return {name: without_names(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [without_names(item, key) for item in value]
    if not isinstance(value, str):
        return TIME if key and _is_number(value) and _TIMES.fullmatch(key) else value
    if _UUID.fullmatch(value):
        return ID
    if _TIMES.fullmatch(key) and _TIME.fullmatch(value):
        return TIME
    if _HASHES.fullmatch(key) and _HEX.fullmatch(value):
        return HASH
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 1e9


def contents_of(step: LoggedStep) -> list[Content]:
    """The contents of a step in the order of the log, each at a slot of its own.

    Of a call that was tried several times the last outcome counts. A failure counts only where no
    checkpoint followed it. What a rollback left behind does not count.
    """
    slots: dict[Slot, Content] = {}
    for content in _contents(step):
        slot = content.slot
        if slot.about != CALL:
            while slot in slots:
                slot = slot._replace(nth=slot.nth + 1)
        slots.pop(slot, None)
        slots[slot] = Content(slot, content.value, content.seq, content.kind)
    return list(slots.values())


def _contents(step: LoggedStep) -> Iterator[Content]:
    for event in step.events:
        about = ABOUT.get(event.kind, "")
        if about in ("", CHECKPOINT, CHANGE) or not _belongs(event, step):
            continue
        if about == STEP_FAILURE and step.source:
            continue
        yield _content(event, about)
    if not step.source:
        return
    if step.source == "step":
        value = {
            "nodes": sorted(step.nodes),
            "next": sorted(step.next_nodes),
            "changes": without_names(step.delta),
        }
        kind = EventKind.CHECKPOINT_COMMITTED
        yield Content(Slot(CHECKPOINT), value, step.seq, kind)
    elif step.delta and step.source != "rollback":
        value = {"changes": without_names(step.delta)}
        yield Content(Slot(CHANGE), value, step.seq, step.source)


def _belongs(event: LoggedEvent, step: LoggedStep) -> bool:
    """Return whether an event belongs to the step, not to one left behind before its commit."""
    branch, number = event.data.get("branch"), event.data.get("step")
    wanted = step.step
    return branch in (None, step.branch) and (number in (None, wanted) or not step.source)


def _content(event: LoggedEvent, about: str) -> Content:
    data = event.data
    node = str(data.get("node") or data.get("from") or "")
    if about == CALL:
        slot = Slot(about, node, event.fan_out or 0, str(data.get("key") or data.get("tool") or ""))
        value = {
            "state": event.state or data.get("state") or event.kind,
            "args": without_names(event.args),
            "result": _answer(event),
            "error": event.error or data.get("error") or "",
        }
        return Content(slot, value, event.seq, event.kind)
    own = {name: value for name, value in data.items() if name not in _NAMES}
    key = str(data.get("tool") or "") if about == REQUEST else ""
    value = {"kind": event.kind, **without_names(own)}
    return Content(Slot(about, node, 0, key), value, event.seq, event.kind)


def _answer(event: LoggedEvent) -> Any:
    """The answer of a call; a model's numbers for the calls that it asks for are names."""
    value = without_names(event.result)
    if event.activity == "model" and isinstance(value, dict):
        calls = [
            {k: v for k, v in call.items() if k != "id"} if isinstance(call, dict) else call
            for call in value.get("tool_calls") or ()
        ]
        return value | {"tool_calls": calls}
    return value
