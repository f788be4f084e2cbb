"""Addresses of the API, its schema and its pages of documentation."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.urls import URLPattern, URLResolver, include, path, re_path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from .agents import Agents, OneAgent
from .approvals import (
    Approvals,
    DecideApproval,
    DecideApprovals,
    OneApproval,
    TakeBackApproval,
)
from .artifacts import Artifacts
from .base import Nowhere
from .code import CodeThread
from .past import (
    ThreadActivities,
    ThreadCapsule,
    ThreadCheckpoints,
    ThreadDiff,
    ThreadEvents,
    ThreadState,
)
from .settling import SettleThread
from .threads import (
    CancelThread,
    EditThread,
    ForkThread,
    InputThread,
    OneThread,
    PauseThread,
    ResumeThread,
    RetryThread,
    RollBackThread,
    ThreadCounts,
    Threads,
    VerifyThread,
)

app_name = "api"

_thread: list[URLPattern] = [
    path("", OneThread.as_view(), name="thread"),
    path("state/", ThreadState.as_view(), name="state"),
    path("checkpoints/", ThreadCheckpoints.as_view(), name="checkpoints"),
    path("events/", ThreadEvents.as_view(), name="events"),
    path("activities/", ThreadActivities.as_view(), name="activities"),
    path("diff/", ThreadDiff.as_view(), name="diff"),
    path("capsule/", ThreadCapsule.as_view(), name="capsule"),
    path("pause/", PauseThread.as_view(), name="pause"),
    path("resume/", ResumeThread.as_view(), name="resume"),
    path("retry/", RetryThread.as_view(), name="retry"),
    path("settle/", SettleThread.as_view(), name="settle"),
    path("code/", CodeThread.as_view(), name="code"),
    path("cancel/", CancelThread.as_view(), name="cancel"),
    path("input/", InputThread.as_view(), name="input"),
    path("edit/", EditThread.as_view(), name="edit"),
    path("fork/", ForkThread.as_view(), name="fork"),
    path("rollback/", RollBackThread.as_view(), name="rollback"),
    path("verify/", VerifyThread.as_view(), name="verify"),
]

_v1: list[URLPattern | URLResolver] = [
    path("agents/", Agents.as_view(), name="agents"),
    path("agents/<str:name>/", OneAgent.as_view(), name="agent"),
    path("threads/", Threads.as_view(), name="threads"),
    path("threads/counts/", ThreadCounts.as_view(), name="counts"),
    path("threads/<uuid:thread_id>/", include(_thread)),
    path("approvals/", Approvals.as_view(), name="approvals"),
    path("approvals/decide/", DecideApprovals.as_view(), name="decide_many"),
    path("approvals/<uuid:approval_id>/", OneApproval.as_view(), name="approval"),
    path("approvals/<uuid:approval_id>/decide/", DecideApproval.as_view(), name="decide"),
    path("approvals/<uuid:approval_id>/take-back/", TakeBackApproval.as_view(), name="take_back"),
    path("artifacts/", Artifacts.as_view(), name="artifacts"),
]

urlpatterns: list[URLPattern | URLResolver] = [
    path("v1/", include(_v1)),
    path("schema/", SpectacularAPIView.as_view(), name="schema"),
    path(
        "docs/",
        # A page for browsers: strangers go to the login instead of reading a problem.
        login_required(SpectacularSwaggerSplitView.as_view(url_name="api:schema")),
        name="docs",
    ),
    re_path(r"^", Nowhere.as_view()),  # whatever follows, also a line break
]
