"""The records: who enters, what they see, and that nothing there can change what is kept."""

from __future__ import annotations

import html
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import time
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils.html import escape

from approvals import gates
from approvals.gates import Reviewer
from approvals.hooks import changes as hooks
from approvals.hooks import deliveries
from approvals.incidents import quiet_hours, subscriptions
from approvals.incidents.subscriptions import Choice
from approvals.incidents.sweep import sweep_incidents
from approvals.notify import endpoints
from approvals.notify.endpoints import Wanted
from approvals.policies import changes as policies
from approvals.policies.drafts import Draft
from checkpoints import queries, store
from checkpoints.states import EventKind
from dashboard.identity import tokens
from dashboard.saved_views import changes
from tests.cast import Cast
from tests.checkpoints.builders import rows
from tests.dashboard import scene

pytestmark = pytest.mark.django_db
READ_ONLY = {
    "checkpoints_thread",
    "checkpoints_checkpoint",
    "checkpoints_content",
    "checkpoints_event",
    "checkpoints_activity",
    "checkpoints_artifact",
    "checkpoints_agentversion",
    "checkpoints_worker",
    "checkpoints_workspaceevent",
    "checkpoints_retentionrule",
    "checkpoints_hold",
    "checkpoints_budget",
    "approvals_approval",
    "approvals_decision",
    "approvals_policyversion",
    "approvals_delivery",
    "approvals_hookdelivery",
    "approvals_incident",
    "approvals_quiethours",
    "dashboard_token",
    "dashboard_savedview",
}
EDITED = {
    "checkpoints_workspace",
    "checkpoints_membership",
    "auth_user",
    "approvals_endpoint",
    "approvals_hook",
    "approvals_hookidentity",
    "approvals_subscription",
}
KEPT = (
    "gp_thread",
    "gp_checkpoint",
    "gp_content",
    "gp_event",
    "gp_activity",
    "gp_artifact",
    "gp_agent_version",
    "gp_worker",
    "gp_workspace_event",
    "gp_approval",
    "gp_decision",
    "gp_policy",
    "gp_policy_version",
    "gp_carried_out",
    "gp_hook_delivery",
    "gp_keyframe",
)
HIDDEN = "pay\u202e100\u200b<b>x</b>"


@dataclass
class Place:
    """The cast, and one thread of each workspace with everything that can belong to one."""

    cast: Cast
    thread: UUID
    foreign: UUID

    def client(self, name: str) -> Client:
        return self.cast.client(name)  # type: ignore[no-any-return]


def fill(workspace: UUID, agent: UUID, by: str) -> UUID:
    """A thread with checkpoints, an effect, an approval, a decision and a file."""
    work = scene.lease(scene.start(workspace, agent, by=by, goal=HIDDEN))
    scene.step(work, report=HIDDEN)
    scene.step(work, report=f"{HIDDEN} {workspace} " + "long " * 5_000)
    scene.effect(work, key="publish:1", result={"path": HIDDEN})
    row = scene.gate(work, title=f"Publish {HIDDEN}?", args={"report": HIDDEN})
    gates.decide(
        row.id,
        workspace=workspace,
        reviewer=Reviewer(by, "somebody"),
        verdict="approve",
        proposal_hash=row.proposal_hash,
        comment=HIDDEN,
    )
    policies.make(workspace, Draft("Look", "tool == 'x'", note=HIDDEN), actor=by)
    wanted = Wanted(name=f"<b>x</b> {workspace}", target="https://agent.example/in")
    made, _ = endpoints.make(workspace, "webhook", wanted, actor=by)
    endpoints.try_out(made, workspace=workspace, actor=by)
    store.put_artifact(workspace, name=HIDDEN, media_type="text/csv", chunks=[b"a,b"])
    carried(workspace, by, row.id)
    informed(workspace, by)
    ruled(workspace, by, work.thread)
    return work.thread


def informed(workspace: UUID, by: str) -> None:
    """An incident, and somebody who hears of such, but not at night."""
    failed = scene.lease(scene.start(workspace, scene.make_agent(), by=by))
    store.leave(failed, EventKind.THREAD_FAILED, reason=HIDDEN)
    sweep_incidents()
    people, _ = endpoints.make(workspace, "email", Wanted(name="people"), actor=by)
    subscriptions.make(workspace, Choice(endpoint=people), actor=by, person=by)
    changes.save(workspace, by, changes.Choice(HIDDEN, shared=True), actor=by)
    quiet_hours.set_quiet_hours(workspace, by, time(22), time(7), "UTC", actor=by)


