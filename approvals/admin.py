"""Approvals in the admin site: read only; decisions are made on their own page."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.urls import reverse

from checkpoints.addresses import thread_address
from checkpoints.admin.filters import choice, ident, since
from checkpoints.admin.lists import Records
from checkpoints.admin.paging import Walk

from .hooks import admin as _hooks  # noqa: F401
from .incidents import admin as _incidents  # noqa: F401
from .models import Approval, Decision, PolicyVersion
from .notify import admin as _notify  # noqa: F401  (registers its own tables)
from .states import RISKS, STATUSES, VERDICTS

REFUSAL = "Approvals are opened by agents and decided on their own page, under Approvals."


@admin.register(Approval)
class ApprovalRecords(Records):
    """Every request and its outcome."""

    columns = ("title", "thread_id", "risk", "status", "outcome", "decided_by", "requested_at")
    walks = (
        Walk(("requested_at", "id"), ("thread_id",)),
        Walk(("requested_at", "id"), ("workspace_id",)),
        Walk(("id",)),
    )
    filters = (
        choice("status", STATUSES),
        choice("outcome", VERDICTS),
        choice("risk", RISKS),
        since("requested_at"),
        ident("thread_id", "thread"),
        ident("workspace_id", "workspace"),
    )
    search_ids = ("id", "thread_id")
    search_exact = ("tool", "proposal_hash")
    search_text = ("title",)
    actors = ("decided_by",)
    thread_column = "thread_id"
    needs = ("imported",)
    search_help_text = "Id or its beginning, thread id, tool, words of the title, who decided"
    groups = (
        (
            "What was asked",
            (
                "title",
                "sentence",
                "description",
                "reasons",
                "risk",
                "kind",
                "tool",
                "args",
                "undo",
                "schema",
                "requested_at",
                "deadline",
                "policy_version",
                "terms",
            ),
        ),
        (
            "What happened to it",
            (
                "status",
                "outcome",
                "what_next",
                "decided_by",
                "decided_by_name",
                "decided_at",
                "effective_at",
                "comment",
                "decided_args",
                "standing_args",
                "standing_hash",
                "decide_by",
                "escalated_at",
                "tally",
                "due_seats",
                "due_except",
            ),
        ),
        (
            "Where",
            ("thread_id", "branch", "step", "node", "index", "key", "revision", "agent_version_id"),
        ),
        ("Proof", ("id", "proposal_hash")),
    )
    refusal = REFUSAL

    def related(self, row: Any) -> list[tuple[str, str]]:
        decisions = reverse("admin:approvals_decision_changelist")
        return [
            ("Open the approval", reverse("approval", args=[row.pk])),
            ("Decision report", reverse("approval_report", args=[row.pk])),
            ("Open the thread", thread_address(row.thread_id)),
            ("Its decisions", f"{decisions}?approval_id={row.pk}"),
        ]

    def name_of(self, row: Any) -> str:
        return str(row.title)


@admin.register(Decision)
class DecisionRecords(Records):
    """Every verdict: who decided what, and when; the database refuses to change it."""

    columns = ("at", "reviewer", "verdict", "request_title", "comment", "proposal_hash")
    walks = (Walk(("id",), ("approval_id",)), Walk(("id",)))
    filters = (
        choice("verdict", VERDICTS),
        since("at"),
        ident("approval_id", "approval"),
        ident("workspace_id", "workspace"),
    )
    joins = ("approval",)
    needs = ("approval__title", "approval__imported", "approval__thread_id")
    record = "approval.thread_id"
    search_ids = ("id", "approval_id")
    search_exact = ("reviewer_name", "proposal_hash")
    actors = ("reviewer",)
    search_help_text = "Id or its beginning, approval id, who decided, proposal hash"
    groups = (
        ("What was decided", ("approval_id", "verdict", "comment", "args", "what_next", "at")),
        ("By whom", ("reviewer", "reviewer_name", "account")),
        ("Proof", ("id", "proposal_hash", "hash", "salt")),
    )
    refusal = REFUSAL

    def request_title(self, row: Any) -> Any:
        """The title of the approval."""
        return self.site.cell(row.approval, "title")

    def value_of(self, row: Any, name: str) -> Any:
        return self.site.account(row) if name == "account" else super().value_of(row, name)

    def related(self, row: Any) -> list[tuple[str, str]]:
        return [
            ("Open the approval", reverse("approval", args=[row.approval_id])),
            ("Decision report", reverse("approval_report", args=[row.approval_id])),
            ("Raw record", reverse("admin:approvals_approval_change", args=[row.approval_id])),
        ]


@admin.register(PolicyVersion)
class PolicyVersionRecords(Records):
    """Every version of each policy, its author and start; the database refuses to change it."""

    columns = ("made_at", "condition", "action", "number", "made_by")
    needs = ("policy_id",)
    filters = (choice("action", ("ask", "allow", "block")), ident("workspace_id", "workspace"))
    search_ids = ("id", "policy_id")
    search_text = ("condition", "note")
    actors = ("made_by",)
    search_help_text = "Id or its beginning, policy id, words of the condition, who made it"
    groups = (
        ("What it says", ("condition", "action", "note", "terms", "deadline", "risk", "title")),
        ("Made", ("number", "made_by", "made_at")),
    )
    refusal = "Policies are written on their own page; a change is a new version."

    def related(self, row: Any) -> list[tuple[str, str]]:
        return [("Open the policy", reverse("admin:policy", args=[row.policy_id]))]
