"""Requests and deputies."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from tests.contract.example_calls import Call
from tests.contract.world import World

EXAMPLES: dict[str, Callable[[World], Call]] = {
    "approvals_list": lambda w: Call(query={"status": "all", "limit": "10"}),
    "approvals_retrieve": lambda w: Call({"approval_id": str(w.gate.id)}),
    "approvals_decide": lambda w: Call(
        {"approval_id": str(w.gate.id)},
        body={"verdict": "approve", "proposal_hash": w.gate.proposal_hash, "comment": "fine"},
        who=("manager",),
    ),
    "approvals_report": lambda w: Call({"approval_id": str(w.gate.id)}),
    "deputies_list": lambda w: Call(),
    "deputies_name": lambda w: Call(
        body={
            "deputy": "second_manager",
            "ends": (datetime.now(UTC) + timedelta(days=4)).isoformat(),
            "reason": "holiday",
        },
        status=201,
        who=("manager", "admin"),
        reach=("manager",),
    ),
    "deputies_remove": lambda w: Call(
        {"deputy_id": str(w.deputy)}, body={}, who=("manager", "admin")
    ),
    "approvals_hand_over": lambda w: Call(
        {"approval_id": str(w.gate.id)},
        body={"to": "second_manager", "reason": "you know them"},
        status=201,
        who=("manager",),
    ),
    "approvals_take_back": lambda w: Call(
        {"approval_id": str(w.held.id)}, body={}, who=("manager",)
    ),
    "approvals_decide_many": lambda w: Call(
        body=[
            {
                "id": str(w.other_gate.id),
                "verdict": "reject",
                "proposal_hash": w.other_gate.standing_hash,
                "comment": "too dear",
            },
            {"id": str(w.gate.id), "verdict": "approve", "proposal_hash": "0" * 64},
        ],
        who=("manager",),
    ),
}
