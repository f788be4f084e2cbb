"""Rows of every list of the records, in two workspaces."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import time
from typing import Any
from uuid import UUID

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse

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
from checkpoints import store
from checkpoints.states import EventKind
from checkpoints.store.overview.budgets import set_budget
from dashboard.administration.retention import SetRetention, set_retention
from dashboard.board.saved_views.view_actions import SaveView, save_view
from dashboard.identity import tokens
from dashboard.models import SavedView
from tests.support.cast import Cast, admin_of
from tests.unit.dashboard import scene

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
HIDDEN = "pay\u202e100\u200b<b>x</b>"


@dataclass
class Filled:
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
    save_view(admin_of(workspace, int(by[5:])), SaveView(name="mine", shared=True))
    # As one that was saved before there was a rule for names.
    SavedView.objects.filter(workspace_id=workspace, name="mine").update(name=HIDDEN)
    quiet_hours.set_quiet_hours(workspace, by, time(22), time(7), "UTC", actor=by)


def ruled(workspace: UUID, by: str, thread: UUID) -> None:
    """A retention rule, a legal hold and a budget."""
    rule = SetRetention(agent="<b>x</b>", days=30, archive=True, active=False)
    set_retention(admin_of(workspace, int(by[5:])), rule)
    store.set_hold(thread, workspace=workspace, reason=HIDDEN, actor=by)
    set_budget(workspace, scope="team", name="<b>x</b>", max_cost="250", actor=by)


def carried(workspace: UUID, by: str, approval: UUID) -> None:
    """A hook of the workspace with one word for a person and one delivery."""
    hook, _ = hooks.add(workspace, "slack", actor=by)
    hooks.map_identity(hook.id, "<b>x</b>", int(by[5:]), workspace=workspace, actor=by)
    known = deliveries.presented(hook.id)
    assert known is not None
    body = {"body_hash": b"h" * 32, "status": 200, "answer": HIDDEN, "actor": by}
    deliveries.keep(known, "msg_1", approval=approval, **body)


@pytest.fixture
def filled(cast: Cast) -> Filled:
    agent = scene.make_agent()
    scene.alive(agent)
    here = fill(cast.workspace, agent, f"user:{cast.users['operator'].pk}")
    for who in ("operator", "stranger"):
        tokens.make(cast.users[who], made_by="user:1", name="<b>x</b>")
    there = fill(cast.elsewhere, agent, f"user:{cast.users['stranger'].pk}")
    return Filled(cast, here, there)


@pytest.fixture
def root(filled: Filled) -> Client:
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
