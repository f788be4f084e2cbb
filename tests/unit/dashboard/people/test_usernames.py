"""One rule for usernames at every entry point: shown whole, and one person's in any case."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client

from checkpoints import queries
from dashboard.configuration.sign_in import Access
from dashboard.errors import ActionError, Conflict, Invalid
from dashboard.identity import tokens
from dashboard.people.accounts.accounts import add_account, change_account
from dashboard.people.accounts.usernames import alike, person_name
from dashboard.people.directory.arrivals import Arrival, arrive
from dashboard.people.sso.claims import Named, named_by
from tests.support.cast import Cast, make_cast
from tests.unit.dashboard.calls import post
from tests.unit.dashboard.people.scim.test_scim import Directory
from tests.unit.dashboard.people.test_people_as_code import call
from tests.unit.dashboard.records.test_admin_people import SECRET, change, new_user

UNSEEN = {
    "bidi override": "ada\u202eabc",
    "bidi isolate": "a\u2066da",
    "left-to-right mark": "ada\u200e",
    "zero-width space": "a\u200bda",
    "zero-width joiner": "ada\u200d",
    "byte order mark": "\ufeffada",
    "soft hyphen": "a\xadda",
    "filler": "ada\u3164",
    "tag": "ada\U000e0041",
    "variation selector": "ada\ufe0f",
    "control": "ada\x07",
    "line break": "ada\nbob",
    "C1 control": "ada\x9f",
    "line separator": "a\u2028da",
    "private use": "ada\ue000",
    "space behind": "ada\u00a0",
}
type Entry = Callable[[Cast, str], bool]  # True if it made or renamed somebody


def superuser(cast: Cast) -> Any:
    admin = cast.users["admin"]
    change_account(admin, {"is_superuser": True}, actor="user:0", workspace=cast.workspace)
    return admin


def patient(send: Callable[[], Any]) -> Any:
    """The answer, once it is not "somebody else is changing this right now; try again"."""
    for _ in range(20):
        if (answer := send()).status_code != 503:
            break
    return answer


def by_api(cast: Cast, name: str) -> bool:
    _, token = tokens.make(cast.users["admin"], made_by="test", scopes=["administer"])
    script = Client(headers={"Authorization": f"Bearer {token}"})
    answer = patient(lambda: post(script, "/users/", {"username": name, "roles": ["viewer"]}))
    assert answer.status_code in (201, 422), answer.content
    return bool(answer.status_code == 201)


def by_admin_site(cast: Cast, name: str) -> bool:
    answer = new_user(cast.client("admin"), name, "viewer")
    assert answer.status_code in (200, 302, 303)  # a form, its place, a notice
    return bool(answer.status_code == 302)


def renamed_by_admin_site(cast: Cast, name: str) -> bool:
    change(cast.client("admin"), "viewer", username=name)
    return not get_user_model().objects.filter(username="viewer").exists()


def by_command(cast: Cast, name: str) -> bool:
    return call("user", "create", name, "--role", "viewer")[0] == 0


def by_createsuperuser(cast: Cast, name: str) -> bool:
    try:
        call_command("createsuperuser", username=name, email="", interactive=False, verbosity=0)
    except CommandError:
        return False
    return True


def by_scim(cast: Cast, name: str) -> bool:
    directory = Directory(tokens.make(superuser(cast), made_by="user:0", scopes=["scim"])[1])
    answer = patient(
        lambda: directory.http.post(
            "/scim/v2/Users", {"userName": name}, content_type="application/scim+json"
        )
    )
    assert answer.status_code in (201, 400, 409), answer.content
    return bool(answer.status_code == 201)


def renamed_by_scim(cast: Cast, name: str) -> bool:
    directory = Directory(tokens.make(superuser(cast), made_by="user:0", scopes=["scim"])[1])
    made = directory.add("somebody")
    answer = directory.http.patch(
        f"/scim/v2/Users/{made['id']}",
        {"Operations": [{"op": "replace", "path": "userName", "value": name}]},
        content_type="application/scim+json",
    )
    assert answer.status_code in (200, 400, 409), answer.content
    return answer.status_code == 200


def by_single_sign_on(cast: Cast, name: str) -> bool:
    person = Arrival(
        "https://id.example", f"sub-{name}", name, True, "", "", "", frozenset({"ops"})
    )
    try:
        arrive(person, actor="sso:test")
    except ActionError:
        return False
    return True


ENTRIES: dict[str, Entry] = {
    "API": by_api,
    "admin site": by_admin_site,
    "admin site, renamed": renamed_by_admin_site,
    "command": by_command,
    "createsuperuser": by_createsuperuser,
    "SCIM": by_scim,
    "SCIM, renamed": renamed_by_scim,
    "single sign-on": by_single_sign_on,
}


@pytest.fixture(autouse=True)
def _around(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.GATEPOST_GROUPS = {"ops": (Access("default", ("operator",), ()),)}
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", SECRET)


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("entry", ENTRIES)
def test_each_entry_makes_people_whose_names_show_and_nobody_else(cast: Cast, entry: str) -> None:
    users = get_user_model().objects
    before = users.count() + (entry == "SCIM, renamed")
    for why, name in UNSEEN.items():
        if why == "space behind" and ("admin site" in entry or entry == "single sign-on"):
            continue  # their forms take spaces away
        assert not ENTRIES[entry](cast, name), why
        users.filter(username="somebody").delete()
    # The names of others in another case are taken; nobody has come or changed so far.
    for name in ("OPERATOR", "Manager"):
        assert not ENTRIES[entry](cast, name), name
        users.filter(username="somebody").delete()
    assert users.count() == before - (entry == "SCIM, renamed")
    assert ENTRIES[entry](cast, "grace.hopper+1@example.com")


@pytest.mark.django_db
def test_names_are_alike_in_any_case_of_any_script(cast: Cast) -> None:
    made = add_account(
        "\xc4da", password=None, values={}, actor="test", workspace=queries.default_workspace()
    )
    assert alike("\xe4DA") == alike("a\u0308DA") == [made]
    assert alike("\xe4DA", but=made.pk) == []
    assert alike("ada") == []
    # Who has such a name from before keeps it, and everything else of theirs can be changed.
    get_user_model().objects.filter(pk=made.pk).update(username="\u202eold")
    made.refresh_from_db()
    assert change_account(
        made, {"username": "\u202eold", "email": "a@example.com"}, actor="t",
        workspace=cast.workspace,
    )  # fmt: skip
    with pytest.raises(Invalid, match=r"U\+202E"):
        person_name("\u202eold")


@pytest.mark.slow
@pytest.mark.parametrize("pair", [("API", "SCIM"), ("single sign-on", "command"), ("API", "API")])
def test_two_who_come_at_once_with_one_name_get_one_account(
    real_db: str, pair: tuple[str, str]
) -> None:
    """They differ by case, so no index of the database tells them apart."""
    cast = make_cast()
    superuser(cast)
    made = 0
    for turn in range(6):
        start = Barrier(2)

        def come(entry: str, name: str, start: Barrier = start) -> bool:
            try:
                start.wait(20)
                return ENTRIES[entry](cast, name)
            finally:
                connection.close()

        with ThreadPoolExecutor(2) as pool:
            entries = zip(pair, (f"ada{turn}", f"ADA{turn}"), strict=True)
            results = [one.result(30) for one in [pool.submit(come, *d) for d in entries]]
        rows = get_user_model().objects.filter(username__iexact=f"ada{turn}")
        assert rows.count() == sum(results), results
        made += rows.count()
    assert made == 6


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("claims", "by", "links"),
    [
        ({"email_verified": True}, "email", True),
        ({"email_verified": "true"}, "email", True),
        ({}, "email", False),
        ({"email_verified": None}, "email", False),
        ({"email_verified": "false"}, "email", None),
        ({"email_verified": False}, "email", None),
        ({"email_verified": 1}, "email", None),
        ({}, "preferred_username", False),  # it sends no such claim: the address stands in
        ({"preferred_username": "ada@example.com"}, "preferred_username", True),
    ],
)
def test_a_mail_address_links_an_account_only_once_it_is_verified(
    cast: Cast, claims: dict[str, Any], by: str, links: bool | None
) -> None:
    directory = Directory(tokens.make(superuser(cast), made_by="user:0", scopes=["scim"])[1])
    victim = directory.add("ada@example.com")
    directory.group("ops", victim)
    named = named_by({"email": "ada@example.com"} | claims, by, name_max=151, email_max=254)
    if links is None:
        assert named == Named("", "", False)  # and a sign-in without a name is refused
        return
    person = Arrival(
        "https://id.example", "sub-1", named.username, named.vouched, named.email, "", "",
        frozenset({"ops"}),
    )  # fmt: skip
    if links:
        assert str(arrive(person, actor="sso:test").pk) == victim["id"]
        return
    with pytest.raises(Conflict, match=r"user link ada@example\.com --subject sub-1"):
        arrive(person, actor="sso:test")
