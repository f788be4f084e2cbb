"""The record: search, erasure, holds, retention."""

from __future__ import annotations

from collections.abc import Callable

from tests.contract.example_calls import ADMIN, Call
from tests.contract.world import World

EXAMPLES: dict[str, Callable[[World], Call]] = {
    "records_list": lambda w: Call(query={"kind": "approval", "risk": "medium", "limit": "10"}),
    "records_export": lambda w: Call(
        query={"q": "report", "form": "csv", "limit": "100"}, who=("operator", "auditor")
    ),
    "records_ask": lambda w: Call(
        body={"question": "Who started the thread?", "agent": "research"}
    ),
    "erasures_list": lambda w: Call(),
    "erasures_retrieve": lambda w: Call({"erasure_id": str(w.erasure)}),
    "erasures_decide": lambda w: Call(
        {"erasure_id": str(w.erasure)}, body={"verdict": "approve"}, who=ADMIN
    ),
    "threads_erase": lambda w: Call(
        {"thread_id": str(w.ended)},
        body={"reason": "consent withdrawn", "scope": "thread"},
        who=("operator", "admin"),
        status=201,
    ),
    "holds_list": lambda w: Call(),
    "retention_list": lambda w: Call(),
    "retention_set": lambda w: Call(body={"agent": "nobody", "days": 90}, who=ADMIN),
    "threads_hold": lambda w: Call(
        {"thread_id": str(w.ended)}, body={"reason": "case 18"}, who=ADMIN, status=201
    ),
    "threads_lift_hold": lambda w: Call(
        {"thread_id": str(w.on_hold)}, body={"reason": "case closed"}, who=ADMIN
    ),
}
