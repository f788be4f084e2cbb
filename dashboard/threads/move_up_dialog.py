"""The dialog that moves a queued thread up: what it passes, and whose turns stay before it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from checkpoints import queries
from dashboard.identity.permissions import Actor
from dashboard.kit.dialog import dialog

from .move_up import MOVE_UP


def _move_up(who: Actor, _texts: Mapping[str, str], *_: object, thread_id: UUID) -> dict[str, Any]:
    thread = queries.thread(thread_id, workspace=who.workspace)
    return {"thread": thread, "version": thread.version}


move_up = dialog(MOVE_UP, "threads/move_up.html", _move_up, fields=("reason",))
