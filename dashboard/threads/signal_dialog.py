"""The dialog of a signal sent by hand: which wait it is for, and what that wait answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from checkpoints import queries
from checkpoints.queries.why import awaited_signals
from dashboard.errors import NotAllowedNow
from dashboard.fields.shapes import Option
from dashboard.identity.permissions import Actor, allowed_actions
from dashboard.kit.dialog import dialog

from .signal import SIGNAL


def _signal(who: Actor, texts: Mapping[str, str], *_: object, thread_id: UUID) -> dict[str, Any]:
    thread = queries.thread(thread_id, workspace=who.workspace)
    allowance = allowed_actions(who, thread)["signal"]
    if not allowance.allowed:
        raise NotAllowedNow(allowance.why)
    awaited = awaited_signals(thread)
    options = {"name": [Option(name, name) for name in awaited]} if awaited else {}
    return {"thread": thread, "awaited": awaited, "options": options}


signal = dialog(SIGNAL, "threads/signal.html", _signal, fields=("name", "value"))
