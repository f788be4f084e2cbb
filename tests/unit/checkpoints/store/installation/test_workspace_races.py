"""Changes of a workspace at the same moment: the row's lock puts them in order."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction

from checkpoints import store
from checkpoints.chain import verify_workspace
from checkpoints.errors import NotAllowedNow
from checkpoints.states import WorkspaceEventKind as K
from tests.unit.checkpoints.builders import make_thread, one, rows
from tests.unit.checkpoints.racing import race

from .test_workspaces import ADMIN, kinds, make_user, roles


def test_a_user_is_logged_only_in_the_transaction_that_changes_them(real_db: str) -> None:
    workspace = store.create_workspace("lab", actor=ADMIN)
    with pytest.raises(RuntimeError, match="belongs into the transaction"):
        store.log_user(K.USER_CREATED, 1, name="x", changed={}, actor=ADMIN, workspace=workspace)


def test_two_admins_granting_one_role_write_one_row_and_one_event(real_db: str) -> None:
    workspace = store.create_workspace("lab", actor=ADMIN)
    users = [make_user(f"user{n}") for n in range(20)]

    def granting(actor: str) -> Any:
        return lambda n: store.grant(workspace, users[n], "reviewer", actor=actor)

    answers = race(20, granting("user:1"), granting("user:2"))
    assert all(sorted(both) == [False, True] for both in answers), answers
    assert len(roles(workspace)) == 20
    assert kinds(workspace).count(K.ROLE_GRANTED) == kinds(workspace).count(K.MEMBER_ADDED) == 20
    assert verify_workspace(workspace).intact


def test_of_two_last_admins_who_remove_each_other_one_stays(real_db: str) -> None:
    rounds = 20
    places = [store.create_workspace(f"lab {n}", actor=ADMIN) for n in range(rounds)]
    ada, bob = make_user("ada"), make_user("bob")
    for workspace in places:
        for user in (ada, bob):
            store.grant(workspace, user, "admin", actor=ADMIN)

    def removing(user: int, actor: int) -> Any:
        return lambda n: store.withdraw(places[n], user, "admin", actor=f"user:{actor}")

    answers = race(rounds, removing(ada, bob), removing(bob, ada))
    for workspace, both in zip(places, answers, strict=True):
        assert [x for x in both if x is True] == [True], both
        assert [type(x) for x in both if x is not True] == [NotAllowedNow]
        assert len(roles(workspace)) == 1
        assert verify_workspace(workspace).intact


def test_starting_threads_and_granting_roles_do_not_wait_for_each_other(real_db: str) -> None:
    workspace = store.create_workspace("lab", actor=ADMIN)
    users = [make_user(f"user{n}") for n in range(10)]
    answers = race(
        10,
        lambda n: store.grant(workspace, users[n], "viewer", actor=ADMIN),
        lambda n: make_thread(workspace=workspace),
    )
    assert [granted for granted, _ in answers] == [True] * 10
    assert one("SELECT count(*) FROM gp_thread") == 10
    with transaction.atomic():
        store.grant(workspace, users[0], "operator", actor=ADMIN)  # holds the row until the end
        seen: list[Any] = []

        def start(_: int) -> None:
            rows("SET lock_timeout = '100ms'")
            seen.append(make_thread(workspace=workspace))

        [(error,)] = race(1, start)
        assert error is None
        assert len(seen) == 1
