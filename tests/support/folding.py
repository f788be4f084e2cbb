"""At the end of each test all threads it wrote are folded again, in the order of their events.

What a test altered on purpose is another matter: it is found at hashes that stand before the fold.
"""

from __future__ import annotations

from contextlib import suppress

import pytest
from django.db import DatabaseError, InterfaceError, connection

from checkpoints.chain import verify_thread
from checkpoints.errors import ContentAway

DATABASES = frozenset({"db", "real_db"})
# Lists with a million threads are written by hand; a test that works through steps has fewer.
MOST = 1_000
# What verifying says where hash, author and place of a checkpoint are as its event says and the
# deltas all the same do not give its state.
FAULTS = ("the state at its checkpoint does not match its hash", "its checkpoint cannot be applied")


def faults() -> list[str]:
    """Where the deltas of a thread in the test's database do not give the state that it hashed."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM gp_thread ORDER BY id LIMIT %s", (MOST + 1,))
        threads = [thread for (thread,) in cursor.fetchall()]
    if len(threads) > MOST:
        return []
    messages = []
    for thread in threads:
        with suppress(ContentAway):  # a test took its drive away
            messages.append(verify_thread(thread).what)
    return [what for what in messages if any(fault in what for fault in FAULTS)]


def after(item: pytest.Item) -> list[str]:
    """The faults after a test; none where it has no database, or one that does not answer."""
    named = DATABASES & set(getattr(item, "fixturenames", ()))
    if not named and item.get_closest_marker("django_db") is None:
        return []
    if item.get_closest_marker("altered") or connection.needs_rollback:
        return []
    try:
        return faults()
    except (DatabaseError, InterfaceError):  # servers that the test has stopped
        return []
