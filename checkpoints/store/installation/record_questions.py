"""Questions that people asked of the record: what was asked and answered, as a row and on record.

The event names the row, the events that the answer rests on, and a salted hash over question and
answer. Their text is in the row alone, so an erasure of a thread reaches it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction
from uuid_utils.compat import uuid7

from checkpoints.state import deltas
from checkpoints.states import WorkspaceEventKind as K

from ..statement.moves import NewEvent
from .workspaces import append

SALT_BYTES: Final = 16
_INSERT: Final = (
    "INSERT INTO gp_record_question (id, workspace_id, asked_by, question, scope, answer, salt, "
    "threads) VALUES (%s::uuid, %s::uuid, %s::varchar, %s::text, %s::jsonb, %s::jsonb, %s::bytea, "
    "%s::uuid[])"
)


def record_question(
    workspace: UUID,
    *,
    question: str,
    scope: Mapping[str, Any],
    answer: Mapping[str, Any],
    sources: Sequence[tuple[UUID, int]],
    threads: Collection[UUID],
    usage: Mapping[str, Any],
    actor: str,
) -> UUID:
    """Put a question with its answer on record; its id.

    `threads` are those that it is about: an erasure of one blanks question and answer. `usage` is
    what a model took for it, empty where none was asked.
    """
    ident: UUID = uuid7()
    salt = os.urandom(SALT_BYTES)
    body = deltas.canonical({"question": question, "answer": dict(answer)})
    data = {
        "question": str(ident),
        **scope,
        "sources": [[str(thread), seq] for thread, seq in sources],
        "answer_hash": sha256(salt + body).hexdigest(),
        **({"usage": dict(usage)} if usage else {}),
    }
    row = (
        *(ident, workspace, actor, question, deltas.canonical(dict(scope)).decode()),
        *(deltas.canonical(dict(answer)).decode(), salt, list(threads)),
    )
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_INSERT, row)
        append(workspace, [NewEvent(K.RECORD_ASKED, data, actor)])
    return ident
