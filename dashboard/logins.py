"""Login sessions in the database; whatever cannot be the key of one is none."""

from __future__ import annotations

import re

from django.contrib.sessions.backends import db

_KEY = re.compile(r"[a-z0-9]{32}")


class SessionStore(db.SessionStore):
    """A key out of a cookie is looked up only if it has the form of one: a NUL fails the query."""

    def _validate_session_key(self, key: str) -> bool:
        return bool(key and _KEY.fullmatch(key))
