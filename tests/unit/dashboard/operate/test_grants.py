"""What each migration ends with."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client

from checkpoints.models import Workspace
from checkpoints.postgres import roles
from dashboard.configuration.sources import Misconfigured
from dashboard.operate.grants import after_migration

ROLE = "gatepost_runtime_of_grants"


@pytest.fixture
def migrating(settings: Any) -> Any:
    settings.ROLE, settings.GATEPOST_RUNTIME_ROLE = "migrate", None
    return settings


def test_a_new_installation_has_a_workspace_to_come_into(db: None, migrating: Any) -> None:
    for _ in range(2):
        after_migration()
        assert [w.name for w in Workspace.objects.all()] == ["default"]
    user = get_user_model().objects.create_superuser("first", password="correct horse battery")
    client = Client()
    client.force_login(user, "dashboard.identity.backends.Passwords")
    assert client.get("/").status_code == 200

    Workspace.objects.update(name="ours")
    after_migration()
    assert [w.name for w in Workspace.objects.all()] == ["ours"]


def test_without_the_role_of_a_migration_nothing_happens(db: None, settings: Any) -> None:
    settings.ROLE = "test"
    settings.GATEPOST_RUNTIME_ROLE = {"name": ROLE, "password": ""}
    after_migration()
    assert not Workspace.objects.exists()


def test_the_runtime_role_is_made_and_granted(real_db: str, migrating: Any) -> None:
    migrating.GATEPOST_RUNTIME_ROLE = {"name": ROLE, "password": "hush-hush"}
    try:
        after_migration()
        assert roles.excess(ROLE) == []
        with connection.cursor() as cursor:
            cursor.execute("SELECT has_table_privilege(%s, 'gp_thread', 'UPDATE')", [ROLE])
            assert cursor.fetchone() == (True,)
            cursor.execute(f"ALTER ROLE {ROLE} SUPERUSER")
        with pytest.raises(Misconfigured, match=f"The role {ROLE} is a superuser"):
            after_migration()
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"DROP OWNED BY {ROLE}")
            cursor.execute(f"DROP ROLE {ROLE}")


def test_a_role_that_cannot_be_made_is_asked_for(
    real_db: str, migrating: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(_name: str, *, password: str) -> None:
        raise roles.RoleMissing(ROLE)

    monkeypatch.setattr(roles, "grant", missing)
    migrating.GATEPOST_RUNTIME_ROLE = {"name": ROLE, "password": "hush-hush"}
    with pytest.raises(Misconfigured, match="let an administrator say CREATE ROLE") as caught:
        after_migration()
    assert "hush" not in str(caught.value)
