"""Django's own commands for logins: each change is an event of the workspace's log."""

from __future__ import annotations

import getpass
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command, get_commands
from django.db import connection

from checkpoints import queries, store
from checkpoints.chain import verify_workspace
from checkpoints.errors import NotAllowedNow
from tests.support.cast import Cast
from tests.unit.dashboard.records.test_admin_people import SECRET, events, user


@pytest.fixture
def _password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", SECRET)
    monkeypatch.setattr(getpass, "getpass", lambda **_: f"{SECRET} again")


def make(name: str) -> None:
    call_command("createsuperuser", username=name, email="", interactive=False, verbosity=0)


def test_they_stand_before_those_of_django() -> None:
    commands = get_commands()
    assert commands["createsuperuser"] == commands["changepassword"] == "dashboard.people"


@pytest.mark.usefixtures("_password")
def test_a_superuser_made_by_command_is_an_event(cast: Cast) -> None:
    before = len(events(cast.workspace))
    make("root")
    made = user("root")
    assert made.is_superuser
    assert made.check_password(SECRET)
    call_command("changepassword", "root", verbosity=0)
    assert user("root").check_password(f"{SECRET} again")
    payload = events(cast.workspace)[before:]
    who = {"user": made.pk, "name": "root"}
    assert payload == [
        (
            "user.created",
            "command:createsuperuser",
            who | {"changed": {"is_superuser": [False, True]}},
        ),
        ("user.changed", "command:changepassword", who | {"changed": {"password": None}}),
    ]
    assert SECRET not in str(payload)
    assert verify_workspace(cast.workspace).intact


@pytest.mark.usefixtures("_password")
def test_a_member_is_told_of_where_they_belong(cast: Cast) -> None:
    made = get_user_model().objects.create_user("traveller", password=SECRET)
    store.grant(cast.elsewhere, made.pk, "viewer", actor="user:0")
    before = len(events(cast.workspace))
    call_command("changepassword", "traveller", verbosity=0)
    assert events(cast.elsewhere)[-1][:2] == ("user.changed", "command:changepassword")
    assert len(events(cast.workspace)) == before


@pytest.mark.usefixtures("_password")
def test_without_its_event_nothing_is_changed(real_db: str, monkeypatch: Any) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise NotAllowedNow("The log is closed.")

    make("first")
    workspace = queries.default_workspace()  # made for it, where there was none
    assert [kind for kind, _, _ in events(workspace)] == ["workspace.created", "user.created"]
    monkeypatch.setattr(store, "log_user", refused)
    with pytest.raises(NotAllowedNow):
        make("second")
    with pytest.raises(NotAllowedNow):
        call_command("changepassword", "first", verbosity=0)
    monkeypatch.undo()
    assert not get_user_model().objects.filter(username="second").exists()
    assert user("first").check_password(SECRET)
    assert not connection.in_atomic_block
    assert len(events(workspace)) == 2


@pytest.mark.usefixtures("_password")
def test_what_is_refused_writes_nothing_and_others_are_not_listened_to(cast: Cast) -> None:
    before = len(events(cast.workspace))
    with pytest.raises(CommandError, match="already taken"):
        make("operator")
    with pytest.raises(CommandError, match="does not exist"):
        call_command("changepassword", "no-such", verbosity=0)
    get_user_model().objects.create_user("plain", password=SECRET)
    assert len(events(cast.workspace)) == before
