"""States that agents elsewhere save by name: each save is a checkpoint of an external thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from django.db import transaction

from checkpoints import queries
from checkpoints.limits import AGENT_MAX, NAME_MAX
from checkpoints.state import deltas
from checkpoints.views import CheckpointRow, ThreadRow
from dashboard.errors import Invalid, Missing, Stale, translated
from dashboard.fields.validation import check_text
from dashboard.identity.permissions import Actor, require
from dashboard.threads.start import start_or_continue
from workers.external.announcement import Announcement
from workers.external.bounds import BUCKET, SECONDS_DEFAULT
from workers.external.committed import Report

from .leases import release, take
from .reports import commit

NODE: Final = "save"
ANNOUNCED: Final = Announcement(framework="saved states", nodes=(NODE,))


@translated()
def save_state(
    actor: Actor,
    name: str,
    state: Mapping[str, Any],
    *,
    bucket: str = BUCKET,
    after: int | None = None,
) -> CheckpointRow:
    """Commit the whole state as the next checkpoint of the bucket's thread of this name.

    1. Find the thread, or start it.
    2. Take its lease; of several simultaneous saves each waits here for the one before it.
    3. Refuse a save `after` another checkpoint than the newest (Stale).
    4. Commit the difference and give the lease back, all in one transaction.

    A thread that a person paused or ended takes nothing: NotAllowedNow.
    """
    require(actor, "work")
    check_text("$.bucket", bucket, AGENT_MAX, required=True)
    check_text("$.name", name, NAME_MAX, required=True)
    deltas.check(dict(state), "$.state")
    with transaction.atomic():
        thread = _thread(actor, bucket, name)
        work = take(actor, thread, NODE, SECONDS_DEFAULT, flushed=True).work
        if after is not None and after != work.number:
            raise Stale(
                f"Checkpoint {work.number} is the newest, not {after}. Load the state again.",
                number=work.number,
                version=work.version,
            )
        report = Report(id=None, step=None, nodes=(NODE,), next_nodes=(NODE,), delta={})
        saved, _ = commit(actor, thread, work.token, report, state=state)
        release(actor, thread, work.token, "queued", "The state is saved.", None)
    return queries.checkpoint(thread, saved.id)


def _thread(actor: Actor, bucket: str, name: str) -> UUID:
    """The thread of this name; one that exists is left as it is, also where a person paused it."""
    known = queries.thread_named(name, agent=bucket, workspace=actor.workspace)
    if known is not None:
        return known.id
    try:
        started, _ = start_or_continue(actor, agent=bucket, name=name, input={}, external=ANNOUNCED)
    except Invalid as error:
        if error.path != "$.agent":
            raise
        raise Invalid("$.bucket", error.reason) from error
    return started


@translated()
def load_state(
    actor: Actor, name: str, *, bucket: str = BUCKET, number: int | None = None
) -> tuple[ThreadRow, CheckpointRow]:
    """The thread of this name and its newest checkpoint, or the one of this number."""
    require(actor, "read")
    row = queries.thread_named(name, agent=bucket, workspace=actor.workspace)
    if row is None:
        raise Missing(f"Nothing is saved under this name in {bucket}.")
    if number is None:
        return row, queries.checkpoint(row.id, row.head)
    return row, queries.checkpoint_by_number(row.id, number)
