"""Login sessions in the database; whatever cannot be the key of one is none."""

from __future__ import annotations

import re
from typing import Any

from django.contrib.sessions.backends import db
from django.db import connection
from django.utils import timezone

_KEY = re.compile(r"[a-z0-9]{32}")


class SessionStore(db.SessionStore):
    """A key out of a cookie is looked up only if it has the form of one: a NUL fails the query."""

    def _validate_session_key(self, key: str) -> bool:
        return bool(key and _KEY.fullmatch(key))

    def load(self) -> dict[str, Any]:
        """What Django's own reads, by its one statement: this is part of every request."""
        sql, params = self.statement
        with connection.cursor() as cursor:
            cursor.execute(sql, params)
            row = cursor.fetchone()
        if row is None:
            self._session_key = None
            return {}
        found: dict[str, Any] = self.decode(row[0])
        return found

    @property
    def statement(self) -> tuple[str, tuple[Any, ...]]:
        """What reads the stored text of this login while it is in force, as part of others too."""
        sql = (
            "SELECT session_data FROM django_session WHERE session_key = %s::varchar "
            "AND expire_date > %s::timestamptz"
        )
        return sql, (self.session_key, timezone.now())

    @property
    def unread(self) -> bool:
        """Whether there is a key, and nobody has looked yet what it opens."""
        return bool(self.session_key) and not hasattr(self, "_session_cache")

    def take(self, stored: str) -> None:
        """The text that `statement` found."""
        self._session_cache = self.decode(stored)
