"""Hashing of passwords: a few at a time, and never while a database connection is held.

One hash takes about half a second of a processor. Without a bound, a few dozen anonymous sign-ins
would take every connection and every core from the rest of the site.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from django.conf import settings
from django.contrib.auth.hashers import PBKDF2PasswordHasher, get_hasher, make_password
from django.utils.crypto import get_random_string

from checkpoints.postgres import pooled
from dashboard.errors import Busy

WAITING_MAX: Final = 16
# A salt that begins so says that somebody else chose the password; no other salt has a hyphen.
MARK: Final = "given-"
SALT_CHARS: Final = 22
WAIT_SECONDS: Final = 5.0


class Slots:
    """At most `size` hashes at a time; `WAITING_MAX` more wait for up to `WAIT_SECONDS`."""

    def __init__(self, size: int) -> None:
        self._free = threading.BoundedSemaphore(size)
        self._waiting = threading.BoundedSemaphore(WAITING_MAX)

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Hold a slot for one hash; raises Busy."""
        if not self._free.acquire(blocking=False):
            if not self._waiting.acquire(blocking=False):
                raise Busy("Too many people are signing in at this moment. Try again soon.")
            try:
                taken = self._free.acquire(timeout=WAIT_SECONDS)
            finally:
                self._waiting.release()
            if not taken:
                raise Busy("Too many people are signing in at this moment. Try again soon.")
        try:
            yield
        finally:
            self._free.release()


def slot_count() -> int:
    """GATEPOST_PASSWORD_SLOTS, or half of the processors: the other half serves the site."""
    return settings.GATEPOST_PASSWORD_SLOTS or max(1, (os.cpu_count() or 1) // 2)


_slots: Final = Slots(slot_count())


def given_hash(password: str | None) -> str:
    """The hash of a password that its owner did not choose, marked as such in its salt."""
    return make_password(password, salt=MARK + get_random_string(SALT_CHARS))


def random_hash(password: str) -> str:
    """Hash a long random password, which nobody can guess, in one round: a sign-in renews it.

    The million rounds of a chosen password, for each of the demo's people, took two seconds.
    """
    hasher = get_hasher()
    rounds = {"iterations": 1} if isinstance(hasher, PBKDF2PasswordHasher) else {}
    return str(hasher.encode(password, hasher.salt(), **rounds))


def is_given(encoded: str) -> bool:
    """Answer True for a stored password that somebody else set and its owner has not changed."""
    return any(part.startswith(MARK) for part in encoded.split("$")[1:-1])


class BoundedHasher(PBKDF2PasswordHasher):
    """Django's PBKDF2 in a slot; a pooled connection goes back before the hash begins."""

    def must_update(self, encoded: str) -> bool:
        """Never: Django would save the new hash without an event. `user_changes` renews hashes."""
        return False

    def is_outdated(self, encoded: str) -> bool:
        """True if the hash is weaker than one made now."""
        return bool(super().must_update(encoded))

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        """Hash a password; raises Busy."""
        pooled.give_back()
        with _slots.slot():
            encoded: str = super().encode(password, salt, iterations)
        return encoded
