"""News that a thread's state has come to rest: its folder in the file store follows."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import structlog
from django.dispatch import receiver

from checkpoints import store
from checkpoints.signals import state_settled

log = structlog.get_logger("gatepost.folders")


@receiver(state_settled, dispatch_uid="dashboard.capsule.state_settled")
def keep_folder(*, thread_id: UUID, workspace: UUID, owed: str, **_kwargs: Any) -> None:
    """Write the folder; where that fails the former one stays, and `waiting` tries again."""
    # Only agents on `file` need what writes it.
    from .folders import keep

    try:
        keep(thread_id, workspace)
        store.folder_kept(thread_id, by=owed)
    except Exception:
        log.exception("folder.skipped", thread=str(thread_id))
