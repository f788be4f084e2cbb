"""The small interface to checkpoints that articles on agent state show: read one, fork one.

A thin layer over queries and store; `agent_checkpoints` is the same for plain SQL.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import connection

from checkpoints import queries, store
from checkpoints.postgres.sql_files import sql_file

SQL = sql_file(__file__)


class StateGraphStore:
    """Checkpoints by the text ids of thread and checkpoint.

    `db` is Django's connection to the database of the settings; `actor` is who forks, as the log
    shall name them.
    """

    def __init__(self, db: Any = connection, *, actor: str = "system") -> None:
        self.db = db
        self.actor = actor

    def get_checkpoint(self, thread_id: str, checkpoint_id: str) -> dict[str, Any] | None:
        """The whole state at a checkpoint of this thread, or None when there is none.

        The first checkpoint of a fork is found under its own id and wherever its base is found.
        """
        result = self._find(thread_id, checkpoint_id)
        return None if result is None else queries.state_at(*result)

    def fork_trajectory(
        self, thread_id: str, base_checkpoint_id: str, modifications: Mapping[str, Any]
    ) -> str:
        """Begin a fork at a checkpoint with other values; the id of its first checkpoint.

        It is found under the given thread id; the base stays as it is, and the fork goes on as a
        thread of its own. Raises ValueError for an unknown base, InvalidValue for values that are
        no state.
        """
        result = self._find(thread_id, base_checkpoint_id)
        if result is None:
            raise ValueError("Historical checkpoint not found.")
        base, checkpoint = result
        born = store.fork(
            base, checkpoint=checkpoint, changes=dict(modifications), actor=self.actor
        )
        return str(queries.checkpoint_by_number(born, 0).id)

    def _find(self, thread_id: str, checkpoint_id: str) -> tuple[UUID, UUID] | None:
        """(the thread that holds it, the checkpoint)."""
        try:
            thread, checkpoint = UUID(thread_id), UUID(checkpoint_id)
        except (AttributeError, TypeError, ValueError):  # a number, None, no id: names nothing
            return None
        with self.db.cursor() as cursor:
            cursor.execute(SQL.find, (thread, thread, checkpoint, checkpoint))
            row = cursor.fetchone()
        return None if row is None else (row[0], checkpoint)
