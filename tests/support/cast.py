"""The fixed cast: two workspaces and the people in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

PLACES = ("default", "elsewhere")
# name: (workspace, roles); the stranger has every right, elsewhere.
PEOPLE: dict[str, tuple[str, tuple[str, ...]]] = {
    "operator": ("default", ("operator",)),
    "manager": ("default", ("reviewer",)),
    "second_manager": ("default", ("reviewer",)),
    "auditor": ("default", ("auditor",)),
    "viewer": ("default", ("viewer",)),
    "admin": ("default", ("admin",)),
    "stranger": ("elsewhere", ("operator", "reviewer", "auditor", "admin")),
    "nobody": ("", ()),
}


@dataclass(frozen=True)
class Cast:
    """Users by name with their sessions, and the two workspaces."""

    workspace: UUID
    elsewhere: UUID
    users: dict[str, Any] = field(default_factory=dict)
    sessions: dict[str, str] = field(default_factory=dict)

    def actor(self, name: str) -> Any:
        """The Actor of a user."""
        from dashboard.identity.permissions import actor_of

        return actor_of(self.users[name])

    def client(self, name: str, **options: Any) -> Any:
        """A browser that is signed in as this user."""
        from django.conf import settings
        from django.test import Client

        client = Client(**options)
        session = self.sessions.get(name) or self._session(name)
        client.cookies[settings.SESSION_COOKIE_NAME] = session
        return client

    def sign_in(self) -> Cast:
        """All of them, once for the many tests that share this cast's transaction.

        Each on a second device as well: some entry points end what others hold.
        """
        for _ in range(2):
            self.sessions.update({name: self._session(name) for name in self.users})
        return self

    def _session(self, name: str) -> str:
        """A new sign-in."""
        from django.conf import settings
        from django.test import Client

        client = Client()
        client.force_login(self.users[name], "dashboard.identity.backends.Passwords")
        return client.cookies[settings.SESSION_COOKIE_NAME].value

    def cookie(self, name: str) -> dict[str, str]:
        """The cookie of a new login of this user, for a real browser."""
        from django.conf import settings

        return {"name": settings.SESSION_COOKIE_NAME, "value": self._session(name)}


def make_cast(mark: str = "") -> Cast:
    """Create workspaces, users and memberships in the database of now.

    `mark` ends all their names, where another cast is there already.
    """
    from django.contrib.auth import get_user_model

    from checkpoints import store

    places = {name: store.create_workspace(f"{name}{mark}", actor="user:0") for name in PLACES}
    users = {}
    for name, (name_of_workspace, roles) in PEOPLE.items():
        user = get_user_model().objects.create_user(f"{name}{mark}", password=f"{name}-password")
        for role in roles:
            store.grant(places[name_of_workspace], user.pk, role, actor="user:0")
        users[name] = user
    return Cast(places["default"], places["elsewhere"], users)


def admin_of(workspace: UUID, user: int = 1) -> Any:
    """An admin of a workspace, as functions behind a page take them; nobody needs to exist."""
    from dashboard.identity.permissions import Actor

    return Actor(user, f"admin {user}", workspace, "", frozenset({"admin"}))
