"""A workspace with every kind of setting, and what verifying says of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from uuid import UUID

import pytest
from django.contrib.auth.models import Group

from approvals.deputies import changes as deputies
from approvals.hooks import changes as hooks
from approvals.incidents import quiet_hours, subscriptions
from approvals.notify import devices, endpoints
from approvals.notify.channels import push
from approvals.policies import changes as policies
from approvals.policies.budgets import announce_budgets
from approvals.policies.drafts import Draft
from approvals.verification.proof import installation, left_behind
from checkpoints import store
from checkpoints.chain import verify_workspace
from checkpoints.memories import NewMemory
from checkpoints.store.overview.budgets import set_budget
from dashboard.administration import retention
from dashboard.board.saved_views import view_actions
from dashboard.board.saved_views.view_actions import ChangeView, SaveView
from dashboard.errors import NeedsSecondAdmin
from dashboard.gateway.registry import changes as mcp_servers
from dashboard.identity import tokens
from dashboard.identity.administrator import administrator_of
from dashboard.identity.permissions import Login
from dashboard.identity.second_factor import codes, records
from dashboard.kit.shapes.requests import Nothing
from dashboard.people.accounts import access_changes, administration
from dashboard.people.sso import identities
from tests.support.cast import Cast
from tests.unit.approvals.incidents.scenes import handled_incidents
from tests.unit.checkpoints.builders import make_thread, rows
from tests.unit.dashboard import scene
from tests.unit.dashboard.authenticator import Authenticator

ADMIN = "user:0"


@pytest.fixture
def settled(cast: Cast) -> Cast:
    """A workspace in which every kind of setting was made, and most were changed."""
    workspace = cast.workspace
    handled_incidents(cast)  # before anything else is in trouble that nobody did anything about
    first = policies.make(workspace, Draft("pay", "true", "ask"), actor=ADMIN)
    second = policies.make(workspace, Draft("look", "true", "allow"), actor=ADMIN)
    policies.change(
        first.policy, Draft("pays", "true", "ask"), workspace=workspace, seen=1, actor=ADMIN
    )
    policies.move(second.policy, 1, workspace=workspace, actor=ADMIN)
    policies.switch(second.policy, False, workspace=workspace, actor=ADMIN)
    for cost in ("25", "20"):
        policies.set_cap(workspace, scope="agent", per="day", max_cost=cost, agent="a", actor=ADMIN)
    for reason in ("prices", "rates"):
        breaker = store.trip_breaker(workspace, {"agent": "a"}, reason=reason, actor=ADMIN)
    texts = NewMemory("workspace", "", "fact", "A fact.", source="person", seconds=9e9)
    memory, gone_one = (store.remember(workspace, texts, actor=ADMIN).id for _ in range(2))
    on_record = {"workspace": workspace, "reason": "wrong", "actor": ADMIN}
    store.correct_memory(memory, text="Another fact.", **on_record)
    store.forget_memories([gone_one], **on_record)
    released = {"workspace": workspace, "reason": "right", "actor": ADMIN}
    store.release_breaker(breaker.id, **released)
    for n, agent in enumerate(("a", "b")):
        thread = make_thread(workspace=workspace)
        store.cancel(thread, actor=ADMIN)
        store.set_hold(thread, workspace=workspace, reason="case", actor=ADMIN)
        store.lift_hold(thread, workspace=workspace, reason="closed", actor=ADMIN)
        words = {"scope": "family", "reason": "consent", "actor": "user:99", "name": "nobody"}
        row = store.request_erasure(thread, workspace=workspace, **words)
        approved = {"approve": True, "actor": ADMIN, "name": "admin"}
        store.decide_erasure(row.id, workspace=workspace, **approved)
        store.carry_out_erasure(row.id, workspace=workspace)
        for days in (30, 60 + n):
            retention.set_retention(
                cast.actor("admin"), retention.SetRetention(agent=agent, days=days)
            )
    for limit in ({"max_tokens": 5}, {"max_cost": "9", "max_tokens": 7}):
        set_budget(workspace, scope="agent", name="a", actor=ADMIN, **limit)
    set_budget(workspace, scope="team", name="t", max_cost="0", at_full="stop", actor=ADMIN)
    assert announce_budgets(owner=ADMIN) == 1  # of nothing all is spent
    hook, _ = hooks.add(workspace, "bank", actor=ADMIN)
    hooks.rotate(hook.id, workspace=workspace, actor=ADMIN)
    for who in ("operator", "manager"):
        user = cast.users[who].pk
        hooks.map_identity(hook.id, "U1", user, workspace=workspace, actor=ADMIN)
    hooks.map_identity(hook.id, "U2", user, workspace=workspace, actor=ADMIN)
    hooks.unmap_identity(hook.id, "U2", workspace=workspace, actor=ADMIN)
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
    mail, _ = endpoints.make(workspace, "email", wanted, actor=ADMIN)
    endpoints.change(mail, endpoints.Wanted(digest=5), workspace=workspace, actor=ADMIN)
    endpoints.switch(mail, False, workspace=workspace, actor=ADMIN)
    people, _ = endpoints.make(workspace, "email", endpoints.Wanted(name="people"), actor=ADMIN)
    operator = f"user:{cast.users['operator'].pk}"
    choice = subscriptions.Choice(endpoint=people)
    subscribed = [
        subscriptions.make(workspace, choice, actor=ADMIN, person=operator) for _ in range(3)
    ]
    passed_on = subscriptions.Choice(escalate_to=subscribed[1], escalate_minutes=5)
    subscriptions.change(subscribed[0], passed_on, workspace=workspace, actor=ADMIN)
    subscriptions.remove(subscribed[2], workspace=workspace, actor=ADMIN)
    own = SaveView(name="Failed", address="status=failed", shared=True)
    view = view_actions.SAVE.run(cast.actor("operator"), own)
    view_actions.SAVE.run(cast.actor("operator"), SaveView(name="All", address="status=failed"))
    gone = view_actions.SAVE.run(cast.actor("admin"), own)
    view_actions.CHANGE.run(cast.actor("admin"), ChangeView(name="Failed ones"), view.id)
    view_actions.REMOVE.run(cast.actor("admin"), Nothing(), gone.id)
    for ends in (6, 7):
        quiet_hours.set_quiet_hours(workspace, operator, time(22), time(ends), "UTC", actor=ADMIN)
    manager, second = (f"user:{cast.users[name].pk}" for name in ("manager", "second_manager"))
    for days in (0, 10, 20):
        begins = datetime.now(UTC) + timedelta(days=days)
        period = deputies.Period(begins, begins + timedelta(days=5))
        named = deputies.name_deputy(workspace, manager, second, period, reason="out", actor=ADMIN)
    deputies.remove_deputy(named, workspace=workspace, actor=ADMIN)
    row = scene.waiting(workspace, scene.make_agent())
    for _ in range(2):
        deputies.hand_over(
            row.id,
            workspace=workspace,
            person=manager,
            actor=manager,
            to="second_manager",
            reason="",
        )
    for n, name in enumerate(("phone", "desk", "gone")):
        keys = push.public_key(), "BTBZMqHH6r4Tts7J_aSIgg"
        device = devices.Subscribed(f"https://push.example/{n}", *keys)
        added = devices.add(workspace, operator, name, device, actor=operator)
    assert devices.forget([added.id]) == 1
    upstream = mcp_servers.Wanted(url="https://a.example")
    server = mcp_servers.add(workspace, "notes", upstream, actor=ADMIN)
    mcp_servers.change(
        server.id,
        mcp_servers.Wanted(credential="GATEPOST_SECRET_A"),
        workspace=workspace,
        actor=ADMIN,
    )
    for text in ("Add.", "Add two."):
        tool = {"name": "add", "description": text, "inputSchema": {"type": "object"}}
        mcp_servers.note_listed(server, [tool], actor=ADMIN)
        mcp_servers.accept(server.id, None, workspace=workspace, actor=ADMIN)
    mcp_servers.set_mode(server.id, "add", "ask", workspace=workspace, actor=ADMIN)
    gone = mcp_servers.add(workspace, "gone", upstream, actor=ADMIN)
    mcp_servers.note_listed(gone, [tool], actor=ADMIN)
    mcp_servers.remove(gone.id, workspace=workspace, actor=ADMIN)
    row, _ = tokens.make(cast.users["operator"], made_by=ADMIN, name="a")
    tokens.revoke(row.prefix, by=ADMIN)
    tokens.make(cast.users["operator"], made_by=ADMIN, name="b")
    cast.users["manager"].groups.add(Group.objects.create(name="money"))
    who = administrator_of(cast.users["admin"])
    administration.change_user(who, cast.users["viewer"].pk, {"email": "v@example.org"})
    signed_in = replace(who, actor=replace(who.actor, login=Login("asks")))
    for role in ("reviewer", "admin"):
        with pytest.raises(NeedsSecondAdmin) as waits:
            administration.grant_role(signed_in, cast.users["viewer"].pk, role, workspace=None)
    access_changes.refuse_access_change(who.actor, UUID(waits.value.facts["change"]))
    cast.users["nobody"].delete()  # who has no right is in no log
    assert broken() == ""
    return cast


def broken() -> str:
    """What the whole of it shows, in words."""
    results = [verify_workspace(ident) for (ident,) in rows("SELECT id FROM gp_workspace")]
    messages = [report.what for report in results if not report.intact]
    return " ".join([*messages, *(r.what for _, r, *_ in (*installation(), *left_behind()))])
