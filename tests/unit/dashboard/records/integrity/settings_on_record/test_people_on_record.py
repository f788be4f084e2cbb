"""People, their rights and teams: what no event has is named; no event holds a secret."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import get_hasher
from django.contrib.auth.models import Group
from django.db import connection, transaction
from django.test import Client

from approvals.policies import changes as policies
from approvals.policies.drafts import Draft
from approvals.verification.proof import installation_damage_in_slices, workspace_report
from checkpoints import chain, store
from checkpoints.chain import verify_workspace
from checkpoints.states import WorkspaceEventKind as K
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows

from ..altered_columns import unguarded  # noqa: F401
from .settled import ADMIN, broken
from .settled import settled as settled

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("E11")]


@pytest.mark.usefixtures("unguarded")
def test_a_superuser_out_of_nowhere_is_found(settled: Cast) -> None:
    get_user_model().objects.create_superuser("ghost", password="x")
    assert "The user 'ghost' has rights, and no event records them." in broken()


@pytest.mark.slow
@pytest.mark.usefixtures("unguarded")
@pytest.mark.parametrize("at_once", [1, 3, 1_000])
def test_several_users_out_of_nowhere_are_all_named(
    settled: Cast, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr("checkpoints.chain.installation.AT_ONCE", at_once)
    for name in ("ghost", "ghoul", "ghast"):
        get_user_model().objects.create_superuser(name, password="x")
    message = "The users 'ghost', 'ghoul', 'ghast' have rights, and no event records them."
    assert message in broken()
    # It stands beside what else is wrong, and what else is wrong beside it.
    rows("UPDATE gp_policy SET active = NOT active RETURNING 1")
    damage = chain.returned(installation_damage_in_slices())
    report = workspace_report(settled.workspace, damage)
    assert message in report.what
    slices = list(installation_damage_in_slices())
    assert len(slices) > 1 if at_once < 9 else slices
    assert slices == sorted(set(slices))
    assert "was altered past the log: active" in report.what


def test_what_stood_before_the_record_is_said_to_be_unproved(cast: Cast) -> None:
    policies.make(cast.workspace, Draft("pay", "true", "ask"), actor=ADMIN)
    with connection.cursor() as cursor:
        # An installation of before: nothing of it is on record.
        cursor.execute("SET session_replication_role = replica")
        cursor.execute("DELETE FROM gp_workspace_event")
        cursor.execute(
            "UPDATE gp_workspace SET last_seq = 0, last_hash = %s, prev_hash = %s",
            [bytes(32), b""],
        )
        cursor.execute("SET session_replication_role = DEFAULT")
    assert store.begin_record(actor=ADMIN) > 0
    assert store.begin_record(actor=ADMIN) == 0, "what is on record is left alone"
    assert broken() == ""
    report = verify_workspace(cast.workspace)
    assert report.intact, report.what
    assert report.since is not None
    rows("UPDATE gp_policy SET active = false RETURNING 1")
    assert "the policy 'pay' was altered past the log: active" in broken()
    assert store.begin_record(actor=ADMIN) == 0
    assert "altered" in broken()


def test_no_event_holds_a_secret_or_a_mail_address(settled: Cast) -> None:
    log = " ".join(data for (data,) in rows("SELECT data::text FROM gp_workspace_event"))
    secrets = [
        secret
        for table in ("gp_hook", "gp_endpoint")
        for (secret,) in rows(f"SELECT jsonb_array_elements(secrets) ->> 'secret' FROM {table}")
    ]
    hashes = [encoded for (encoded,) in rows("SELECT password FROM auth_user")]
    hashes += [digest for (digest,) in rows("SELECT encode(secret_hash, 'hex') FROM gp_token")]
    assert secrets
    assert [one for one in (*secrets, *hashes, "@example.org") if one in log] == []


def test_teams_are_on_record_whoever_changes_them(settled: Cast) -> None:
    manager, team = settled.users["manager"], Group.objects.get(name="money")
    operator = settled.users["operator"]
    for change in (
        lambda: team.user_set.add(operator),
        lambda: Group.objects.filter(pk=team.pk).first().save(),
        lambda: manager.groups.remove(team),
        lambda: manager.groups.set([team]),
        lambda: team.user_set.clear(),
        lambda: manager.groups.add(team),
        lambda: manager.groups.clear(),
        lambda: manager.groups.add(team),
        lambda: team.delete(),
    ):
        change()
        assert broken() == ""
    team = Group.objects.create(name="quiet")
    manager.groups.add(team)
    Group.objects.filter(pk=team.pk).update(name="loud")
    assert "the user 'manager' was altered past the log: teams" in broken()


@pytest.mark.slow
def test_a_hash_renewed_at_sign_in_is_on_record(settled: Cast, settings: Any) -> None:
    settings.PASSWORD_HASHERS = ["dashboard.identity.passwords.BoundedHasher"]
    user = settled.users["operator"]
    hasher: Any = get_hasher()
    user.password = hasher.encode("operator-password", hasher.salt(), 1000)
    user.save(update_fields=["password"])
    store_password(user)
    assert broken() == ""
    client = Client()
    form = {"username": "operator", "password": "operator-password"}
    assert client.post("/login/", form).status_code == 302
    user.refresh_from_db()
    assert user.password.split("$")[1] != "1000"
    assert broken() == ""
    assert client.get("/").status_code == 200, "the login goes on"


def store_password(user: Any) -> None:
    with transaction.atomic():
        store.log_user(
            K.USER_CHANGED,
            user.pk,
            name=user.username,
            changed={"password": None},
            actor=ADMIN,
            workspace=user.pk,  # of somebody with a role it is not looked at
        )
