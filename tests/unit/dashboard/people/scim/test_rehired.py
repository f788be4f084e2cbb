"""Who was removed and is made again by a directory (RFC 7644, 3.6) has one account and nothing old.

A directory that deletes sends POST for a person who comes back; one that only disables people sends
`active: true`.
"""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth import get_user_model

from checkpoints import queries, store
from dashboard.errors import ActionError
from dashboard.identity import tokens
from dashboard.people.accounts.accounts import change_account
from dashboard.people.directory.arrivals import Arrival, NoAccess, arrive
from dashboard.people.sso import identities
from tests.support.cast import Cast
from tests.unit.dashboard.people.scim.test_scim import Directory, account, directory, roles, sound

pytestmark = pytest.mark.django_db
__all__ = ("directory",)
ISSUER = "https://id.example"


def came(subject: str) -> Any:
    groups = frozenset({"ops"})
    return arrive(Arrival(ISSUER, subject, "ada", True, "", "", "", groups), actor="sso:test")


@pytest.fixture
def leaver(directory: Directory) -> dict[str, Any]:
    made = directory.add("ada", name={"givenName": "Ada"})
    directory.group("ops", made)
    came("sub-old")
    tokens.make(account(made), made_by="test", scopes=["read"])
    directory.call("DELETE", f"/Users/{made['id']}", status=204)
    return made


def test_a_person_who_comes_back_has_one_account_and_nothing_of_before(
    cast: Cast, directory: Directory, leaver: dict[str, Any]
) -> None:
    path = f"/Users/{leaver['id']}"
    change = {"op": "replace", "path": "active", "value": True}
    for method in ("GET", "PUT", "PATCH", "DELETE"):
        body = {"userName": "ada", "Operations": [change]}
        directory.call(method, path, body, status=404)
    assert directory.get('/Users?filter=userName eq "ada"')["totalResults"] == 0
    with pytest.raises(NoAccess):
        came("sub-old")
    with pytest.raises(ActionError):
        came("sub-new")
    back = directory.add("Ada", externalId="00u-new", name={"givenName": "Augusta"})
    # The same account: who had asked for something cannot approve it as somebody else now.
    assert (back["id"], back["userName"], back["active"]) == (leaver["id"], "Ada", True)
    assert (back["externalId"], back["name"]["givenName"]) == ("00u-new", "Augusta")
    user = account(back)
    assert roles(back) == set()
    assert not user.groups.exists()
    assert not user.has_usable_password()
    assert all(token.revoked_at is not None for token in tokens.listed(user_id=user.pk))
    assert identities.providers_of(user) == [identities.SCIM]
    directory.patch(
        f"/Groups/{directory.get('/Groups')['Resources'][0]['id']}",
        {"op": "add", "path": "members", "value": [{"value": back["id"]}]},
    )
    assert came("sub-new").pk == user.pk
    # Once more, and for good this time.
    directory.call("DELETE", path, status=204)
    assert directory.add("ada")["id"] == leaver["id"]
    directory.call("POST", "/Users", {"userName": "ADA"}, status=409)
    assert sound(cast)


def test_what_somebody_here_has_touched_since_is_not_given_back(
    cast: Cast, directory: Directory, leaver: dict[str, Any]
) -> None:
    user = account(leaver)
    store.grant(cast.elsewhere, user.pk, "operator", actor="user:1")
    directory.call("POST", "/Users", {"userName": "ada"}, status=409)
    store.withdraw(cast.elsewhere, user.pk, "operator", actor="user:1")
    change_account(user, {"is_active": True}, actor="user:1", workspace=cast.workspace)
    directory.call("POST", "/Users", {"userName": "ada"}, status=409)
    change_account(user, {"is_active": False}, actor="user:1", workspace=cast.workspace)
    identities.link(user, identities.SCIM, "00u-linked", actor="user:1")
    directory.call("POST", "/Users", {"userName": "ada"}, status=409)
    identities.unlink(user, identities.SCIM, actor="user:1")
    assert queries.memberships(user.pk) == []
    assert directory.add("ada")["id"] == leaver["id"]
    assert get_user_model().objects.filter(username__iexact="ada").count() == 1


def test_a_person_who_was_disabled_here_is_not_enabled_by_a_new_one(
    cast: Cast, directory: Directory
) -> None:
    local = cast.users["viewer"]
    change_account(local, {"is_active": False}, actor="user:1", workspace=cast.workspace)
    directory.call("POST", "/Users", {"userName": "viewer"}, status=409)
