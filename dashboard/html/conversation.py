"""Messages of a channel as a conversation: who said what, and how each call of a tool went."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from approvals.queries import ApprovalRow
from checkpoints.state import deltas, marked
from checkpoints.states import Status
from checkpoints.views import ActivityRow
from dashboard.wording.sentences import as_json, as_text, decider
from dashboard.wording.text import number

ROWS, ROWS_MAX = 40, 200
CHARACTERS = 24_000  # of a page of messages
TEXT_MAX, CALL_MAX = 6_000, 2_000  # of a message, of a call's arguments or result
# How a call stands whose result is no message yet, by the state of its save point.
STATES = {
    "started": ("t-run", "run", "Running"),
    "done": ("t-done", "done", "Done"),
    "failed": ("t-fail", "fail", "Failed"),
    "unknown": ("t-stuck", "stuck", "Outcome unknown"),
}
ERROR, NOT_CARRIED_OUT = "Error:", "Not carried out"  # as workers.react words it
ROLES = {
    "user": "User",
    "assistant": "Assistant",
    "system": "Instructions",
    "developer": "Instructions",
    "tool": "Tool result",
}


@dataclass(frozen=True, slots=True)
class Words:
    """A text as it is shown; `more` characters of it are not."""

    text: str
    more: int = 0


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a message, as far as known: its author, time and checkpoint."""

    name: str = ""
    href: str = ""
    at: datetime | None = None
    number: int | None = None
    checkpoint: str = ""
    branch: int = 0
    step: int = 0
    usage: str = ""


NOWHERE = Source()


@dataclass(frozen=True, slots=True)
class Call:
    """A tool that a model called: with which arguments, what came back, how it stands."""

    name: str
    arguments: Words
    result: Words | None
    tone: str
    icon: str
    word: str
    by: str = ""
    approval: UUID | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """A message, or with the role `summary` what stands for those before it."""

    number: int
    role: str
    who: str
    words: Words
    source: Source = NOWHERE
    calls: tuple[Call, ...] = ()


def channel_of(channels: Mapping[str, Any], state: Mapping[str, Any], inbox: str) -> str:
    """The Append channel that holds a conversation: the inbox, else one of messages; "" if none."""
    appended = [name for name, spec in channels.items() if spec.get("reducer") == "append"]
    for name in sorted(appended, key=lambda name: name != inbox):
        items = state.get(name)
        if isinstance(items, list) and items and (name == inbox or _are_messages(items)):
            return name
    return ""


def _are_messages(items: Sequence[Any]) -> bool:
    return all(
        isinstance(item, Mapping) and isinstance(item.get("role"), str) and "content" in item
        for item in items
    )


def window(items: Sequence[Any], before: int | None) -> range:
    """The indexes of a page of messages that ends before the message of this number."""
    end = len(items) if before is None else max(0, min(before - 1, len(items)))
    start, size = end, 0
    while start > 0 and end - start < ROWS:
        size += min(TEXT_MAX, len(_text(items[start - 1])))
        if size > CHARACTERS and start < end:
            break
        start -= 1
    # A result belongs to the call above it.
    while start > 0 and end - start < ROWS_MAX and _role(items[start]) == "tool":
        start -= 1
    return range(start, end)


def lines(
    items: Sequence[Any],
    shown: range,
    *,
    summary: Any,
    sources: Mapping[int, Source],
    requests: Sequence[ApprovalRow],
    activities: Sequence[ActivityRow],
    status: Status,
) -> Iterator[Line]:
    """The messages of a page, oldest first; a result stands with its call."""
    answered: set[int] = set()
    requests = list(reversed(requests))  # the oldest first
    activities = list(reversed(activities))
    for index in shown:
        if line := _summary_before(index, summary):
            yield line
        if index in answered:
            continue
        item, source = items[index], sources.get(index, NOWHERE)
        calls: list[Call] = []
        for call in _calls(item):
            position = _answer_to(call, items, index)
            if position is not None:
                answered.add(position)
            result = None if position is None else _text(items[position])
            request = _led_to(call, requests, source)
            activity = _led_to(call, activities, source)
            calls.append(_call(call, result, request, activity, status))
        role = _role(item)
        who = source.name or ROLES.get(role, role.capitalize() or "Message")
        yield Line(index + 1, role, who, words(_text(item), TEXT_MAX), source, tuple(calls))


def words(text: str, at_most: int) -> Words:
    """A text up to a number of characters."""
    return Words(text[:at_most], max(0, len(text) - at_most))


