"""Actions of the admin site on inbound hooks: each through `dashboard.administration.hooks`."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from django.http import HttpRequest

from dashboard.administration import hooks
from dashboard.errors import Missing
from dashboard.identity.permissions import Actor
from dashboard.people.accounts.administration import Administrator


class HookAdminService:
    """The part of the records' site that the forms of `approvals.hooks.admin` ask."""

    def member(self, request: HttpRequest) -> Administrator:
        """The person who makes the request."""
        raise NotImplementedError

    def _at(self, request: HttpRequest, workspace: UUID) -> Actor:
        """The person who makes the request, in the row's workspace; others need a superuser."""
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
        """Map an external identity to a user; returns the id of the row."""
        return hooks.map_identity(self._at(request, workspace), hook, identity, user).id

    def unmap_identity(
        self, request: HttpRequest, workspace: UUID, hook: UUID, identity: str
    ) -> None:
        """Remove a mapping: the identity then belongs to no user."""
        hooks.unmap_identity(self._at(request, workspace), hook, identity)
