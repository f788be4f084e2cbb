"""Admins create, change and disable hooks and map people: calls, the admin site, the command."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command

from approvals.queries import ApprovalRow
from checkpoints.errors import InvalidValue
from dashboard.administration import hooks
from dashboard.administration.hooks import RotateHook, SwitchHook, UnmapIdentity
from dashboard.errors import ActionError, Forbidden
from tests.support.cast import Cast
from tests.unit.dashboard import hooking
from tests.unit.dashboard.access import confirm_waiting
from tests.unit.dashboard.administration.hooks.helpers import CLIENT, kinds
from tests.unit.dashboard.hooking import send, verdict

pytestmark = pytest.mark.requirement("C35")


@pytest.mark.parametrize("name", ["operator", "manager", "auditor", "viewer"])
def test_only_admins_look_after_hooks(cast: Cast, hook: tuple[UUID, str], name: str) -> None:
    who = cast.actor(name)
    for act in (
        lambda: hooking.created(who, "other"),
        lambda: hooks.ROTATE.run(who, RotateHook(), hook[0]),
        lambda: hooks.SWITCH.run(who, SwitchHook(active=False), hook[0]),
        lambda: hooks.map_identity(who, hook[0], "U5", 1),
        lambda: hooks.UNMAP.run(who, UnmapIdentity(identity="U1"), hook[0]),
    ):
        with pytest.raises(Forbidden, match="Needs the role admin"):
            act()


@pytest.mark.parametrize("word", ["", " ", "x" * 201, "a\u202eb", "a\u200bb", "a\nb", "a\0b"])
def test_words_for_people_can_be_seen(cast: Cast, hook: tuple[UUID, str], word: str) -> None:
    with pytest.raises(ActionError, match=r"\$.identity"):
        hooks.map_identity(cast.actor("admin"), hook[0], word, cast.users["manager"].pk)


@pytest.mark.parametrize("name", ["", "Slack", "a b", "-a", "x" * 41, "a/b"])
def test_names_are_plain_words(cast: Cast, name: str) -> None:
    with pytest.raises(ActionError, match="name"):
        hooking.created(cast.actor("admin"), name)


def test_a_name_and_a_secret_of_the_sender(cast: Cast) -> None:
    admin, add = cast.actor("admin"), hooks.hooks.add
    chosen = "whsec_" + "QUJD" * 8
    assert add(cast.workspace, "pager", actor=admin.id, secret=chosen)[1] == chosen
    with pytest.raises(ActionError, match="name of another hook"):
        hooking.created(admin, "pager")
    for bad in ("QUJD" * 8, "whsec_" + "A" * 8, "whsec_***"):
        with pytest.raises(InvalidValue, match="whsec_"):
            add(cast.workspace, "other", actor=admin.id, secret=bad)


# --- the admin site -------------------------------------------------------------------------------


def test_the_admin_site_makes_changes_and_maps(cast: Cast, row: ApprovalRow) -> None:
    client = cast.client("admin")
    page = client.post("/admin/approvals/hook/add/", {"name": "slack"})
    assert page.status_code == 200, page.content
    (one,) = hooks.hooks.hooks(cast.workspace)
    text = page.content.decode()
    secret = text.partition("<code>whsec_")[2].partition("</code>")[0].replace("&#x2B;", "+")
    secret = "whsec_" + secret.replace("&#43;", "+")
    assert f"/api/v1/hooks/decide/?hook={one.id}" in text
    mapped = client.post(
        "/admin/approvals/hookidentity/add/",
        {"hook": str(one.id), "identity": "U1", "user": cast.users["manager"].pk},
    )
    assert (mapped.status_code, mapped["Location"]) == (303, "/access/")
    assert hooks.hooks.identities(cast.workspace) == []
    assert confirm_waiting(cast) == 1
    refused = send(CLIENT, one.id, verdict(row), secret=secret)
    assert (refused.status_code, "/access/" in refused.json()["detail"]) == (403, True)
    (identity,) = hooks.hooks.identities(cast.workspace)
    for who, status in (("second_manager", 404), ("admin", 404), ("manager", 303)):
        answer = cast.client(who).post(f"/access/identities/{identity.id}/confirm/")
        assert answer.status_code == status, who
    assert send(CLIENT, one.id, verdict(row), secret=secret).status_code == 200
    changed = f"/admin/approvals/hook/{one.id}/change/"
    shown = client.get(changed).content.decode()
    assert secret[6:20] not in shown
    again = client.post(changed, {"active": "on", "new_secret": "on"})
    assert (again.status_code, "whsec_" in again.content.decode()) == (200, True)
    assert client.post(changed, {}).status_code == 302
    assert hooks.hooks.hooks(cast.workspace)[0].active is False
    for address in ("hook/", "hookidentity/", "hookdelivery/", f"hook/{one.id}/change/"):
        text = client.get(f"/admin/approvals/{address}").content.decode()
        assert "slack" in text or "msg_" in text or "manager" in text, address
        assert "whsec_" not in text
    (identity,) = hooks.hooks.identities(cast.workspace)
    gone = f"/admin/approvals/hookidentity/{identity.id}/delete/"
    assert client.post(gone, {"post": "yes"}).status_code == 302
    assert hooks.hooks.identities(cast.workspace) == []
    assert kinds(cast.workspace) == [
        "hook.created",
        "hook.mapped",
        "hook.refused",  # not confirmed yet
        "hook.confirmed",
        "hook.rotated",
        "hook.disabled",
        "hook.unmapped",
    ]


def test_auditors_look_and_do_not_touch(cast: Cast, hook: tuple[UUID, str]) -> None:
    client = cast.client("auditor")
    assert client.get("/admin/approvals/hook/").status_code == 200
    text = client.get(f"/admin/approvals/hook/{hook[0]}/change/").content.decode()
    assert "whsec_" not in text
    for address in ("hook/add/", f"hook/{hook[0]}/change/", "hookidentity/add/"):
        assert client.post(f"/admin/approvals/{address}", {}).status_code == 403, address
    assert cast.client("stranger").get("/admin/approvals/hook/").status_code == 200
    away = cast.client("stranger").get(f"/admin/approvals/hook/{hook[0]}/change/")
    assert away.status_code == 404


# --- the command ----------------------------------------------------------------------------------


def test_the_command(cast: Cast, row: ApprovalRow, capsys: Any) -> None:
    def command(*words: str) -> tuple[str, str]:
        call_command("hook", *words)
        result = capsys.readouterr()
        return result.out, result.err

    secret, payload = command("create", "slack", "--as", "admin")
    assert secret.startswith("whsec_")
    (one,) = hooks.hooks.hooks(cast.workspace)
    assert f"/api/v1/hooks/decide/?hook={one.id}" in payload
    assert "not yet" in command("map", "slack", "U1", "manager")[0]
    assert "manager" in command("confirm", "slack", "U1", "--as", "manager")[0]
    assert send(CLIENT, one.id, verdict(row), secret=secret.strip()).status_code == 200
    new = json.loads(command("rotate", "slack", "--keep", "0", "--json")[0])
    assert (new["secrets"], new["secret"] == secret.strip()) == (1, False)
    assert "U1" in command("list")[0]
    command("disable", "slack")
    command("enable", "slack")
    command("unmap", "slack", "U1")
    for words, code in (
        (("rotate", "pager"), 3),
        (("map", "slack", "U1", "nobody"), 3),
        (("create", "Bad Name"), 1),
        (("create", "other", "--as", "manager"), 1),
        (("rotate", "slack", "--keep", "never"), 1),
    ):
        with pytest.raises((SystemExit, CommandError)) as end:
            command(*words)
        assert getattr(end.value, "code", 0) == code, words
