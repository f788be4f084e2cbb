"""Names for the actors that logs name by id."""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.auth import get_user_model

PREFIX = "user:"


def people(actors: Iterable[str]) -> dict[str, str]:
    """{"user:7": "ada"} for those of `actors` that are users who still exist; one statement."""
    ids = {int(a[len(PREFIX) :]) for a in actors if a.startswith(PREFIX) and a[5:].isdecimal()}
    if not ids:
        return {}
    users = get_user_model()._default_manager.filter(pk__in=sorted(ids))
    return {f"{PREFIX}{user.pk}": user.get_full_name() or user.get_username() for user in users}
