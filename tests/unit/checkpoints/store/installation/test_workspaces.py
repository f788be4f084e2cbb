"""A workspace's own log: each change of people and roles is an event, and the chain proves it."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth import get_user_model
from django.db import Error, transaction

from checkpoints import queries, store
from checkpoints.chain import link, verify_workspace
from checkpoints.errors import InvalidValue, NotAllowedNow, NotFound
from checkpoints.states import WorkspaceEventKind as K
from tests.unit.checkpoints.builders import rows
from tests.unit.checkpoints.chain.test_chain import tampering

pytestmark = pytest.mark.django_db
ADMIN = "user:1"


def make_user(name: str = "ada", **more: Any) -> int:
    return int(get_user_model().objects.create_user(name, **more).pk)


@pytest.fixture
def lab(db: None) -> UUID:
    return store.create_workspace("lab", actor=ADMIN)


def log(workspace: UUID) -> list[tuple[str, str, dict[str, Any]]]:
    """(kind, actor, data), oldest first."""
    result = queries.workspace_events(workspace, limit=1000).rows
    return [(row.kind, row.actor, row.data) for row in reversed(result)]


def kinds(workspace: UUID) -> list[str]:
    return [kind for kind, _, _ in log(workspace)]


def roles(workspace: UUID) -> set[tuple[int, str]]:
    result = rows(
        "SELECT user_id, role FROM gp_membership WHERE workspace_id = %s::uuid", (workspace,)
    )
    return {(user, role) for user, role in result}


def test_a_life_of_a_workspace_stands_in_its_log(lab: UUID) -> None:
    ada = make_user()
    assert store.grant(lab, ada, "operator", actor=ADMIN)
    assert store.grant(lab, ada, "auditor", actor="user:9")
    assert store.withdraw(lab, ada, "operator", actor=ADMIN)
    assert store.withdraw(lab, ada, "auditor", actor=ADMIN)
    assert store.rename_workspace(lab, "  big   lab ", actor=ADMIN)
    who = {"user": ada, "name": "ada"}
    assert log(lab) == [
        (K.WORKSPACE_CREATED, ADMIN, {"name": "lab"}),
        (K.MEMBER_ADDED, ADMIN, who),
        (K.ROLE_GRANTED, ADMIN, {**who, "role": "operator"}),
        (K.ROLE_GRANTED, "user:9", {**who, "role": "auditor"}),
        (K.ROLE_WITHDRAWN, ADMIN, {**who, "role": "operator"}),
        (K.ROLE_WITHDRAWN, ADMIN, {**who, "role": "auditor"}),
        (K.MEMBER_REMOVED, ADMIN, who),
        (K.WORKSPACE_RENAMED, ADMIN, {"from": "lab", "to": "big lab"}),
    ]
    report = verify_workspace(lab)
    assert (report.intact, report.n_events, report.what) == (True, 8, "")
    pages = queries.workspace_events(lab, limit=3)
    assert [r.seq for r in pages.rows] == [8, 7, 6]
    following = queries.workspace_events(lab, limit=3, before=int(pages.next_cursor))
    assert [r.seq for r in following.rows] == [5, 4, 3]


def test_what_changes_nothing_is_no_event(lab: UUID) -> None:
    ada = make_user()
    assert store.grant(lab, ada, "viewer", actor=ADMIN)
    before = kinds(lab)
    assert not store.grant(lab, ada, "viewer", actor=ADMIN)
    assert not store.withdraw(lab, ada, "operator", actor=ADMIN)
    assert not store.rename_workspace(lab, "lab", actor=ADMIN)
    assert store.ensure_workspace("lab", actor=ADMIN) == lab
    assert kinds(lab) == before


@pytest.mark.parametrize(
    ("attempt", "error"),
    [
        (lambda w, u: store.grant(w, u, "emperor", actor=ADMIN), InvalidValue),
        (lambda w, u: store.grant(w, u + 1, "viewer", actor=ADMIN), NotFound),
        (lambda w, u: store.grant(uuid4(), u, "viewer", actor=ADMIN), NotFound),
        (lambda w, u: store.withdraw(uuid4(), u, "viewer", actor=ADMIN), NotFound),
        (lambda w, u: store.create_workspace("lab", actor=ADMIN), InvalidValue),
        (lambda w, u: store.create_workspace(" ", actor=ADMIN), InvalidValue),
        (lambda w, u: store.create_workspace("x" * 101, actor=ADMIN), InvalidValue),
        (lambda w, u: store.create_workspace("a\0b", actor=ADMIN), InvalidValue),
        (lambda w, u: store.rename_workspace(w, "", actor=ADMIN), InvalidValue),
        (lambda w, u: store.rename_workspace(w, "other", actor=ADMIN), InvalidValue),
    ],
)
def test_refusals_change_nothing(lab: UUID, attempt: Any, error: type[Exception]) -> None:
    other = store.create_workspace("other", actor=ADMIN)
    user = make_user()
    with pytest.raises(error):
        attempt(lab, user)
    assert kinds(lab) == [K.WORKSPACE_CREATED]
    assert kinds(other) == [K.WORKSPACE_CREATED]
    assert roles(lab) == set()
    assert verify_workspace(lab).intact


def test_the_last_admin_and_ones_own_admin_role_stay(lab: UUID) -> None:
    ada, bob, gone = make_user("ada"), make_user("bob"), make_user("gone", is_active=False)
    for user in (ada, gone):
        store.grant(lab, user, "admin", actor=ADMIN)
    # Somebody who cannot sign in is no admin who could help.
    with pytest.raises(NotAllowedNow, match="last admin"):
        store.withdraw(lab, ada, "admin", actor=ADMIN)
    store.grant(lab, bob, "admin", actor=ADMIN)
    with pytest.raises(NotAllowedNow, match="your own admin role; ask another admin"):
        store.withdraw(lab, ada, "admin", actor=f"user:{ada}")
    with pytest.raises(NotAllowedNow, match="ask another admin"):
        store.withdraw(lab, ada, "admin", actor=f"user:{ada}/token:k3x9mq2p")
    assert store.withdraw(lab, ada, "admin", actor=f"user:{bob}")
    with pytest.raises(NotAllowedNow, match="last admin"):
        store.withdraw(lab, bob, "admin", actor=ADMIN)
    assert (bob, "admin") in roles(lab)
    assert verify_workspace(lab).intact


def test_changes_of_a_user_stand_in_each_of_their_workspaces(lab: UUID) -> None:
    second = store.create_workspace("second", actor=ADMIN)
    third = store.create_workspace("third", actor=ADMIN)
    ada, lonely = make_user("ada"), make_user("lonely")
    for workspace in (lab, second):
        store.grant(workspace, ada, "viewer", actor=ADMIN)

    def change(user: int, name: str, kind: K = K.USER_CHANGED) -> None:
        with transaction.atomic():
            store.log_user(
                kind, user, name=name, changed={"email": None}, actor=ADMIN, workspace=third
            )

    change(ada, "ada")
    change(lonely, "lonely", K.USER_CREATED)
    data = {"user": ada, "name": "ada", "changed": {"email": None}}
    for workspace in (lab, second):
        assert log(workspace)[-1] == (K.USER_CHANGED, ADMIN, data)
    assert kinds(third) == [K.WORKSPACE_CREATED, K.USER_CREATED]
    for workspace in (lab, second, third):
        assert verify_workspace(workspace).intact


def test_a_last_admin_cannot_be_disabled(lab: UUID) -> None:
    ada, bob = make_user("ada"), make_user("bob")
    store.grant(lab, ada, "admin", actor=ADMIN)

    def disable(user: int, actor: str) -> None:
        with transaction.atomic():
            store.log_user(K.USER_DISABLED, user, name="x", changed={}, actor=actor, workspace=lab)

    with pytest.raises(NotAllowedNow, match="last admin"):
        disable(ada, ADMIN)
    store.grant(lab, bob, "admin", actor=ADMIN)
    with pytest.raises(NotAllowedNow, match="your own login"):
        disable(ada, f"user:{ada}")
    disable(ada, f"user:{bob}")
    assert kinds(lab)[-1] == K.USER_DISABLED


def test_the_admins_of_a_workspace_look_after_its_people(lab: UUID) -> None:
    other = store.create_workspace("other", actor=ADMIN)
    here, elsewhere, both, left, moved = map(make_user, ("here", "else", "both", "left", "moved"))
    for workspace, user in ((lab, here), (other, elsewhere), (lab, both), (other, both)):
        store.grant(workspace, user, "viewer", actor=ADMIN)
    for user in (left, moved):
        store.grant(lab, user, "viewer", actor=ADMIN)
        store.withdraw(lab, user, "viewer", actor=ADMIN)
    store.grant(other, moved, "viewer", actor=ADMIN)
    assert queries.people_of(lab) == {here, both, left}
    assert queries.only_member_of(here, lab)
    assert not queries.only_member_of(both, lab)


def test_the_chain_text_is_that_of_threads(lab: UUID) -> None:
    chain, last_hash = rows("SELECT chain_id, last_hash FROM gp_workspace")[0]
    [(seq, kind, v, actor, at, data_hash, prev, result)] = rows(
        "SELECT seq, kind, v, actor, at, data_hash, prev_hash, hash FROM gp_workspace_event"
    )
    assert bytes(prev) == bytes(32)
    assert bytes(result) == bytes(last_hash)
    assert bytes(result) == link(
        chain=chain,
        seq=seq,
        kind=kind,
        v=v,
        actor=actor,
        at=at,
        data_hash=bytes(data_hash),
        prev_hash=bytes(prev),
    )


@pytest.mark.parametrize(
    ("statement", "seq", "what"),
    [
        ("UPDATE gp_workspace_event SET actor = 'user:9' WHERE seq = 3", 3, "does not match"),
        ("UPDATE gp_workspace_event SET data = '{}' WHERE seq = 2", 2, "do not match their hash"),
        ("UPDATE gp_workspace_event SET at = at + interval '1 h' WHERE seq = 2", 2, "its hash"),
        ("DELETE FROM gp_workspace_event WHERE seq = 2", 2, "missing"),
        ("DELETE FROM gp_workspace_event WHERE seq = 3", 3, "missing at the end"),
        ("UPDATE gp_workspace SET last_seq = 2", 3, "is after the last"),
        ("UPDATE gp_workspace SET last_hash = prev_hash", 3, "workspace ends with"),
        ("DELETE FROM gp_membership", 3, "lacks the role viewer against the log"),
        ("UPDATE gp_membership SET role = 'admin'", 3, "has the role admin against the log"),
    ],
)
def test_tampering_is_found(lab: UUID, statement: str, seq: int, what: str) -> None:
    store.grant(lab, make_user(), "viewer", actor=ADMIN)
    assert verify_workspace(lab).n_events == 3
    with tampering() as force:
        force(statement)
    report = verify_workspace(lab)
    assert not report.intact
    assert report.first_broken_seq == seq
    assert what in report.what


def test_a_role_given_past_the_store_is_found(lab: UUID) -> None:
    rows(
        "INSERT INTO gp_membership (workspace_id, user_id, role) VALUES (%s::uuid, %s, 'admin')",
        (lab, make_user()),
    )
    assert "has the role admin against the log" in verify_workspace(lab).what


def test_a_workspace_older_than_its_log_keeps_the_roles_it_had(lab: UUID) -> None:
    old = uuid4()
    rows("INSERT INTO gp_workspace (id, name) VALUES (%s::uuid, 'old')", (old,))
    ada = make_user()
    rows(
        "INSERT INTO gp_membership (workspace_id, user_id, role) VALUES (%s::uuid, %s, 'viewer')",
        (old, ada),
    )
    store.grant(old, ada, "operator", actor=ADMIN)
    assert kinds(old) == [K.ROLE_GRANTED]
    assert verify_workspace(old).intact


def test_unknown_workspaces_cannot_be_verified(db: None) -> None:
    with pytest.raises(NotFound):
        verify_workspace(uuid4())


def test_a_log_takes_no_actor_or_kind_that_could_forge_the_chain_text(lab: UUID) -> None:
    with pytest.raises(Error), transaction.atomic():
        store.grant(lab, make_user(), "viewer", actor="user:1|2")
    assert kinds(lab) == [K.WORKSPACE_CREATED]
