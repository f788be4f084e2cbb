"""What requests and decisions of a thread hold, as erasure and its proof see it.

The lists name columns one by one: a column that is added later must not change a hash of before.
"""

from __future__ import annotations

from typing import Final

from checkpoints.log import remains

from ..columns import APPROVAL, DECISION

_APPROVAL: Final = (
    *("id", "workspace_id", "agent_version_id", "branch", "step", "node", "index", "key"),
    *("revision", "kind", "tool", "args", "proposal_hash", "policy_version", "title"),
    *("description", "reasons", "risk", "schema", "undo", "deadline", "terms", "policies"),
    *("repeats", "sentence", "origin", "standing_args", "standing_hash", "decide_by"),
    *("escalated_at", "due_seats", "due_except", "status", "outcome", "what_next", "comment"),
    *("decided_by", "decided_by_name", "decided_at", "decided_args", "effective_at"),
    *("requested_at", "imported"),
)
_DECISION: Final = (
    *("id", "workspace_id", "approval_id", "reviewer", "reviewer_name", "verdict"),
    *("proposal_hash", "comment", "args", "what_next", "salt", "hash", "at"),
)
_COUNTS: Final = (
    "SELECT (SELECT count(*) FROM gp_approval WHERE thread_id = ANY(%s::uuid[])) + "
    "(SELECT count(*) FROM gp_decision d JOIN gp_approval a ON a.id = d.approval_id "
    "WHERE a.thread_id = ANY(%s::uuid[])), (SELECT coalesce(sum(pg_column_size(a.args) "
    "+ pg_column_size(a.description) + pg_column_size(a.title)), 0)::bigint FROM gp_approval a "
    "WHERE a.thread_id = ANY(%s::uuid[]))"
)

_NAMING: Final = (
    "SELECT concat_ws(' ', a.args, a.standing_args, a.decided_args, a.repeats, (SELECT "
    "string_agg(d.args::text, ' ') FROM gp_decision d WHERE d.approval_id = a.id)) "
    "FROM gp_approval a WHERE a.thread_id = ANY(%s::uuid[])"
)


def register() -> None:
    """Register the content of this floor with erasure."""
    approval = APPROVAL.only(*_APPROVAL).select("a")
    decision = DECISION.only(*_DECISION).select("d")
    of = "JOIN gp_approval a ON a.id = {}.approval_id WHERE a.thread_id = %s::uuid ORDER BY"
    remains.register(
        remains.Part(
            "approvals",
            "SELECT n_rows, n_bytes FROM gp_erase_requests(%s::uuid)",
            _COUNTS,
            {
                "gp_approval": f"SELECT {approval} FROM gp_approval a "
                "WHERE a.thread_id = %s::uuid ORDER BY a.id",
                "gp_decision": f"SELECT {decision} FROM gp_decision d {of.format('d')} d.id",
                "gp_carried_out": "SELECT c.approval_id, c.outcome, c.said, c.at "
                f"FROM gp_carried_out c {of.format('c')} c.approval_id",
                "gp_approval_look": "SELECT l.approval_id, l.person, l.at "
                f"FROM gp_approval_look l {of.format('l')} l.approval_id, l.person",
            },
            _NAMING,
        )
    )
