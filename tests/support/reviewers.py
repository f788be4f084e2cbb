"""Somebody who may decide, for tests that call the gates themselves."""

from __future__ import annotations

from uuid import UUID

from approvals.gates import Reviewer


def reviewer_in(workspace: UUID, number: int = 2, name: str = "manager") -> Reviewer:
    """The reviewer `user:2` of a workspace; made where there is none of that number yet."""
    from django.contrib.auth import get_user_model
    from django.db import connection

    from checkpoints import store

    people = get_user_model().objects
    user, made = people.get_or_create(pk=number, defaults={"username": f"{name} {number}"})
    if made:
        with connection.cursor() as cursor:  # the next one made must not get this number
            cursor.execute(
                "SELECT setval(pg_get_serial_sequence('auth_user', 'id'), "
                "(SELECT max(id) FROM auth_user))"
            )
    store.grant(workspace, user.pk, "reviewer", actor="user:0")
    return Reviewer(f"user:{number}", name)
