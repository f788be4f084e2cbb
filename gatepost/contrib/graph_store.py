"""The small interface to state that articles on agents show: read, fork, update by version.

A thin layer over queries and store; `agent_checkpoints` is the same for plain SQL.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from approvals import gates
from checkpoints import queries, store
from checkpoints.errors import (
    ConcurrentModificationError,
    InvalidValue,
    NotFound,
    StaleVersion,
)
from checkpoints.postgres.sql_files import sql_file
from checkpoints.state.json_schemas.errors import errors_of

__all__ = ["ConcurrentModificationError", "StateGraphStore", "update_agent_state_atomic"]

SQL = sql_file(__file__)
UNKNOWN = "There is no such thread."
RELOAD = "State updated concurrently. Please refresh and retry."


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

        It is found under the given thread id; the base stays as it is, and the fork continues as a
        thread of its own. Raises ValueError for an unknown base, InvalidValue for values that are
        no state.
        """
        result = self._find(thread_id, base_checkpoint_id)
        if result is None:
            raise ValueError("Historical checkpoint not found.")
        base, checkpoint = result
        thread = store.fork(
            base, checkpoint=checkpoint, changes=dict(modifications), actor=self.actor
        )
        return str(queries.checkpoint_by_number(thread, 0).id)

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


def update_agent_state_atomic(
    session: Any,
    thread_id: str,
    expected_version: int,
    new_payload: Mapping[str, Any],
    *,
    actor: str = "system",
) -> None:
    """Replace the state of a thread that stands still, if nobody has changed it since it was read.

    `expected_version` is the thread's version when the caller read it; afterwards it is one more.
    `new_payload` is the whole new state: a channel that it leaves out gets its default. `session`
    is Django's connection to the database of the settings. The update is a checkpoint, as an edit
    by a person is: requests for approval that are open are withdrawn.

    Raises ConcurrentModificationError when another writer was first: read state and version again.
    Raises NotFound for an unknown thread, NotAllowedNow while an agent works on it, InvalidValue
    for what is no state of this agent.
    """
    if getattr(session, "alias", None) != connection.alias:
        raise TypeError("session must be django.db.connection")
    thread = _thread(thread_id)
    with transaction.atomic():
        # Takes the thread's lock, so that requests are withdrawn only where the update counts.
        gates.withdraw_open(thread, reason="The state was updated.", actor=actor)
        try:
            store.edit(
                thread,
                changes=_whole(thread, new_payload),
                reason="update_agent_state_atomic",
                actor=actor,
                expected_version=expected_version,
            )
        except StaleVersion as error:
            raise ConcurrentModificationError(RELOAD, **error.facts) from error


def _whole(thread: UUID, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Every channel of the agent with its new value; raises InvalidValue."""
    with connection.cursor() as cursor:
        cursor.execute(SQL.version_at_head, (thread,))
        row = cursor.fetchone()
    if row is None:
        raise NotFound(UNKNOWN)
    agent = queries.agent_version(row[0])
    if not isinstance(payload, Mapping):
        raise InvalidValue("$", "must be an object of channels")
    if unknown := sorted(payload.keys() - agent.channels.keys()):
        raise InvalidValue(f"$.{unknown[0]}", f"{agent.label} has no such channel")
    defaults = {name: channel.get("default") for name, channel in agent.channels.items()}
    result = {**defaults, **payload}
    for error in errors_of(agent.schema, result, limit=1):
        raise InvalidValue(error.json_path, error.message)
    return result


def _thread(thread_id: str) -> UUID:
    try:
        return UUID(thread_id)
    except (AttributeError, TypeError, ValueError):
        raise NotFound(UNKNOWN) from None
