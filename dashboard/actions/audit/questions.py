"""Questions to the record: one answer for page, API and command."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from approvals import records
from approvals.records import Answers
from checkpoints.errors import InvalidValue
from dashboard.board.saved_views.questions import question_of
from dashboard.errors import Invalid, translated
from dashboard.identity.permissions import Actor, require
from dashboard.records.integrity.record_integrity import ThreadIntegrity, integrity_of


@translated()
def ask(actor: Actor, filters: Mapping[str, str], *, cursor: str = "", limit: int = 50) -> Answers:
    """Events of the actor's workspace that fit every filter, newest first."""
    require(actor, "read")
    try:
        return records.answer(question_of(actor.workspace, filters), cursor=cursor, limit=limit)
    except InvalidValue as error:
        # The name of a parameter, not a path within a body.
        raise Invalid(error.path, error.reason) from error


def integrity_of_answers(actor: Actor, answers: Answers) -> Mapping[UUID, ThreadIntegrity]:
    """{thread: its integrity} of a page; damaged rows are marked and never left out."""
    threads = (row.thread for row in answers.rows)
    return integrity_of(threads, workspace=actor.workspace, by=actor.id)
