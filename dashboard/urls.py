"""Addresses of Gatepost."""

from django.conf import settings
from django.contrib import admin
from django.urls import include, path

from dashboard.administration import access_change_pages as access_changes
from dashboard.http import violations
from dashboard.kit.pages import keyboard
from dashboard.operate import metrics, probes
from dashboard.people import login_page as login
from dashboard.people import password_page as password
from dashboard.people import second_factor_pages as second_factor
from dashboard.people import sign_in_pages as sign_ins
from dashboard.people import workspace_page as workspaces
from dashboard.threads import artifact_pages as artifacts

from .administration import budgets, deputies, devices, hooks, subscriptions
from .approvals import decide_many_page, decide_page
from .approvals import edit as editing
from .approvals import inbox_page as inbox
from .approvals import report_page as reports
from .approvals import request_page as approvals
from .approvals.hand_over import hand_over_page
from .board import board_page, breaker_dialogs, many_page
from .board.incidents import buttons as incident_buttons
from .board.incidents import pages as incidents
from .board.overview import pages as overview
from .board.saved_views import pages as saved_views
from .memories import pages as memories
from .questions import pages as question_pages
from .records import erasure_pages
from .threads import (
    cancel_page,
    compare_page,
    edit_page,
    fork_page,
    input_page,
    move_up_dialog,
    roll_back_page,
    settle_page,
    signal_page,
    skip_dialog,
    start_page,
    thread_page,
    value_pages,
)
from .voice import pages as voice

# Here and not when Django starts: commands and workers have no use for the records.
admin.autodiscover()

THREAD = "threads/<uuid:thread_id>"
APPROVAL = "approvals/<uuid:approval_id>"
INCIDENT = "incidents/<uuid:incident_id>"
MEMORY = "memories/<uuid:memory_id>"
SUBSCRIPTION = "subscriptions/<uuid:subscription_id>"