def _summary_before(index: int, summary: Any) -> Line | None:
    """The summary that stands for all messages before this one."""
    if not isinstance(summary, Mapping) or summary.get("messages") != index or not index:
        return None
    text = words(str(summary.get("text", "")), TEXT_MAX)
    many = "message" if index == 1 else f"{number(index)} messages"
    return Line(index, "summary", f"Summary of the first {many}", text)


def _role(item: Any) -> str:
    return str(item.get("role") or "") if isinstance(item, Mapping) else ""


def _text(item: Any) -> str:
    """The text of a message; all of it as JSON if it has another form."""
    item = marked.shown(item)
    if not isinstance(item, Mapping):
        return as_text(item)
    for key in ("content", "text", "message"):
        value = item.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and value:
            return "\n".join(_part(part) for part in value)
    if item.get("tool_calls") or item.get("content", "") is None:
        return ""
    return as_json({key: value for key, value in item.items() if key != "role"})


def _part(part: Any) -> str:
    text = part.get("text") if isinstance(part, Mapping) else part
    return text if isinstance(text, str) else as_json(part)


def _calls(item: Any) -> list[Mapping[str, Any]]:
    calls = item.get("tool_calls") if isinstance(item, Mapping) else None
    return [c for c in calls if isinstance(c, Mapping)] if isinstance(calls, list) else []


def _answer_to(call: Mapping[str, Any], items: Sequence[Any], index: int) -> int | None:
    """The index of a call's result: before the next answer of the model."""
    for position in range(index + 1, len(items)):
        role = _role(items[position])
        if role == "assistant":
            return None
        if role == "tool" and items[position].get("tool_call_id") == call.get("id"):
            return position
    return None


def _led_to[T: (ApprovalRow, ActivityRow)](
    call: Mapping[str, Any], rows: list[T], source: Source
) -> T | None:
    """The request, or the save point, that a call of this message led to; one for one call."""
    same = [
        row
        for row in rows
        if row.tool == call.get("name")
        and row.branch >= source.branch
        and row.step > source.step
        and _same(row.args, call.get("arguments"))
    ]
    if not same:
        return None
    first = min(row.step for row in same)
    # After a rollback the same was asked again.
    branch = max(row.branch for row in same if row.step == first)
    row = next(row for row in same if (row.branch, row.step) == (branch, first))
    rows.remove(row)
    return row


def _same(args: Any, arguments: Any) -> bool:
    """True if the recorded arguments equal those of the call."""
    if isinstance(args, Mapping) and args.keys() == {"args", "kwargs"} and not args["args"]:
        args = args["kwargs"]  # of a function
    return deltas.canonical(args) == deltas.canonical(arguments)


def _call(
    call: Mapping[str, Any],
    result: str | None,
    request: ApprovalRow | None,
    activity: ActivityRow | None,
    status: Status,
) -> Call:
    arguments = call.get("arguments")
    text = str(call.get("raw", "")) if arguments is None else as_json(arguments)
    if call.get("error"):
        text = f"{text}\n{call['error']}"
    look = _decided(result, request) or _worked(result, activity)
    if result is None and activity is not None and activity.state == "done":
        result = _text(activity.result)
    return Call(
        str(call.get("name") or "a tool"),
        words(text, CALL_MAX),
        None if result is None else words(result, CALL_MAX),
        *(look or _to_come(request, status)),
        by=decider(request) if request is not None and request.outcome else "",
        approval=None if request is None else request.id,
    )


CallLook = tuple[str, str, str]  # tone, icon, word


def _decided(result: str | None, request: ApprovalRow | None) -> CallLook | None:
    """The look of a call by its approval; None if allowed and still without a result."""
    if request is None:
        return None
    if request.open:
        return "t-wait", "wait", "Waiting for approval"
    if request.outcome == "reject":
        return "t-fail", "fail", "Rejected"
    if result is None or not request.outcome or result.startswith(ERROR):
        return None
    edited = request.outcome == "edit"
    return "t-done", "done", "Approved with edits" if edited else "Approved"


def _worked(result: str | None, activity: ActivityRow | None) -> CallLook | None:
    """The look of a call by its result, else by its recorded activity."""
    if result is None:
        return STATES.get(activity.state) if activity is not None else None
    if result.startswith(ERROR):
        return STATES["failed"]
    if result.startswith(NOT_CARRIED_OUT):
        return "t-fail", "fail", "Not carried out"
    return STATES["done"]


def _to_come(request: ApprovalRow | None, status: Status) -> CallLook:
    """The look of a call that nothing is recorded of yet."""
    if status in (Status.SUCCEEDED, Status.CANCELLED):
        return "t-idle", "cancel", "Not carried out"
    if request is not None and request.outcome:
        return "t-run", "run", "Approved"
    return "t-idle", "queued", "Not carried out yet"
