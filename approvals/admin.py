"""Approvals in the admin site: read only; decisions are made on their own page."""

from __future__ import annotations

from django.contrib import admin

from checkpoints.admin import ReadOnly

from .models import Approval, Decision


@admin.register(Approval)
class ApprovalAdmin(ReadOnly):
    """Requests and what became of them."""

    list_display = ("title", "tool", "risk", "status", "outcome", "decided_by_name", "requested_at")
    list_filter = ("status", "outcome", "risk")
    search_fields = ("title", "tool")
    ordering = ("-requested_at",)


@admin.register(Decision)
class DecisionAdmin(ReadOnly):
    """Verdicts; the database refuses to change them."""

    list_display = ("reviewer_name", "verdict", "proposal_hash", "at")
    list_filter = ("verdict",)
    ordering = ("-at",)
