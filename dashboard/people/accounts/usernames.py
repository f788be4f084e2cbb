"""Usernames: one rule for every call that makes or renames a person."""

from __future__ import annotations

from typing import Any, Final
from unicodedata import category

from django.contrib.auth import get_user_model
from django.db import connection

from checkpoints.unseen import HIDDEN, code_point
from dashboard.errors import Invalid

USERNAME_MAX: Final = 150
# Control, format and private characters, halves of pairs, unassigned ones, separators of lines.
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})


class NameTaken(Invalid):
    """Another person has this name, or one that differs by case alone."""

    def __init__(self) -> None:
        super().__init__("$.username", "is the name of another user")


def person_name(username: str) -> str:
    """A username as it is stored: in the one form (NFKC) that the sign-in page looks for.

    Raises Invalid where that form is too long, or has characters that nobody can see.
    """
    name: str = get_user_model().normalize_username(username)
    if len(name) > USERNAME_MAX:
        raise Invalid("$.username", f"is longer than {USERNAME_MAX} characters")
    for char in name:
        if category(char) in _UNSEEN or HIDDEN.match(char):
            raise Invalid("$.username", f"has a character that cannot be seen: {code_point(char)}")
    if name != name.strip():
        raise Invalid("$.username", "begins or ends with a space")
    return name


def alike(username: str, *, but: int = 0) -> list[Any]:
    """The users whose name is this one in any case, by id; without the user `but`."""
    name = person_name(username)
    users = get_user_model()._default_manager.exclude(pk=but).order_by("pk")
    same = {user.pk: user for user in users.filter(username__iexact=name)}
    if not name.isascii():
        # What is a capital letter depends on the locale of the database.
        others = users.filter(username__regex="[^ -~]").values_list("pk", "username")
        ids = [pk for pk, other in others if other.casefold() == name.casefold()]
        same |= {user.pk: user for user in users.filter(pk__in=ids)}
    return [same[pk] for pk in sorted(same)]


def claim_name(username: str, *, user_id: int = 0) -> str:
    """Take a name for a user, 0 for a new one; nobody else takes one before the transaction ends.

    Raises Invalid as `person_name`, and NameTaken: one person with two accounts has two votes.
    """
    name = person_name(username)
    with connection.cursor() as cursor:
        # Two who come at the same time would each see that the name is free.
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended('gatepost.usernames', 0))")
    if alike(name, but=user_id):
        raise NameTaken
    return name
