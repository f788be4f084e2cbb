"""Sign in by password, one-time link or provider; roles and teams come by the same statement."""

from __future__ import annotations

from typing import Any

import sesame.backends
from django.contrib.auth import backends, get_user_model

from checkpoints.postgres import reads

from .seats import user_of, user_query


class _WithRoles:
    """Beside a backend of Django's: the user comes with what `permissions.actor_of` will ask."""

    def get_user(self, user_id: Any) -> Any:
        """The user of this id as they are now, or None; also where they may not sign in."""
        model: Any = get_user_model()
        which = "u.id = %s::bigint", (model._meta.pk.to_python(user_id),)
        user = user_of(reads.fetch(*user_query(which)))
        backend: Any = self
        return user if user is not None and backend.user_can_authenticate(user) else None


class Passwords(_WithRoles, backends.ModelBackend):
    """Users by name and password."""


class Links(_WithRoles, sesame.backends.ModelBackend):  # type: ignore[misc]
    """Users by a one-time link."""


class SingleSignOn(_WithRoles, backends.BaseBackend):
    """Users whom the provider of single sign-on vouches for; nothing to try by itself."""

    def user_can_authenticate(self, user: Any) -> bool:
        """True unless the login is disabled."""
        return bool(user.is_active)
