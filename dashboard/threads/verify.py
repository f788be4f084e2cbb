"""Verify a thread: compute its past again and note the result."""

from __future__ import annotations

from functools import partial
from uuid import UUID

from django.db import transaction

from approvals.verification import proof
from approvals.verification.reports import keep_report
from checkpoints.views import VerificationRow
from dashboard.errors import Conflict, translated
from dashboard.identity.permissions import (
    Actor,
)
from dashboard.threads.target import thread_for
from dashboard.wire.hints import look_again
from gatepost_command import COMMAND

# Verifying makes some 5,000 events a second: an answer in a few seconds.
VERIFY_NOW_EVENTS = 20_000


@translated()
def verify(actor: Actor, thread_id: UUID) -> VerificationRow:
    """Compute the thread's past again and note what came out; Conflict for a very long one."""
    thread = thread_for(actor, "verify", thread_id)
    if thread.last_seq > VERIFY_NOW_EVENTS:
        raise Conflict(
            f"The thread has more than {VERIFY_NOW_EVENTS:,} events; that takes a while. Verify it "
            f"with `{COMMAND} verify {thread.id}`."
        )
    result = keep_report(proof.verify(thread.id), actor=actor.id).row
    # No event of the thread, but its pages say what is known of its record.
    transaction.on_commit(partial(look_again, thread_id, actor.workspace))
    return result
