"""What a person asks another person to allow: a fork, a rollback, an edit or a retry, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from approvals.queries import ApprovalRow

from .people import people

WORDS = {
    "fork": "Fork the thread: a new thread begins from a checkpoint of this one",
    "roll_back": "Roll the thread back: what came after a checkpoint is undone",
    "edit": "Edit the thread’s state: a person writes values over what the agent computed",
    "retry": "Do an effect again whose outcome is unknown",
}


@dataclass(frozen=True, slots=True)
class Operation:
    """Who asked for what; `details` are (name, text) of what they gave."""

    by: str
    words: str
    reason: str
    details: tuple[tuple[str, str], ...]


def operation(row: ApprovalRow) -> Operation:
    """The operation of a request of the kind `operation`."""
    args: Mapping[str, Any] = row.args if isinstance(row.args, Mapping) else {}
    name = str(args.get("operation") or row.tool or row.key.partition(":")[0])
    by = str(args.get("by") or args.get("actor") or "")
    who = str(args.get("by_name") or people([by]).get(by) or by or "A person")
    details = tuple(
        (label, str(args[key]))
        for key, label in (
            ("number", "Checkpoint"),
            ("checkpoint", "Checkpoint"),
            ("title", "Title"),
            ("effects", "Effects"),
        )
        if args.get(key) not in (None, "")
    )
    words = WORDS.get(name, name.replace("_", " ").capitalize())
    return Operation(who, words, str(args.get("reason") or ""), details)