def ruled(workspace: UUID, by: str, thread: UUID) -> None:
    """A retention rule, a legal hold and a budget."""
    rule = {"days": 30, "archive": True, "active": False}
    store.set_retention_rule(workspace, agent="<b>x</b>", actor=by, **rule)
    store.set_hold(thread, workspace=workspace, reason=HIDDEN, actor=by)
    store.set_budget(workspace, scope="team", name="<b>x</b>", max_cost="250", actor=by)


def carried(workspace: UUID, by: str, approval: UUID) -> None:
    """A hook of the workspace with one word for a person and one delivery."""
    hook, _ = hooks.create(workspace, "slack", actor=by)
    hooks.map_identity(hook.id, "<b>x</b>", int(by[5:]), workspace=workspace, actor=by)
    known = deliveries.presented(hook.id)
    assert known is not None
    body = {"body_hash": b"h" * 32, "status": 200, "answer": HIDDEN, "actor": by}
    deliveries.keep(known, "msg_1", approval=approval, **body)


@pytest.fixture
def place(cast: Cast) -> Place:
    agent = scene.make_agent()
    scene.alive(agent)
    here = fill(cast.workspace, agent, f"user:{cast.users['operator'].pk}")
    for who in ("operator", "stranger"):
        tokens.make(cast.users[who], made_by="user:1", name="<b>x</b>")
    there = fill(cast.elsewhere, agent, f"user:{cast.users['stranger'].pk}")
    return Place(cast, here, there)


@pytest.fixture
def root(place: Place) -> Client:
    """A superuser without any role."""
    user = get_user_model().objects.create_superuser("root", password="root")
    client = Client()
    client.force_login(user, "dashboard.identity.backends.Passwords")
    return client


def lists() -> list[str]:
    admin.autodiscover()  # as the addresses do, for which no request has asked here
    return [f"{m._meta.app_label}_{m._meta.model_name}" for m in admin.site._registry]


def records(name: str) -> Any:
    """What lists the rows of a model."""
    admin.autodiscover()
    return admin.site._registry[apps.get_model(*name.split("_"))]


def details(name: str) -> list[str]:
    """Addresses of the pages of all rows."""
    known = records(name)
    return [
        known.url_of(row)
        if hasattr(known, "url_of")
        else reverse(f"admin:{name}_change", args=[row.pk])
        for row in known.model._default_manager.all()
    ]


def fingerprint() -> dict[str, str]:
    """What is kept, as one hash per table."""
    results = {}
    with connection.cursor() as cursor:
        for table in KEPT:
            cursor.execute(f"SELECT md5(string_agg(x::text, ',' ORDER BY x::text)) FROM {table} x")
            results[table] = cursor.fetchone()[0]
    return results


def test_everything_that_is_kept_has_a_list(place: Place) -> None:
    assert set(lists()) == READ_ONLY | EDITED


@pytest.mark.nightly
@pytest.mark.parametrize("who", ["auditor", "admin", "root"])
def test_lists_and_pages_open(place: Place, root: Client, who: str) -> None:
    client = root if who == "root" else place.client(who)
    assert b"Audit records" in client.get("/admin/").content
    opened = 0
    for name in sorted(READ_ONLY | EDITED):
        answer = client.get(reverse(f"admin:{name}_changelist"))
        if (who, name) == ("auditor", "auth_user"):
            assert answer.status_code == 403
            continue
        assert answer.status_code == 200, name
        page = answer.content.decode()
        assert "\u202e" not in page
        assert "<b>x</b>" not in page
        for address in details(name):
            response = client.get(address)
            assert response.status_code in (200, 404), address
            if response.status_code == 200:
                opened += 1
                assert "\u202e" not in response.content.decode(), address
                assert "<b>x</b>" not in response.content.decode(), address
            else:
                assert who != "root", address
    assert opened > 20


