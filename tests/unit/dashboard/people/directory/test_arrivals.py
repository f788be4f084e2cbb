"""People who come by single sign-on get an account and the roles that their groups open."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group

from checkpoints import queries, store
from checkpoints.chain import verify_workspace
from dashboard.configuration.sign_in import Access
from dashboard.errors import Conflict
from dashboard.models import Identity
from dashboard.people.directory.arrivals import Arrival, NoAccess, arrive
from dashboard.people.sso import identities
from tests.support.cast import Cast

pytestmark = pytest.mark.django_db
ISSUER, ACTOR = "https://login.example.com", "sso:login.example.com"
GROUPS = {
    "ops": (Access("default", ("operator", "viewer"), ("payments",)),),
    "leads": (Access("default", ("reviewer",), ()), Access("elsewhere", ("auditor",), ())),
    "owners": (Access("default", ("admin",), ()),),
    "gone": (Access("no such workspace", ("viewer",), ()),),
}


@pytest.fixture(autouse=True)
def _groups(settings: Any) -> None:
    settings.GATEPOST_GROUPS = GROUPS


def come(*groups: str, name: str = "ada", subject: str = "sub-ada", **values: str) -> Any:
    shown = {"email": f"{name}@example.com", "first_name": "", "last_name": ""} | values
    person = Arrival(ISSUER, subject, name, True, groups=frozenset(groups), **shown)
    return arrive(person, actor=ACTOR)


def roles(user: Any) -> set[tuple[str, str]]:
    return {(workspace, role) for _, workspace, role in queries.memberships(user.pk)}


def kinds(workspace: UUID, *, actor: str = ACTOR) -> list[str]:
    rows = queries.workspace_events(workspace, limit=100).rows
    return [str(row.kind) for row in reversed(rows) if row.actor == actor]


def sound(*places: UUID) -> bool:
    return [r.what for r in map(verify_workspace, places) if not r.intact] == []


def test_groups_open_roles_and_teams_and_each_is_an_event(cast: Cast) -> None:
    user = come("ops", "leads", "unknown")
    assert roles(user) == {
        *{("default", "operator"), ("default", "viewer"), ("default", "reviewer")},
        ("elsewhere", "auditor"),
    }
    assert [group.name for group in user.groups.all()] == ["payments"]
    assert user.email == "ada@example.com"
    assert not user.has_usable_password()
    assert kinds(cast.workspace) == [
        *("user.created", "identity.linked", "member.added"),
        *("role.granted", "role.granted", "role.granted", "user.changed"),
    ]
    assert sound(cast.workspace, cast.elsewhere)


def test_roles_follow_the_groups_at_each_sign_in(cast: Cast) -> None:
    former = come("ops", "leads")
    user = come("leads", last_name="Lovelace")
    assert user.pk == former.pk
    assert roles(user) == {("default", "reviewer"), ("elsewhere", "auditor")}
    assert not user.groups.exists()
    assert user.last_name == "Lovelace"
    count = len(kinds(cast.workspace))
    come("leads", last_name="Lovelace")
    assert len(kinds(cast.workspace)) == count  # nothing new, so nothing is written
    assert sound(cast.workspace, cast.elsewhere)


def test_no_group_is_a_refusal_and_makes_no_account(cast: Cast) -> None:
    for groups in ((), ("unknown",), ("gone",)):
        with pytest.raises(NoAccess, match="none of your groups opens"):
            come(*groups)
    assert get_user_model().objects.filter(username="ada").count() == 0
    assert kinds(cast.workspace) == []


def test_who_left_all_groups_loses_the_roles_and_stays_out(cast: Cast) -> None:
    user = come("ops")
    with pytest.raises(NoAccess, match="Your groups: hikers"):
        come("hikers")
    assert roles(user) == set()
    assert not user.groups.exists()
    assert kinds(cast.workspace)[-1] in {"member.removed", "user.changed"}
    assert sound(cast.workspace)


def test_a_local_account_is_not_taken_over_by_its_name(cast: Cast) -> None:
    with pytest.raises(Conflict, match="user link operator --subject sub-1"):
        come("owners", name="operator", subject="sub-1")
    assert roles(cast.users["operator"]) == {("default", "operator")}
    identities.link(cast.users["operator"], ISSUER, "sub-1", actor="user:0")
    assert come("ops", name="whatever", subject="sub-1").pk == cast.users["operator"].pk


def test_an_account_that_the_directory_made_is_linked_by_its_name(cast: Cast) -> None:
    user = get_user_model().objects.create_user("ada")
    store.grant(cast.workspace, user.pk, "viewer", actor="user:0")
    identities.link(user, identities.SCIM, "00u1", actor="user:0")
    user.groups.add(Group.objects.create(name="ops"))
    assert come("leads").pk == user.pk  # the groups that SCIM set count, and no claim
    assert roles(user) == {("default", "operator"), ("default", "viewer")}
    assert identities.subjects_of(ISSUER, [user.pk]) == {user.pk: "sub-ada"}


def test_an_account_of_the_directory_is_linked_by_its_name_only_once(cast: Cast) -> None:
    """A name at a provider may be chosen: whoever takes it later is somebody else."""
    user = get_user_model().objects.create_user("ada")
    identities.link(user, identities.SCIM, "00u1", actor="user:0")
    user.groups.add(Group.objects.create(name="owners"))
    assert come("leads").pk == user.pk
    for name in ("ada", "ADA", "\uff41da"):
        with pytest.raises(Conflict, match="user link ada --subject sub-eve"):
            come("leads", name=name, subject="sub-eve")
    assert identities.subjects_of(ISSUER, [user.pk]) == {user.pk: "sub-ada"}
    assert come("leads", name="renamed").pk == user.pk


def test_a_name_in_other_case_makes_no_second_account(cast: Cast) -> None:
    """Two accounts of one person would be two votes."""
    user = get_user_model().objects.create_user("Ada@Example.com")
    identities.link(user, identities.SCIM, "00u1", actor="user:0")
    user.groups.add(Group.objects.create(name="ops"))
    assert come("leads", name="ada@example.com").pk == user.pk
    assert roles(user) == {("default", "operator"), ("default", "viewer")}
    with pytest.raises(Conflict, match="user link operator --subject sub-o"):
        come("owners", name="OPERATOR", subject="sub-o")
    get_user_model().objects.create_user("BOB")
    identities.link(get_user_model().objects.create_user("bob"), identities.SCIM, "b", actor="t")
    with pytest.raises(Conflict):
        come("ops", name="bob", subject="sub-bob")


def test_a_disabled_account_stays_out_whatever_its_groups(cast: Cast) -> None:
    user = come("ops")
    get_user_model().objects.filter(pk=user.pk).update(is_active=False)
    with pytest.raises(NoAccess, match="disabled"):
        come("ops", "leads")
    assert ("default", "reviewer") not in roles(user)


def test_the_last_admin_is_refused_and_not_locked_out_of_the_workspace(cast: Cast) -> None:
    user = come("owners")
    store.withdraw(cast.workspace, cast.users["admin"].pk, "admin", actor="user:0")
    with pytest.raises(Conflict, match="admin"):
        come("ops")
    assert roles(user) == {("default", "admin")}


def test_roles_elsewhere_stay_as_an_admin_gave_them(cast: Cast) -> None:
    user = come("ops")
    third = store.create_workspace("third", actor="user:0")
    store.grant(third, user.pk, "auditor", actor="user:0")
    assert roles(come("ops")) >= {("third", "auditor")}


def test_an_identity_that_is_altered_in_the_database_is_found(cast: Cast) -> None:
    come("ops")
    assert sound(cast.workspace)
    Identity.objects.update(subject="sub-mallory")
    assert "identity" in verify_workspace(cast.workspace).what


def test_a_name_of_the_directory_belongs_to_one_account(cast: Cast) -> None:
    come("ops")
    other = come("ops", name="bob", subject="sub-bob")
    with pytest.raises(Conflict, match="another account"):
        identities.link(other, ISSUER, "sub-ada", actor="user:0")
    assert identities.unlink(other, ISSUER, actor="user:0")
    assert not identities.unlink(other, ISSUER, actor="user:0")
    assert Group.objects.filter(name="payments").count() == 1
    assert sound(cast.workspace)
