"""News that a thread's state has come to rest, or that a folder is still owed: it is written."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any
from uuid import UUID

import structlog
from django.dispatch import receiver

from checkpoints import store
from checkpoints.signals import folders_due, state_settled

if TYPE_CHECKING:
    from dashboard.threads.capsules.waiting_folders import Writer

log = structlog.get_logger("gatepost.folders")


@receiver(state_settled, dispatch_uid="dashboard.threads.capsules.state_settled")
def keep_folder(*, thread_id: UUID, workspace: UUID, owed: str, **_kwargs: Any) -> None:
    """Write the folder; where that fails the former one stays, and `waiting` tries again."""
    # Only agents on `file` need what writes it.
    from dashboard.threads.capsules.folders import keep

    try:
        keep(thread_id, workspace)
        store.folder_kept(thread_id, by=owed)
    except Exception:
        log.exception("folder.skipped", thread=str(thread_id))


@receiver(folders_due, dispatch_uid="dashboard.threads.capsules.folders_due")
def write_folders(**_kwargs: Any) -> None:
    """Write what others left behind, apart from the process that noticed it."""
    _writer().call()


@cache
def _writer() -> Writer:
    from dashboard.threads.capsules.waiting_folders import Writer

    return Writer()
