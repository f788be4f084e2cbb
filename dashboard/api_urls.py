"""Addresses of the API, its schema and its pages of documentation."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.urls import URLPattern, URLResolver, include, path, re_path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from dashboard.administration import (
    budgets,
    caps,
    deputies,
    devices,
    endpoints,
    hooks,
    mcp_servers,
    policy_calls,
    quiet_hours,
    retention,
    subscriptions,
)
from dashboard.approvals.approval_detail import OneApproval
from dashboard.approvals.approvals import Approvals
from dashboard.approvals.decide import DECIDE
from dashboard.approvals.decide_by_hook import DecideHook
from dashboard.approvals.decide_many import DecideApprovals
from dashboard.approvals.hand_over import HAND_OVER
from dashboard.approvals.report_shape import ReportOnApproval
from dashboard.approvals.take_back import TAKE_BACK
from dashboard.board.breaker_actions import RELEASE, TRIP
from dashboard.board.breakers import Breakers, OneBreaker
from dashboard.board.incidents.close import CLOSE
from dashboard.board.incidents.incidents import Incidents, OneIncident
from dashboard.board.incidents.snooze import SNOOZE, WAKE
from dashboard.board.incidents.take import GIVE_BACK, TAKE
from dashboard.board.overview.calls import OverviewFigures
from dashboard.board.saved_views import view_actions
from dashboard.board.stuck_calls import StuckThreads
from dashboard.external.lease_calls import NextOfThread, ReleaseThread, RenewThread, TakeThread
from dashboard.external.otlp import TakeSpans
from dashboard.external.record_call import RecordOfThread
from dashboard.external.report_calls import (
    AskForAnswers,
    BeginCall,
    CheckCall,
    Checkpoints,
    Events,
    RecordCalls,
    SettleCall,
    UndoCall,
)
from dashboard.external.saved_state_calls import SavedStates
from dashboard.kit.api.base import Nowhere
from dashboard.kit.call import call
from dashboard.memories import actions as memory_actions
from dashboard.memories.reads import Memories, OneMemory
from dashboard.people import access_decisions, required_factor
from dashboard.people.rename_workspace import RENAME_WORKSPACE
from dashboard.people.second_factor_calls import (
    ConfirmByCode,
    OwnSecondFactor,
    Passkeys,
    ProposeSecondFactor,
    RemoveOnePasskey,
    RemoveOwnSecondFactor,
    RemoveSecondFactorOfUser,
)
from dashboard.people.sign_in_calls import (
    ConfirmSignIn,
    EndOneSignIn,
    EndOtherSignIns,
    OwnPassword,
    SignIns,
    SignOutUser,
)
from dashboard.people.user_calls import LinkedUser, OneUser, UnlinkedUser, Users
from dashboard.people.workspace_calls import OwnWorkspace, PasswordOfUser, RevokeOneToken, Tokens
from dashboard.questions.ask import ASK_RECORD
from dashboard.records.erase import DECIDE_ERASURE, ERASE
from dashboard.records.erasures import ERASURES, ONE_ERASURE
from dashboard.records.export import ExportRecords
from dashboard.records.legal_holds import HOLD, HOLDS, LIFT_HOLD
from dashboard.records.search import Records
from dashboard.threads.actions import ON_THREAD
from dashboard.threads.agent_calls import Agents, OneAgent
from dashboard.threads.artifact_calls import Artifacts
from dashboard.threads.code_call import CodeThread, CodeThreads
from dashboard.threads.files import ADD_FILE, OneFile, ThreadFiles
from dashboard.threads.input import INPUT
from dashboard.threads.many_calls import ManyThreads
from dashboard.threads.move_up import MOVE_UP
from dashboard.threads.one_thread import OneThread
from dashboard.threads.past import (
    RevealThread,
    ThreadActivities,
    ThreadAnatomy,
    ThreadCapsule,
    ThreadDiff,
    ThreadState,
)
from dashboard.threads.settle import SETTLE
from dashboard.threads.signal import SIGNAL, SignalByName
from dashboard.threads.thread_list import (
    CancelThread,
    EditThread,
    ForkThread,
    RollBackThread,
    ThreadCounts,
    Threads,
    VerifyThread,
)

app_name = "api"

_thread: list[URLPattern] = [
    path("", OneThread.as_view(), name="thread"),
    path("state/", ThreadState.as_view(), name="state"),
    path("reveal/", RevealThread.as_view(), name="reveal"),
    path("anatomy/", ThreadAnatomy.as_view(), name="anatomy"),
    path("checkpoints/", Checkpoints.as_view(), name="checkpoints"),
    path("events/", Events.as_view(), name="events"),
    path("activities/", ThreadActivities.as_view(), name="activities"),
    path("files/", call(ADD_FILE, ThreadFiles), name="files"),
    path("files/<str:sha256>/", OneFile.as_view(), name="file"),
    path("diff/", ThreadDiff.as_view(), name="diff"),
    path("capsule/", ThreadCapsule.as_view(), name="capsule"),
    *(path(f"{one.verb}/", call(one), name=one.verb) for one in ON_THREAD),
    path("move_up/", call(MOVE_UP), name="move_up"),
    path("settle/", call(SETTLE), name="settle"),
    path("code/", CodeThread.as_view(), name="code"),
    path("cancel/", CancelThread.as_view(), name="cancel"),
    path("erasure/", call(ERASE), name="thread_erasure"),
    path("hold/", call(HOLD), name="thread_hold"),
    path("lift_hold/", call(LIFT_HOLD), name="thread_lift_hold"),
    path("input/", call(INPUT), name="input"),
    path("signals/", call(SIGNAL), name="signals"),
    path("edit/", EditThread.as_view(), name="edit"),
    path("fork/", ForkThread.as_view(), name="fork"),
    path("rollback/", RollBackThread.as_view(), name="rollback"),
    path("verify/", VerifyThread.as_view(), name="verify"),
    path("lease/", TakeThread.as_view(), name="lease"),
    path("lease/renew/", RenewThread.as_view(), name="lease_renew"),
    path("lease/release/", ReleaseThread.as_view(), name="lease_release"),
    path("record/", RecordOfThread.as_view(), name="past_record"),
    path("next/", NextOfThread.as_view(), name="next"),
    path("approvals/", AskForAnswers.as_view(), name="ask"),
    path("activities/begin/", BeginCall.as_view(), name="begin"),
    path("activities/check/", CheckCall.as_view(), name="check_call"),
    path("activities/settle/", SettleCall.as_view(), name="settle_call"),
    path("activities/record/", RecordCalls.as_view(), name="record"),
    path("activities/<uuid:activity_id>/undo/", UndoCall.as_view(), name="undo"),
]

_endpoint: list[URLPattern] = [
    path("", endpoints.ONE.as_view(), name="endpoint"),
    path("change/", call(endpoints.CHANGE), name="endpoint_change"),
    path("rotate/", call(endpoints.ROTATE), name="endpoint_rotate"),
    path("switch/", call(endpoints.SWITCH), name="endpoint_switch"),
    path("test/", call(endpoints.TEST), name="endpoint_test"),
]

_hook: list[URLPattern] = [
    path("", hooks.ONE.as_view(), name="one_hook"),
    path("rotate/", call(hooks.ROTATE), name="hook_rotate"),
    path("switch/", call(hooks.SWITCH), name="hook_switch"),
    path("identities/", call(hooks.MAP), name="hook_map"),
    path("identities/remove/", call(hooks.UNMAP), name="hook_unmap"),
]

_mcp_server: list[URLPattern] = [
    path("", mcp_servers.ONE.as_view(), name="mcp_server"),
    path("change/", call(mcp_servers.CHANGE), name="mcp_server_change"),
    path("remove/", call(mcp_servers.REMOVE), name="mcp_server_remove"),
    path("tools/", call(mcp_servers.TOOLS), name="mcp_server_tools"),
    path("accept/", call(mcp_servers.ACCEPT), name="mcp_server_accept"),
    path("mode/", call(mcp_servers.MODE), name="mcp_server_mode"),
]

_incident: list[URLPattern] = [
    path("", OneIncident.as_view(), name="incident"),
    path("take/", call(TAKE), name="incident_take"),
    path("give-back/", call(GIVE_BACK), name="incident_give_back"),
    path("snooze/", call(SNOOZE), name="incident_snooze"),
    path("wake/", call(WAKE), name="incident_wake"),
    path("close/", call(CLOSE), name="incident_close"),
]

_subscription: list[URLPattern] = [
    path("", subscriptions.ONE.as_view(), name="subscription"),
    path("change/", call(subscriptions.CHANGE), name="subscription_change"),
    path("remove/", call(subscriptions.REMOVE), name="subscription_remove"),
]

_view: list[URLPattern] = [
    path("", view_actions.ONE.as_view(), name="view"),
    path("change/", call(view_actions.CHANGE), name="view_change"),
    path("remove/", call(view_actions.REMOVE), name="view_remove"),
]

_v1: list[URLPattern | URLResolver] = [
    path("threads/<uuid:thread_id>/", include(_thread)),
    path("agents/", Agents.as_view(), name="agents"),
    path("agents/<str:name>/", OneAgent.as_view(), name="agent"),
    path("threads/", Threads.as_view(), name="threads"),
    path("threads/many/", ManyThreads.as_view(), name="many"),
    path("threads/code/", CodeThreads.as_view(), name="code_many"),
    path("threads/stuck/", StuckThreads.as_view(), name="stuck"),
    path("signals/", SignalByName.as_view(), name="signal_by_name"),
    path("threads/counts/", ThreadCounts.as_view(), name="counts"),
    path("approvals/", Approvals.as_view(), name="approvals"),
    path("approvals/decide/", DecideApprovals.as_view(), name="decide_many"),
    path("approvals/<uuid:approval_id>/", OneApproval.as_view(), name="approval"),
    path("approvals/<uuid:approval_id>/decide/", call(DECIDE), name="decide"),
    path("approvals/<uuid:approval_id>/report/", ReportOnApproval.as_view(), name="report"),
    path("approvals/<uuid:approval_id>/hand-over/", call(HAND_OVER), name="hand_over"),
    path("deputies/", call(deputies.NAME, deputies.ALL), name="deputies"),
    path("deputies/<uuid:deputy_id>/remove/", call(deputies.REMOVE), name="deputy_remove"),
    path("devices/", devices.Devices.as_view(), name="devices"),
    path("devices/<uuid:device_id>/remove/", call(devices.REMOVE), name="device_remove"),
    path("states/", SavedStates.as_view(), name="states"),
    path("erasures/", ERASURES.as_view(), name="erasures"),
    path("erasures/<uuid:erasure_id>/", ONE_ERASURE.as_view(), name="erasure"),
    path("erasures/<uuid:erasure_id>/decide/", call(DECIDE_ERASURE), name="erasure_decide"),
    path("holds/", HOLDS.as_view(), name="holds"),
    path("retention/", call(retention.SET, retention.RULES), name="retention"),
    path("memories/", call(memory_actions.REMEMBER, Memories), name="memories"),
    path("memories/forget/", call(memory_actions.FORGET_AFTER), name="memories_forget_after"),
    path("memories/<uuid:memory_id>/", OneMemory.as_view(), name="memory"),
    path("memories/<uuid:memory_id>/correct/", call(memory_actions.CORRECT), name="memory_correct"),
    path("memories/<uuid:memory_id>/forget/", call(memory_actions.FORGET), name="memory_forget"),
    path("breakers/", call(TRIP, Breakers), name="breakers"),
    path("breakers/<uuid:breaker_id>/", OneBreaker.as_view(), name="breaker"),
    path("breakers/<uuid:breaker_id>/release/", call(RELEASE), name="breaker_release"),
    path("incidents/", Incidents.as_view(), name="incidents"),
    path("incidents/<uuid:incident_id>/", include(_incident)),
    path(
        "subscriptions/",
        call(subscriptions.MAKE, subscriptions.ALL),
        name="subscriptions",
    ),
    path("subscriptions/<uuid:subscription_id>/", include(_subscription)),
    path("quiet-hours/", call(quiet_hours.SET, quiet_hours.OWN), name="quiet_hours"),
    path("views/", call(view_actions.SAVE, view_actions.ALL), name="views"),
    path("views/<uuid:view_id>/", include(_view)),
    path("budgets/", call(budgets.SET, budgets.BUDGETS), name="budgets"),
    path("caps/", call(caps.SET, caps.CAPS), name="caps"),
    path("overview/", OverviewFigures.as_view(), name="overview"),
    path("policies/", call(policy_calls.MAKE, policy_calls.ALL), name="policies"),
    path("policies/try/", policy_calls.TryPolicies.as_view(), name="policies_try"),
    path(
        "policies/<uuid:policy_id>/",
        call(policy_calls.CHANGE, policy_calls.ONE),
        name="policy",
    ),
    path("records/", Records.as_view(), name="records"),
    path("records/questions/", call(ASK_RECORD), name="records_questions"),
    path("records/export/", ExportRecords.as_view(), name="records_export"),
    path("otlp/v1/traces", TakeSpans.as_view(), name="otlp_traces"),
    path("identities/", hooks.OWN.as_view(), name="identities"),
    path(
        "identities/<uuid:identity_id>/confirm/",
        call(hooks.CONFIRM),
        name="identity_confirm",
    ),
    path("hooks/", call(hooks.MAKE, hooks.ALL), name="hooks"),
    path("hooks/decide/", DecideHook.as_view(), name="hook"),
    path("hooks/<uuid:hook_id>/", include(_hook)),
    path("approvals/<uuid:approval_id>/take-back/", call(TAKE_BACK), name="take_back"),
    path("artifacts/", Artifacts.as_view(), name="artifacts"),
    path("access-changes/", access_decisions.ALL.as_view(), name="access_changes"),
    path(
        "access-changes/<uuid:change_id>/confirm/",
        call(access_decisions.CONFIRM),
        name="access_change_confirm",
    ),
    path(
        "access-changes/<uuid:change_id>/refuse/",
        call(access_decisions.REFUSE),
        name="access_change_refuse",
    ),
    path("users/", Users.as_view(), name="users"),
    path("users/<int:user_id>/", OneUser.as_view(), name="user"),
    path("users/<int:user_id>/sign-out/", SignOutUser.as_view(), name="user_sign_out"),
    path(
        "users/<int:user_id>/second-factor/remove/",
        RemoveSecondFactorOfUser.as_view(),
        name="user_second_factor_remove",
    ),
    path("users/<int:user_id>/link/", LinkedUser.as_view(), name="user_link"),
    path("users/<int:user_id>/unlink/", UnlinkedUser.as_view(), name="user_unlink"),
    path("users/<int:user_id>/password/", PasswordOfUser.as_view(), name="user_password"),
    path("workspace/", call(RENAME_WORKSPACE, OwnWorkspace), name="workspace"),
    path(
        "workspace/second-factor/",
        call(required_factor.REQUIRE, required_factor.REQUIRED),
        name="workspace_second_factor",
    ),
    path("tokens/", Tokens.as_view(), name="tokens"),
    path("tokens/<str:prefix>/revoke/", RevokeOneToken.as_view(), name="token_revoke"),
    path("sign-ins/", SignIns.as_view(), name="sign_ins"),
    path("sign-ins/confirm/", ConfirmSignIn.as_view(), name="sign_ins_confirm"),
    path("sign-ins/password/", OwnPassword.as_view(), name="own_password"),
    path("sign-ins/end-others/", EndOtherSignIns.as_view(), name="sign_ins_end_others"),
    path("sign-ins/<uuid:sign_in_id>/end/", EndOneSignIn.as_view(), name="sign_in_end"),
    path("second-factor/", OwnSecondFactor.as_view(), name="second_factor"),
    path("second-factor/propose/", ProposeSecondFactor.as_view(), name="second_factor_propose"),
    path("second-factor/remove/", RemoveOwnSecondFactor.as_view(), name="second_factor_remove"),
    path("second-factor/passkeys/", Passkeys.as_view(), name="passkeys"),
    path(
        "second-factor/passkeys/<uuid:passkey_id>/remove/",
        RemoveOnePasskey.as_view(),
        name="passkey_remove",
    ),
    path("second-factor/confirm/", ConfirmByCode.as_view(), name="second_factor_confirm"),
    path("endpoints/", call(endpoints.MAKE, endpoints.ALL), name="endpoints"),
    path("endpoints/<uuid:endpoint_id>/", include(_endpoint)),
    path("mcp-servers/", call(mcp_servers.ADD, mcp_servers.ALL), name="mcp_servers"),
    path("mcp-servers/<uuid:server_id>/", include(_mcp_server)),
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