urlpatterns = [
    # First: what is called most is compared with the fewest patterns.
    path("api/", include("dashboard.api_urls")),
    path("", board_page.board, name="board"),
    path("threads/new/", start_page.new, name="thread_new"),
    path("threads/many/", many_page.many, name="threads_many"),
    path("threads/compare/", compare_page.compare, name="compare"),
    path("threads/value/", value_pages.value, name="thread_value"),
    path(f"{THREAD}/", thread_page.page, name="thread"),
    path(f"{THREAD}/fork/", fork_page.fork, name="thread_fork"),
    path(f"{THREAD}/rollback/", roll_back_page.rollback, name="thread_rollback"),
    path(f"{THREAD}/edit/", edit_page.edit, name="thread_edit"),
    *(
        path(f"{THREAD}/{verb}/", view, name=f"thread_{verb}")
        for verb, view in thread_page.BUTTONS.items()
    ),
    path(f"{THREAD}/skip/", skip_dialog.skip, name="thread_skip"),
    path(f"{THREAD}/move_up/", move_up_dialog.move_up, name="thread_move_up"),
    path(f"{THREAD}/settle/", settle_page.settle, name="thread_settle"),
    path(f"{THREAD}/code/", thread_page.code, name="thread_code"),
    path(f"{THREAD}/cancel/", cancel_page.cancel, name="thread_cancel"),
    path(f"{THREAD}/capsule/", thread_page.capsule, name="thread_capsule"),
    path(f"{THREAD}/verify/", thread_page.verify, name="thread_verify"),
    path(f"{THREAD}/reveal/", value_pages.reveal, name="thread_reveal"),
    path(f"{THREAD}/input/", input_page.send_input, name="thread_input"),
    path(f"{THREAD}/signal/", signal_page.signal, name="thread_signal"),
    path(f"{THREAD}/published/<str:slug>/<str:name>", thread_page.published_file, name="published"),
    path(f"{THREAD}/erase/", erasure_pages.erase, name="thread_erase"),
    path("erasures/", erasure_pages.erasures, name="erasures"),
    path("erasures/<uuid:erasure_id>/", erasure_pages.erasure, name="erasure"),
    path("memories/", memories.index, name="memories"),
    path("memories/new/", memories.remember, name="memory_new"),
    path("memories/forget/", memories.forget_after, name="memories_forget_after"),
    path(f"{MEMORY}/", memories.detail, name="memory"),
    path(f"{MEMORY}/correct/", memories.correct, name="memory_correct"),
    path(f"{MEMORY}/forget/", memories.forget, name="memory_forget"),
    path("breakers/trip/", breaker_dialogs.trip, name="breaker_trip"),
    path("breakers/<uuid:breaker_id>/release/", breaker_dialogs.release, name="breaker_release"),
    path("voice/", voice.index, name="voice"),
    path("voice/<str:agent>/<path:name>/", voice.talk, name="voice_talk"),
    path("incidents/", incidents.index, name="incidents"),
    path(f"{INCIDENT}/", incidents.detail, name="incident"),
    path(f"{INCIDENT}/take/", incident_buttons.take, name="incident_take"),
    path(f"{INCIDENT}/give-back/", incident_buttons.give_back, name="incident_give_back"),
    path(f"{INCIDENT}/snooze/", incident_buttons.snooze, name="incident_snooze"),
    path(f"{INCIDENT}/wake/", incident_buttons.wake, name="incident_wake"),
    path(f"{INCIDENT}/close/", incident_buttons.close, name="incident_close"),
    path("subscriptions/", subscriptions.index, name="subscriptions"),
    path("subscriptions/new/", subscriptions.make, name="subscription_new"),
    path("subscriptions/quiet-hours/", subscriptions.quiet, name="quiet_hours"),
    path(f"{SUBSCRIPTION}/", subscriptions.change, name="subscription"),
    path(f"{SUBSCRIPTION}/remove/", subscriptions.remove, name="subscription_remove"),
    path("views/", saved_views.index, name="views"),
    path("views/new/", saved_views.save, name="view_new"),
    path("views/<uuid:view_id>/", saved_views.change, name="view"),
    path("views/<uuid:view_id>/remove/", saved_views.remove, name="view_remove"),
    path("subscriptions/devices/", devices.add, name="device_add"),
    path("subscriptions/devices/<uuid:device_id>/remove/", devices.drop, name="device_remove"),
    path("push-worker.js", devices.worker, name="push_worker"),
    path("questions/", question_pages.questions, name="questions"),
    path("questions/<uuid:question_id>/", question_pages.question, name="question"),
    path("overview/", overview.overview, name="overview"),
    path("overview/budgets/", budgets.page, name="budgets"),
    path("overview/<str:name>.csv", overview.table, name="overview_csv"),
    path("approvals/", inbox.inbox, name="approvals"),
    path("approvals/decide/", decide_many_page.together, name="approvals_decide"),
    path("approvals/ended/", inbox.ended, name="approvals_ended"),
    path("approvals/reviewers/", inbox.load, name="reviewers"),
    path(f"{APPROVAL}/", approvals.approval, name="approval"),
    path(f"{APPROVAL}/decide/", decide_page.decide, name="approval_decide"),
    path(f"{APPROVAL}/edit/", editing.edit, name="approval_edit"),
    path(f"{APPROVAL}/report/", reports.report, name="approval_report"),
    path(f"{APPROVAL}/take-back/", decide_page.take_back, name="approval_take_back"),
    path(f"{APPROVAL}/hand-over/", hand_over_page, name="approval_hand_over"),
    path("deputies/", deputies.index, name="deputies"),
    path("deputies/<uuid:deputy_id>/remove/", deputies.remove, name="deputy_remove"),
    path("artifacts/<str:sha256>/", artifacts.artifact, name="artifact"),
    path("artifacts/<str:sha256>/preview/", artifacts.preview, name="artifact_preview"),
    path("access/", access_changes.index, name="access_changes"),
    path("access/<uuid:change_id>/confirm/", access_changes.confirm, name="access_change_confirm"),
    path("access/identities/<uuid:identity_id>/confirm/", hooks.confirm, name="identity_confirm"),
    path("access/<uuid:change_id>/refuse/", access_changes.refuse, name="access_change_refuse"),
    path("account/password/", password.index, name="own_password"),
    path("account/sign-ins/", sign_ins.index, name="sign_ins"),
    path("account/sign-ins/end-others/", sign_ins.end_others, name="sign_ins_end_others"),
    path("account/sign-ins/<uuid:sign_in_id>/end/", sign_ins.end, name="sign_in_end"),
    path("account/second-factor/", second_factor.index, name="second_factor"),
    path("account/second-factor/add/", second_factor.add, name="second_factor_add"),
    path("account/second-factor/remove/", second_factor.remove, name="second_factor_remove"),
    path("account/second-factor/passkeys/add/", second_factor.add_passkey, name="passkey_add"),
    path(
        "account/second-factor/passkeys/remove/",
        second_factor.remove_passkey,
        name="passkey_remove",
    ),
    path("keyboard/", keyboard.keyboard, name="keyboard"),
    path("workspace/", workspaces.choose, name="workspace"),
    path("login/", login.SignIn.as_view(), name="login"),
    path("login/code/", login.code, name="login_code"),
    path("logout/", login.SignOut.as_view(), name="logout"),
    path("welcome/", login.welcome, name="welcome"),
    path("page-policy/violations/", violations.violations, name="violations"),
    path("favicon.ico", login.favicon, name="favicon"),
    path("healthz", probes.healthz, name="healthz"),
    path("readyz", probes.readyz, name="readyz"),
    path("metrics", metrics.metrics, name="metrics"),
    path("scim/v2/", include("dashboard.people.scim.urls")),
    path("admin/", admin.site.urls),
]

if settings.GATEPOST_OIDC:
    from dashboard.people.directory import single_sign_on  # of the extra `sso`

    urlpatterns += [
        path("sso/", single_sign_on.begin, name="sso"),
        path("sso/callback/", single_sign_on.callback, name="sso_callback"),
    ]

handler400 = "dashboard.kit.pages.failures.malformed"
handler500 = "dashboard.kit.pages.failures.failed"
