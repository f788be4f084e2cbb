"""What the admin site does about inbound hooks: each through `dashboard.actions.hooks`."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from django.http import HttpRequest

from dashboard.actions import hooks
from dashboard.actions.people.administration import Administrator
from dashboard.errors import Missing
from dashboard.identity.permissions import Actor


class HookAdminService:
    """The part of the records' site that the forms of `approvals.hooks.admin` ask."""

    def member(self, request: HttpRequest) -> Administrator:
        """Who asks."""
        raise NotImplementedError

    def _at(self, request: HttpRequest, workspace: UUID) -> Actor:
        """Who asks, in the workspace of the row: another one only for superusers."""
        who = self.member(request)
        if who.superuser:
            return replace(who.actor, workspace=workspace)
        if who.actor.workspace != workspace:
            raise Missing("There is no such hook in this workspace.")
        return who.actor

    def create_hook(self, request: HttpRequest, name: str) -> tuple[UUID, str]:
        """Make a hook; its id and secret."""
        row, secret = hooks.create_hook(self.member(request).actor, name)
        return row.id, secret

    def rotate_hook(self, request: HttpRequest, workspace: UUID, hook: UUID) -> str:
        """Give it another secret."""
        return hooks.rotate_hook(self._at(request, workspace), hook)

    def switch_hook(self, request: HttpRequest, workspace: UUID, hook: UUID, on: bool) -> None:
        """Let it in or keep it out."""
        act = hooks.enable_hook if on else hooks.disable_hook
        act(self._at(request, workspace), hook)

    def map_identity(
        self, request: HttpRequest, workspace: UUID, hook: UUID, identity: str, user: int
    ) -> UUID:
        """Say whom a word stands for; the id of the row."""
        return hooks.map_identity(self._at(request, workspace), hook, identity, user).id

    def unmap_identity(
        self, request: HttpRequest, workspace: UUID, hook: UUID, identity: str
    ) -> None:
        """It stands for nobody any more."""
        hooks.unmap_identity(self._at(request, workspace), hook, identity)
