"""The content of threads in the tables of the ground floor, as erasure and its proof see it.

The lists name columns one by one: a column that is added later must not change a hash of before.
"""

from __future__ import annotations

from typing import Final

from checkpoints.log import remains
from checkpoints.tables.columns import ACTIVITY, CHECKPOINT, THREAD

from .requests import SQL

_THREAD: Final = (
    *("id", "workspace_id", "agent_version_id", "agent", "name", "title", "labels", "queue"),
    *("status", "status_reason", "waiting_on", "pause_at", "pinned", "effects", "head", "number"),
    *("step", "branch", "branch_start", "next_nodes", "state_bytes", "chain_id", "last_seq"),
    *("last_hash", "started_by", "parent", "root", "depth", "base", "forked_from"),
    *("imported_seq", "imported_number", "rollback", "n_steps", "tokens", "cost", "created_at"),
    "erasure",
)
_CHECKPOINT: Final = (
    *("id", "workspace_id", "number", "branch", "branch_start", "step", "parent"),
    *("parent_thread", "parent_number", "source", "nodes", "next_nodes", "delta", "salt"),
    *("delta_hash", "state_hash", "state_bytes", "schema_version", "agent_version_id", "config"),
    *("created_by", "created_at", "digests"),
)
_ACTIVITY: Final = (
    *("id", "workspace_id", "branch", "step", "node", "index", "key", "revision", "kind", "tool"),
    *("state", "args", "salt", "input_hash", "result", "result_hash", "error", "attempts"),
    *("cursor", "usage", "idempotency_key", "undo", "undo_result", "approval_id", "started_at"),
    "finished_at",
)


def register() -> None:
    """Register the content of the ground floor with erasure."""
    thread = THREAD.only(*_THREAD).select()
    checkpoint = CHECKPOINT.only(*_CHECKPOINT).select()
    activity = ACTIVITY.only(*_ACTIVITY).select()
    of = "WHERE thread_id = %s::uuid ORDER BY"
    remains.register(
        remains.Part(
            "checkpoints",
            "SELECT n_rows, n_bytes FROM gp_erase_history(%s::uuid)",
            SQL.counts,
            {
                "gp_thread": f"SELECT {thread} FROM gp_thread WHERE id = %s::uuid",
                "gp_checkpoint": f"SELECT {checkpoint} FROM gp_checkpoint {of} number, id",
                "gp_activity": f"SELECT {activity} FROM gp_activity {of} id",
                "gp_content": f"SELECT sha256 FROM gp_content {of} sha256",
                "gp_keyframe": f"SELECT number FROM gp_keyframe {of} number",
            },
        )
    )
