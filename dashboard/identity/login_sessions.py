"""Login sessions in the database; whatever cannot be the key of one is none."""

from __future__ import annotations

import re

from django.contrib.sessions.backends import db

_KEY = re.compile(r"[a-z0-9]{32}")


class SessionStore(db.SessionStore):
    """A key out of a cookie is looked up only if it has the form of one: a NUL fails the query."""

    def __init__(self, session_key: str | None = None) -> None:
        super().__init__(session_key if session_key and _KEY.fullmatch(session_key) else None)

    def cycle_key(self) -> None:
        """Continue under another key, and the sign-in with it."""
        super().cycle_key()
        # Here: Django imports this module before its models.
        from .sign_ins.records import follow

        follow(self)