SEVEN = {
    "checkpoints_thread": "research",
    "checkpoints_checkpoint": "",
    "checkpoints_event": "approval.decided",
    "checkpoints_activity": "publish",
    "checkpoints_agentversion": "research",
    "approvals_approval": "",
    "approvals_decision": "somebody",
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", SEVEN)
def test_each_list_can_be_narrowed_and_searched(place: Place, name: str) -> None:
    """Every filter that a list offers is followed; a search finds what is there, nothing else."""
    client, address = place.client("auditor"), reverse(f"admin:{name}_changelist")

    def rows(query: str = "") -> int:
        answer = client.get(f"{address}?{query}")
        assert answer.status_code == 200, (name, query)
        return int(answer.content.decode().count('<tr role="row">'))

    page = client.get(address).content.decode()
    offered = set(re.findall(r'<a href="\?([^"]+)"', page.partition('id="changelist-filter"')[2]))
    assert len(offered) >= 4, (name, offered)
    assert all(rows(html.unescape(query)) <= rows() for query in offered)
    assert 'name="q"' in page
    assert rows(urlencode({"q": "no-such-word-anywhere"})) < rows()
    assert rows(urlencode({"q": SEVEN[name] or str(place.thread)})) >= 2, name


@pytest.mark.nightly
@pytest.mark.parametrize("who", ["auditor", "admin"])
def test_rows_of_another_workspace_are_not_there(place: Place, root: Client, who: str) -> None:
    client = place.client(who)
    foreign = get_user_model().objects.get(username="stranger")
    for name in sorted((READ_ONLY | EDITED) - {"checkpoints_agentversion", "checkpoints_worker"}):
        if (who, name) == ("auditor", "auth_user"):
            continue
        mine = {a for a in details(name) if client.get(a).status_code == 200}
        other = set(details(name)) - mine
        assert other, name
        assert mine, name
        assert all(client.get(a).status_code == 404 for a in other), name
        listed = client.get(reverse(f"admin:{name}_changelist")).content.decode()
        assert not [a for a in other if f'"{a}"' in listed], name
        everywhere = root.get(reverse(f"admin:{name}_changelist")).content.decode()
        assert all(f'"{a}"' in everywhere for a in details(name)), name
    assert (
        client.get(f"/admin/checkpoints/event/?workspace_id={place.cast.elsewhere}").status_code
        == 404
    )
    assert (
        str(foreign.username) not in client.get("/admin/checkpoints/membership/").content.decode()
    )


@pytest.mark.parametrize("who", ["viewer", "operator", "manager"])
def test_others_are_told_why_not(place: Place, who: str) -> None:
    for path in ("/admin/", "/admin/checkpoints/event/", "/admin/auth/user/add/"):
        answer = place.client(who).get(path)
        assert answer.status_code == 403
        assert b"The records are for auditors and admins" in answer.content
    assert place.client(who).post("/admin/checkpoints/membership/add/").status_code == 403
    page = place.client(who).get("/").content.decode()
    assert "/admin/" not in page


def test_strangers_come_to_the_door(place: Place) -> None:
    answer = Client().get("/admin/checkpoints/event/?since=day")
    assert answer.status_code == 302
    while answer.status_code == 302 and not answer["Location"].startswith("/login/"):
        answer = Client().get(answer["Location"])
    assert "checkpoints/event" in answer["Location"]
    assert place.client("auditor").get("/").content.decode().count('href="/admin/"') == 1


def addresses() -> Iterator[tuple[str, str]]:
    """(name, address) of every page of the site that stands under a model."""
    for name in lists():
        rows = details(name)
        row = rows[0] if rows else f"/admin/{name.replace('_', '/', 1)}/1/change/"
        stem = row.removesuffix("change/")
        base = reverse(f"admin:{name}_changelist")
        for path in (base, f"{base}add/", row, stem, f"{stem}delete/", f"{stem}history/"):
            yield name, path
        if name == "auth_user":
            yield name, f"{stem}password/"


WRITES: dict[str, Any] = {
    "action": "delete_selected",
    "_selected_action": "1",
    "index": "0",
    "post": "yes",
    "_save": "Save",
    "title": "forged",
    "status": "succeeded",
    "actor": "user:1",
    "kind": "thread.started",
    "seq": "1",
    "data": "{}",
    "form-TOTAL_FORMS": "1",
    "form-INITIAL_FORMS": "0",
}


@pytest.mark.nightly
@pytest.mark.parametrize("who", ["auditor", "admin", "root"])
def test_no_address_writes_a_row_that_is_kept(place: Place, root: Client, who: str) -> None:
    client = root if who == "root" else place.client(who)
    before = fingerprint()
    seen = 0
    for name, path in addresses():
        for method in ("post", "put", "patch", "delete"):
            answer = getattr(client, method)(path, WRITES)
            seen += 1
            if name in READ_ONLY and not path.endswith(("/1/", "add/")):
                assert answer.status_code in (403, 302, 405), (method, path, answer.status_code)
            assert answer.status_code < 500, (method, path)
    assert seen > 250
    after = fingerprint()
    # Forms of people may have written what they are for, and that is in the log.
    del before["gp_workspace_event"], after["gp_workspace_event"]
    assert after == before


@pytest.mark.slow
def test_a_refusal_names_the_place_where_things_are_done(place: Place) -> None:
    client = place.client("admin")
    for name in sorted(READ_ONLY):
        base = reverse(f"admin:{name}_changelist")
        row = next(a for a in details(name) if client.get(a).status_code == 200)
        stem = row.removesuffix("change/")
        for method, path in (
            ("get", f"{base}add/"),
            ("post", f"{base}add/"),
            ("post", base),
            ("post", row),
            ("get", f"{stem}delete/"),
            ("post", f"{stem}delete/"),
            ("get", f"{stem}history/"),
        ):
            answer = getattr(client, method)(path)
            assert answer.status_code == 403, (method, path)
            assert escape(records(name).refusal) in answer.content.decode()
        page = client.get(base).content.decode()
        for word in ("addlink", "deletelink", 'name="action"', "action-select", "_save"):
            assert word not in page


@pytest.mark.slow
def test_a_page_shows_every_column_and_where_to_go(place: Place) -> None:
    client = place.client("auditor")
    for name in sorted(READ_ONLY):
        address = next(a for a in details(name) if client.get(a).status_code == 200)
        page = client.get(address).content.decode()
        for field in records(name).model._meta.concrete_fields:
            if field.attname in records(name).never_shown:
                continue
            label = field.attname.removesuffix("_id").replace("_", " ")
            assert f"<dt>{label}</dt>" in page, (name, label)
    page = client.get(reverse("admin:checkpoints_thread_change", args=[place.thread])).content
    assert f'href="/threads/{place.thread}/"'.encode() in page
    for model in ("checkpoint", "content", "event", "activity"):
        assert f"/admin/checkpoints/{model}/?thread_id={place.thread}".encode() in page
    assert f"/admin/approvals/approval/?thread_id={place.thread}".encode() in page


def test_a_large_value_is_found_by_its_thread_and_by_its_hash(place: Place) -> None:
    client, path = place.client("auditor"), reverse("admin:checkpoints_content_changelist")
    [[sha256, size]] = rows(
        "SELECT sha256, octet_length(body) FROM gp_content WHERE thread_id = %s", (place.thread,)
    )
    assert size > 25_000
    for query in ({"q": sha256}, {"q": str(place.thread)}, {"thread_id": str(place.thread)}):
        with CaptureQueriesContext(connection) as queries:
            page = client.get(f"{path}?{urlencode(query)}").content.decode()
        assert page.count('<tr role="row">') == 2, query
        assert f"{size:,}" in page
        assert "long long" not in page
        # A list of values of megabytes reads none of them.
        named = [q["sql"] for q in queries.captured_queries if '"body"' in q["sql"]]
        assert named
        assert all(re.fullmatch(r".*octet_length\(\S*\"body\"\).*", sql, re.S) for sql in named)
        assert all(sql.count('"body"') == 1 for sql in named)
    none = client.get(f"{path}?{urlencode({'q': 'f' * 64})}").content.decode()
    assert sha256 not in none
    page = client.get(f"{path}{place.thread}.{sha256}/change/").content.decode()
    assert "long long" in page
    assert f'href="/threads/{place.thread}/"' in page
    assert client.post(f"{path}{place.thread}.{sha256}/change/").status_code == 403


def test_people_are_named_and_hidden_characters_too(place: Place) -> None:
    client = place.client("auditor")
    page = client.get("/admin/approvals/decision/").content.decode()
    assert "operator" in page
    assert "U+202E" in page
    assert "&lt;b&gt;" in page
    [(kind, seq)] = [
        (e.kind, e.seq)
        for e in queries.events_after(place.thread, 0)
        if e.kind == "approval.decided"
    ]
    page = client.get(f"/admin/checkpoints/event/{place.thread}.{seq}/change/").content.decode()
    assert kind in page
    assert "operator <code>user:" in page
    assert " UTC</time>" in page
    event = queries.events_after(place.thread, seq - 1)[0]
    assert event.hash in page
    assert event.prev_hash in page


def test_the_page_of_a_thread_says_what_verifying_it_found(place: Place) -> None:
    auditor = place.client("auditor")
    address = reverse("admin:checkpoints_thread_change", args=[place.thread])
    assert "Record: not verified yet" in auditor.get(address).content.decode()
    last = queries.thread(place.thread, workspace=place.cast.workspace).last_seq
    auditor.post(reverse("thread_verify", args=[place.thread]))
    assert (
        f"Record: intact, events 1 to {last}, checked 20" in auditor.get(address).content.decode()
    )
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        cursor.execute("UPDATE gp_event SET actor = 'user:99' WHERE seq = 2")
        cursor.execute("SET session_replication_role = DEFAULT")
    auditor.post(reverse("thread_verify", args=[place.thread]))
    assert "Record: damaged at event 2" in auditor.get(address).content.decode()


def test_a_refusal_is_one_line_of_the_log_without_a_traceback(cast: Cast) -> None:
    """A filter of the settings does it, so the settings' own handler is asked."""
    log = logging.getLogger("django.request")
    lines: list[logging.LogRecord] = []

    class Keeper(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record)

    keeper = Keeper()
    log.addHandler(keeper)
    try:
        answer = cast.client("auditor").get("/admin/auth/user/add/")
    finally:
        log.removeHandler(keeper)
    assert answer.status_code == 403
    assert [(vars(line)["status_code"], line.exc_info) for line in lines] == [(403, None)]
