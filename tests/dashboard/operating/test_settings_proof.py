"""Verifying covers what steers: each recorded row is altered, taken away and added, and found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import get_hasher
from django.contrib.auth.models import Group
from django.db import IntegrityError, connection, transaction
from django.test import Client
from uuid_utils.compat import uuid7

from approvals.deputies import changes as deputies
from approvals.hooks import changes as hooks
from approvals.incidents import quiet_hours, subscriptions
from approvals.notify import devices, endpoints
from approvals.notify.channels import push
from approvals.policies import changes as policies
from approvals.policies.budgets import announce_budgets
from approvals.policies.drafts import Draft
from checkpoints import chain, store
from checkpoints.chain import verify_workspace
from checkpoints.log import recorded
from checkpoints.states import WorkspaceEventKind as K
from checkpoints.store.installation.workspaces import log_record
from checkpoints.store.statement.moves import NewEvent
from dashboard.actions.people import administration
from dashboard.identity import tokens
from dashboard.identity.second_factor import codes, records
from dashboard.identity.sso import identities
from dashboard.mcp.registry import changes as mcp_servers
from dashboard.operating import column_cover
from dashboard.operating.proof import (
    installation,
    installation_damage_in_slices,
    left_behind,
    verify,
    workspace_report,
)
from dashboard.saved_views import changes as saved_views
from tests.approvals.incidents.scenes import handled_incidents
from tests.cast import Cast
from tests.checkpoints.builders import make_thread, rows
from tests.dashboard import scene
from tests.dashboard.authenticator import Authenticator

from .altered_columns import OTHER, SOME, columns_of, unguarded  # noqa: F401

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("E11")]
ADMIN = "user:0"


@pytest.fixture
def settled(cast: Cast) -> Cast:
    """A workspace in which every kind of setting was made, and most were changed."""
    place = cast.workspace
    handled_incidents(cast)  # before anything else is in trouble that nobody did anything about
    first = policies.make(place, Draft("pay", "true", "ask"), actor=ADMIN)
    second = policies.make(place, Draft("look", "true", "allow"), actor=ADMIN)
    policies.change(
        first.policy, Draft("pays", "true", "ask"), workspace=place, seen=1, actor=ADMIN
    )
    policies.move(second.policy, 1, workspace=place, actor=ADMIN)
    policies.switch(second.policy, False, workspace=place, actor=ADMIN)
    for cost in ("25", "20"):
        policies.set_cap(place, scope="agent", per="day", max_cost=cost, agent="a", actor=ADMIN)
    for reason in ("prices", "rates"):
        breaker = store.trip_breaker(place, {"agent": "a"}, reason=reason, actor=ADMIN)
    released = {"workspace": place, "reason": "right", "actor": ADMIN}
    store.release_breaker(breaker.id, **released)
    for n, agent in enumerate(("a", "b")):
        thread = make_thread(workspace=place)
        store.cancel(thread, actor=ADMIN)
        store.set_hold(thread, workspace=place, reason="case", actor=ADMIN)
        store.lift_hold(thread, workspace=place, reason="closed", actor=ADMIN)
        words = {"scope": "family", "reason": "consent", "actor": "user:99", "name": "nobody"}
        row = store.request_erasure(thread, workspace=place, **words)
        approved = {"approve": True, "actor": ADMIN, "name": "admin"}
        store.decide_erasure(row.id, workspace=place, **approved)
        store.carry_out_erasure(row.id, workspace=place)
        for days in (30, 60 + n):
            rule = {"agent": agent, "days": days, "archive": False, "active": True}
            store.set_retention_rule(place, **rule, actor=ADMIN)
    for limit in ({"max_tokens": 5}, {"max_cost": "9", "max_tokens": 7}):
        store.set_budget(place, scope="agent", name="a", actor=ADMIN, **limit)
    store.set_budget(place, scope="team", name="t", max_cost="0", at_full="stop", actor=ADMIN)
    assert announce_budgets(owner=ADMIN) == 1  # of nothing all is spent
    hook, _ = hooks.create(place, "bank", actor=ADMIN)
    hooks.rotate(hook.id, workspace=place, actor=ADMIN)
    for who in ("operator", "manager"):
        user = cast.users[who].pk
        hooks.map_identity(hook.id, "U1", user, workspace=place, actor=ADMIN)
    hooks.map_identity(hook.id, "U2", user, workspace=place, actor=ADMIN)
    hooks.unmap_identity(hook.id, "U2", workspace=place, actor=ADMIN)
    for subject in ("1", "2"):
        identities.link(cast.users["viewer"], "https://a.example", subject, actor=ADMIN)
    identities.link(cast.users["viewer"], identities.SCIM, "1", actor=ADMIN)
    identities.unlink(cast.users["viewer"], identities.SCIM, actor=ADMIN)
    for who in ("viewer", "auditor"):
        user = cast.users[who]
        recovery = records.add(user, codes.new_secret(), 1, actor=f"user:{user.pk}")
        assert records.use(user, recovery[0]) == records.RECOVERY
    for who in ("viewer", "viewer", "auditor"):
        Authenticator().added(cast.users[who])
    records.remove(cast.users["auditor"], actor=ADMIN)
    wanted = endpoints.Wanted(name="mail", target="a@example.org")
    mail, _ = endpoints.make(place, "email", wanted, actor=ADMIN)
    endpoints.change(mail, endpoints.Wanted(digest=5), workspace=place, actor=ADMIN)
    endpoints.switch(mail, False, workspace=place, actor=ADMIN)
    people, _ = endpoints.make(place, "email", endpoints.Wanted(name="people"), actor=ADMIN)
    operator = f"user:{cast.users['operator'].pk}"
    choice = subscriptions.Choice(endpoint=people)
    subscribed = [subscriptions.make(place, choice, actor=ADMIN, person=operator) for _ in range(3)]
    passed_on = subscriptions.Choice(escalate_to=subscribed[1], escalate_minutes=5)
    subscriptions.change(subscribed[0], passed_on, workspace=place, actor=ADMIN)
    subscriptions.remove(subscribed[2], workspace=place, actor=ADMIN)
    own = saved_views.Choice("Failed", "status=failed", shared=True)
    view = saved_views.save(place, operator, own, actor=operator)
    saved_views.save(place, operator, replace(own, name="All", shared=False), actor=operator)
    gone = saved_views.save(place, ADMIN, own, actor=ADMIN)
    renamed = saved_views.Choice(name="Failed ones")
    saved_views.change(view.id, renamed, workspace=place, actor=ADMIN)
    saved_views.remove(gone.id, workspace=place, actor=ADMIN)
    for ends in (6, 7):
        quiet_hours.set_quiet_hours(place, operator, time(22), time(ends), "UTC", actor=ADMIN)
    manager, second = (f"user:{cast.users[name].pk}" for name in ("manager", "second_manager"))
    for days in (0, 10, 20):
        begins = datetime.now(UTC) + timedelta(days=days)
        period = deputies.Period(begins, begins + timedelta(days=5))
        named = deputies.name_deputy(place, manager, second, period, reason="out", actor=ADMIN)
    deputies.remove_deputy(named, workspace=place, actor=ADMIN)
    row = scene.waiting(place, scene.make_agent())
    for _ in range(2):
        deputies.hand_over(
            row.id,
            workspace=place,
            person=manager,
            actor=manager,
            to="second_manager",
            reason="",
        )
    for n, name in enumerate(("phone", "desk", "gone")):
        keys = push.public_key(), "BTBZMqHH6r4Tts7J_aSIgg"
        device = devices.Subscribed(f"https://push.example/{n}", *keys)
        added = devices.add(place, operator, name, device, actor=operator)
    assert devices.forget([added.id]) == 1
    upstream = mcp_servers.Wanted(url="https://a.example")
    server = mcp_servers.add(place, "notes", upstream, actor=ADMIN)
    mcp_servers.change(
        server.id, mcp_servers.Wanted(credential="GATEPOST_SECRET_A"), workspace=place, actor=ADMIN
    )
    for text in ("Add.", "Add two."):
        tool = {"name": "add", "description": text, "inputSchema": {"type": "object"}}
        mcp_servers.note_listed(server, [tool], actor=ADMIN)
        mcp_servers.accept(server.id, None, workspace=place, actor=ADMIN)
    mcp_servers.set_mode(server.id, "add", "ask", workspace=place, actor=ADMIN)
    gone = mcp_servers.add(place, "gone", upstream, actor=ADMIN)
    mcp_servers.note_listed(gone, [tool], actor=ADMIN)
    mcp_servers.remove(gone.id, workspace=place, actor=ADMIN)
    row, _ = tokens.make(cast.users["operator"], made_by=ADMIN, name="a")
    tokens.revoke(row.prefix, by=ADMIN)
    tokens.make(cast.users["operator"], made_by=ADMIN, name="b")
    cast.users["manager"].groups.add(Group.objects.create(name="money"))
    who = administration.administrator_of(cast.users["admin"])
    administration.change_user(who, cast.users["viewer"].pk, {"email": "v@example.org"})
    cast.users["nobody"].delete()  # who has no right is in no log
    assert broken() == ""
    return cast


def broken() -> str:
    """What the whole of it shows, in words."""
    results = [verify_workspace(ident) for (ident,) in rows("SELECT id FROM gp_workspace")]
    messages = [report.what for report in results if not report.intact]
    return " ".join([*messages, *(r.what for _, r, *_ in (*installation(), *left_behind()))])


def changes(table: str, column: str, kind: str, *, empty: bool) -> str:
    if column == "role":
        return "CASE role WHEN 'admin' THEN 'viewer' ELSE 'admin' END"
    if (table, column) == ("gp_workspace_event", "kind"):
        return "CASE kind WHEN 'role.granted' THEN 'role.withdrawn' ELSE 'role.granted' END"
    if column == "action":
        return "CASE action WHEN 'ask' THEN 'allow' ELSE 'ask' END"
    if column in ("transport", "mode", "surface"):
        words = {"transport": ("http", "command"), "mode": ("ask", "refuse")}
        words = words.get(column, ("board", "records"))
        return "CASE {} WHEN '{}' THEN '{}' ELSE '{}' END".format(column, *words, words[0])
    if table == "gp_budget" and column in ("scope", "at_full"):
        words = {"scope": ("agent", "team"), "at_full": ("notify", "stop")}[column]
        return "CASE {} WHEN '{}' THEN '{}' ELSE '{}' END".format(column, *words, words[0])
    if column in ("scope", "per", "kind", "state"):
        words = {"scope": "thread", "per": "total", "kind": "webhook", "state": "refused"}
        return f"'{words[column]}'"
    if empty:
        return SOME.get(kind, "1" if kind in ("integer", "double precision") else "'x'")
    return OTHER.get(kind, "{c} + 1").format(c=column)


def altered(table: str, column: str, kind: str) -> Iterator[str]:
    # A log is long and all of one kind: some of its entries, others for each column.
    places = rows(f"SELECT ctid::text, {column} IS NULL FROM {table} ORDER BY ctid")
    every = max(1, len(places) // 6)
    for place, empty in places[len(column) % every :: every]:
        with transaction.atomic():
            try:
                done = rows(
                    f"UPDATE {table} SET {column} = {changes(table, column, kind, empty=empty)} "
                    "WHERE ctid = %s::tid RETURNING 1",
                    [place],
                )
            except IntegrityError:
                done = []
                transaction.set_rollback(True)
            if done:
                yield f"{table}.{column}"
            transaction.set_rollback(True)


def proved_columns() -> list[tuple[str, str]]:
    """The columns that are called proved of the tables that this module sweeps, as in the list."""
    here = [*recorded.tables(), "gp_membership", "gp_workspace_event"]
    return [
        (c.table, c.name) for c in column_cover.columns() if c.table in here and c.cover == "proved"
    ]


# Tables whose proved columns are altered here, or in `test_second_person`.
SWEPT = {
    *recorded.tables(),
    "gp_membership",
    "gp_workspace_event",
    "gp_agent_version",
    "gp_carried_out",
}


@pytest.mark.slow
@pytest.mark.usefixtures("unguarded")
def test_whatever_column_on_record_is_altered_is_found_and_named(settled: Cast) -> None:
    missed, tried = [], set()
    for table, column in proved_columns():
        on_record = recorded.tables().get(table)
        kind = dict(columns_of(table))[column]
        for what in altered(table, column, kind):
            message = broken()
            tried.add((table, column))
            named = on_record is None or column not in on_record.columns
            if not message or not (named or (on_record.noun in message and column in message)):
                missed.append((what, message))
    assert missed == []
    assert tried == set(proved_columns())


@pytest.mark.slow
@pytest.mark.usefixtures("unguarded")
@pytest.mark.parametrize("table", sorted(recorded.tables()))
def test_a_row_on_record_that_is_taken_away_or_added_is_found(settled: Cast, table: str) -> None:
    noun = recorded.tables()[table].noun
    places = rows(f"SELECT ctid::text FROM {table}")
    assert places
    for (place,) in places:
        with transaction.atomic():
            rows(f"DELETE FROM {table} WHERE ctid = %s::tid RETURNING 1", [place])
            message = broken()
            assert f"the {noun} " in message or table == "gp_workspace", message
            assert message or table == "gp_workspace"  # another test finds what it leaves behind
            transaction.set_rollback(True)
    if table in ("gp_workspace", "auth_user"):
        return
    names = [name for name, _ in columns_of(table)]
    values = [COPIES.get((table, n), COPIES.get(n, n)) for n in names]
    with transaction.atomic():
        rows(
            f"INSERT INTO {table} ({', '.join(names)}) SELECT {', '.join(values)} FROM {table} "
            "LIMIT 1 RETURNING 1"
        )
        assert "no event tells of it" in broken()
        transaction.set_rollback(True)


# So that a copied row stands beside its original.
COPIES: dict[Any, str] = {
    "id": "gen_random_uuid()",
    "name": "name || 'x'",
    ("gp_policy_version", "number"): "number + 100",
    ("gp_budget_band", "number"): "number + 100",
    ("gp_spend_cap", "agent"): "agent || 'x'",
    ("gp_retention_rule", "agent"): "agent || 'x'",
    ("gp_hook_identity", "identity"): "identity || 'x'",
    ("gp_quiet_hours", "person"): "person || 'x'",
    ("gp_identity", "provider"): "provider || 'x'",
    # Somebody who has none: a person has one.
    ("gp_second_factor", "user_id"): "(SELECT max(id) FROM auth_user)",
    ("gp_passkey", "credential_id"): "credential_id || 'x'",
    ("gp_incident", "fingerprint"): "'x'",
    ("gp_token", "prefix"): "'zzzzzzzz'",
    ("gp_token", "secret_hash"): "sha256(secret_hash)",
}


@pytest.mark.usefixtures("unguarded")
def test_a_superuser_out_of_nowhere_is_found(settled: Cast) -> None:
    get_user_model().objects.create_superuser("ghost", password="x")
    assert "The user 'ghost' has rights, and no event tells of them." in broken()


@pytest.mark.usefixtures("unguarded")
@pytest.mark.parametrize("at_once", [1, 3, 1_000])
def test_several_users_out_of_nowhere_are_all_named(
    settled: Cast, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr("checkpoints.chain.installation.AT_ONCE", at_once)
    for name in ("ghost", "ghoul", "ghast"):
        get_user_model().objects.create_superuser(name, password="x")
    message = "The users 'ghost', 'ghoul', 'ghast' have rights, and no event tells of them."
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


@pytest.mark.usefixtures("unguarded")
def test_the_next_honest_change_does_not_hide_an_alteration(settled: Cast) -> None:
    place = settled.workspace
    there = {name: ident for ident, name in rows("SELECT id, name FROM gp_policy")}
    rows("UPDATE gp_policy SET active = false WHERE name = 'pays' RETURNING 1")
    policies.move(there["look"], 2, workspace=place, actor=ADMIN)
    assert "before it the policy 'pays' was altered past the log: active" in broken()


@pytest.mark.usefixtures("unguarded")
def test_a_planted_row_is_not_taken_over_by_an_honest_change(settled: Cast) -> None:
    rows(
        "INSERT INTO gp_policy (id, workspace_id, name, position, active, number) SELECT "
        "gen_random_uuid(), workspace_id, 'planted', 0, false, 1 FROM gp_policy LIMIT 1 "
        "RETURNING 1"
    )
    ((ident,),) = rows("SELECT id FROM gp_policy WHERE name = 'planted'")
    rows(
        "INSERT INTO gp_policy_version (id, workspace_id, policy_id, number, condition, action, "
        "terms, risk, title, note, made_by, made_at) SELECT gen_random_uuid(), workspace_id, "
        "%s::uuid, 1, condition, 'allow', terms, risk, title, note, made_by, made_at FROM "
        "gp_policy_version LIMIT 1 RETURNING 1",
        [ident],
    )
    policies.switch(ident, True, workspace=settled.workspace, actor=ADMIN)
    assert "the policy 'planted' was there before it" in broken()


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


def with_a_former_id(work: UUID) -> UUID:
    """A copy of an agent version under an id as former versions made them."""
    former = uuid7()
    columns = [name for name, _ in columns_of("gp_agent_version") if name != "id"]
    values = ["version + 1" if name == "version" else name for name in columns]
    rows(
        f"INSERT INTO gp_agent_version (id, {', '.join(columns)}) SELECT %s, {', '.join(values)} "
        "FROM gp_agent_version WHERE id = %s RETURNING 1",
        [former, work],
    )
    return former


@pytest.mark.usefixtures("unguarded")
def test_a_planted_agent_version_is_found_whatever_its_id(db: None) -> None:
    make_thread()
    ((version,),) = rows("SELECT id FROM gp_agent_version")
    with_a_former_id(version)
    message = "The version 2 of the agent 'counting' is there, and no event tells of it."
    assert message in broken()
    damage = chain.returned(installation_damage_in_slices())
    assert [message] == [report.what for report in damage.values()]


@pytest.mark.usefixtures("unguarded")
def test_former_agent_versions_are_on_record_as_they_stood(db: None) -> None:
    make_thread()
    ((version,),) = rows("SELECT id FROM gp_agent_version")
    former = with_a_former_id(version)
    # As a record that the code of before began: it says nothing of agent versions.
    ((workspace,),) = rows("SELECT id FROM gp_workspace")
    with transaction.atomic():
        log_record(workspace, NewEvent(K.RECORD_BEGUN, {"tables": []}, ADMIN))
    assert broken() == "", "of these nothing is proved"
    assert store.begin_record(actor=ADMIN) > 0
    assert store.begin_record(actor=ADMIN) == 0
    assert broken() == ""
    rows("UPDATE gp_agent_version SET fingerprint = 'other' WHERE id = %s RETURNING 1", [former])
    assert "of the agent 'counting' is not what stood there when the record began" in broken()


@pytest.mark.usefixtures("unguarded")
@pytest.mark.parametrize(
    "column",
    sorted(column_cover.proved("gp_agent_version")),
)
def test_an_altered_agent_version_is_found_in_it_and_its_threads(db: None, column: str) -> None:
    thread = make_thread()
    assert broken() == ""
    assert verify(thread).intact
    kind = dict(columns_of("gp_agent_version"))[column]
    change = OTHER[kind].format(c=column)
    with transaction.atomic():
        rows(f"UPDATE gp_agent_version SET {column} = {change} RETURNING 1")
        assert "is not what its id was made of" in broken()
        assert column == "id" or not verify(thread).intact
        transaction.set_rollback(True)
