"""The ground floor in the admin site: workspaces and roles are edited here, the rest is read."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from .models import Activity, AgentVersion, Artifact, Membership, Thread, Worker, Workspace


class ReadOnly(admin.ModelAdmin):  # type: ignore[type-arg]
    """Looks and never writes: what happens to threads goes through their pages."""

    show_full_result_count = False
    list_per_page = 50

    def has_add_permission(self, request: HttpRequest, *_args: Any) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, *_args: Any) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, *_args: Any) -> bool:
        return False


@admin.register(Workspace)
class WorkspaceAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """The tenants."""

    list_display = ("name", "created_at")

    def has_delete_permission(self, request: HttpRequest, *_args: Any) -> bool:
        return False


@admin.register(Membership)
class MembershipAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Who may do what where; withdrawing a role counts at once."""

    list_display = ("user", "workspace", "role")
    list_filter = ("role", "workspace")
    list_select_related = ("user", "workspace")


@admin.register(Thread)
class ThreadAdmin(ReadOnly):
    """Threads as rows."""

    list_display = ("title", "agent", "status", "step", "status_since", "started_by")
    list_filter = ("status", "agent")
    search_fields = ("title", "name")
    ordering = ("-status_since", "-id")


@admin.register(AgentVersion)
class AgentVersionAdmin(ReadOnly):
    """What workers have announced."""

    list_display = ("agent", "version", "fingerprint", "queue", "created_at")
    list_filter = ("agent",)


@admin.register(Activity)
class ActivityAdmin(ReadOnly):
    """Save points."""

    list_display = ("tool", "kind", "state", "node", "step", "started_at", "finished_at")
    list_filter = ("kind", "state")
    ordering = ("-started_at",)


@admin.register(Artifact)
class ArtifactAdmin(ReadOnly):
    """Files by their content."""

    list_display = ("name", "media_type", "size", "sha256", "created_at")


@admin.register(Worker)
class WorkerAdmin(ReadOnly):
    """Workers and their last signs of life."""

    list_display = ("id", "host", "pid", "slots", "seen_at", "stopped_at")
