"""What a verification has found goes to the record, to those who want news, and to the pages."""

from __future__ import annotations

from functools import partial
from uuid import UUID

from django.db import transaction

from approvals import outbox
from checkpoints import store
from checkpoints.chain import ChainReport
from checkpoints.signals import record_judged
from checkpoints.states import WorkspaceEventKind
from checkpoints.store import Noted


def keep_report(
    report: ChainReport, *, actor: str, of: str = "thread", workspace: UUID | None = None
) -> Noted:
    """Store what was found and raise the alarm when it is damage nobody knew of; what stands now.

    Called by page, API, command, background and workers. `workspace` is needed only of a
    thread that is gone. Raises NotFound.
    """
    with transaction.atomic():
        noted = store.note_verification(report, actor=actor, of=of, workspace=workspace)
        if noted.news is None or noted.workspace is None:
            return noted
        if noted.news is WorkspaceEventKind.RECORD_DAMAGED:
            outbox.add(
                "record.damaged",
                workspace=noted.workspace,
                thread=report.ident if of == "thread" else None,
                data={
                    "of": of,
                    "id": str(report.ident),
                    "seq": noted.row.broken_seq,
                    "what": noted.row.what,
                    "found_at": noted.row.found_at and noted.row.found_at.isoformat(),
                    "found_by": noted.row.found_by,
                },
            )
        if of == "thread":
            announce = partial(record_judged.send_robust, sender=None)
            transaction.on_commit(
                partial(announce, thread_id=report.ident, workspace=noted.workspace)
            )
    return noted
