"""Operations that need another person's approval, in words: fork, rollback, edit, retry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from approvals.queries import ApprovalRow
from checkpoints.state import deltas
from checkpoints.views import EventRow
from dashboard.identity.people import people

WORDS = {
    "fork": "Fork the thread: a new thread begins from a checkpoint of this one",
    "roll_back": "Roll back the thread: effects after a checkpoint are undone, most recent first",
    "edit": "Edit the thread’s state: a person overwrites values the agent computed",
    "retry": "Retry the thread from where it stopped",
    "skip": "Skip a node: the thread continues as if the node had returned no update",
    "signal": "Send a signal: the thread takes its value as news from outside",
    "settle": "State what happened to an effect with an unknown outcome",
}
# The arguments that people read, in this order; the exact JSON below has all of them.
DETAILS = (
    ("title", "Title"),
    ("name", "Signal"),
    ("value", "Its value"),
    ("effects", "Effects"),
    ("budget", "Budget"),
    ("instead_of", "Instead of the call"),
    ("output", "Its output"),
    ("verdict", "What holds"),
    ("node", "Node"),
    ("activity", "Effect"),
    ("compensate", "Undo effects"),
    ("run_on", "Continue afterwards"),
    ("children", "Cancel children started since"),
)
OUTCOMES = ("operation.done", "operation.failed")
DETAIL_CHARS = 500


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation and its author; `changes` are new values by channel, `details` (name, text).

    `checkpoint` is the id of the one that it names; empty where it names none.
    """

    by: str
    words: str
    reason: str
    details: tuple[tuple[str, str], ...]
    changes: Any
    checkpoint: str = ""


def arguments_of(row: ApprovalRow) -> Mapping[str, Any]:
    """The arguments of an operation, whatever stands beside them in the request."""
    args: Mapping[str, Any] = row.args if isinstance(row.args, Mapping) else {}
    value = args.get("arguments")
    return value if isinstance(value, Mapping) else args


def operation(row: ApprovalRow) -> Operation:
    """The operation of a request of the kind `operation`."""
    args: Mapping[str, Any] = row.args if isinstance(row.args, Mapping) else {}
    payload = arguments_of(row)
    by = str(args.get("asked_by") or "")
    who = str(args.get("asked_by_name") or people([by]).get(by) or by or "A person")
    details = tuple(
        (label, _text(payload[key]))
        for key, label in DETAILS
        if payload.get(key) not in (None, "") and (key != "children" or payload[key])
    )
    words = WORDS.get(row.tool, row.tool.replace("_", " ").capitalize())
    reason, checkpoint = (str(payload.get(name) or "") for name in ("reason", "checkpoint_id"))
    return Operation(who, words, reason, details, payload.get("changes"), checkpoint)


def carried_out(row: ApprovalRow, log: Iterable[EventRow]) -> str:
    """The result of an approved operation, from the log; empty before."""
    for event in log:
        if event.kind in OUTCOMES and event.data.get("approval") == str(row.id):
            return str(event.data.get("said") or "Done.")
    return ""


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict | list):
        text = deltas.canonical(value).decode()
        more = len(text) - DETAIL_CHARS
        return f"{text[:DETAIL_CHARS]} … {more:,} more characters" if more > 0 else text
    return str(value)


def budget_words(data: Mapping[str, Any]) -> str:
    """The owner of a budget, as it stands in a sentence: "agent payments", "the workspace"."""
    scope, name = data.get("scope"), data.get("name")
    return f"{scope} {name}" if name else "the workspace"


def budget_limit(data: Mapping[str, Any]) -> str:
    """The limit of a budget: "$25 and 1,000 tokens"."""
    cost, tokens = data.get("max_cost"), data.get("max_tokens")
    parts = [f"${cost}"] if cost is not None else []
    parts += [f"{tokens:,} tokens"] if tokens is not None else []
    return " and ".join(parts) or "?"
