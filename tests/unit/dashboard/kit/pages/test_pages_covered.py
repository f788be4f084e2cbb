"""Each page is covered by a test that computes its numbers a second way, or has none."""

from __future__ import annotations

import re
from pathlib import Path

from tests.unit.dashboard.kit.pages.test_addresses import patterns

TESTS = Path(__file__).parents[2]
# Page by name: the test that computes its numbers another way.
COMPUTED = {
    "board": "test_board_numbers",
    "thread": "test_thread_numbers",
    "thread_erase": "test_erasure_pages",
    "erasure": "test_erasure_pages",
    "erasures": "test_erasure_pages",
    "breaker_trip": "test_breaker_pages",
    "breaker_release": "test_breaker_pages",
    "threads_many": "test_many",
    "compare": "test_compare",
    "incidents": "test_incident_pages",
    "incident": "test_incident_pages",
    "thread_cancel": "test_numbers_previews",
    "thread_rollback": "test_numbers_previews",
    "thread_pause": "test_reach_forms",
    "thread_resume": "test_reach_forms",
    "approvals": "test_inbox_numbers",
    "approvals_decide": "test_inbox_numbers",
    "approval": "test_approval_numbers",
    "reviewers": "test_reviewer_numbers",
    "overview": "test_overview_numbers",
    "overview_csv": "test_overview_numbers",
    "budgets": "test_overview_numbers",
    "thread_fork": "test_expected_numbers",
    "thread_code": "test_code_numbers",
    "index": "test_integrity_numbers",
    "policies": "test_numbers_records",
    "policy_add": "test_numbers_records",
    "policy": "test_numbers_records",
    "retention": "test_retention_page",
    "mcp_servers": "test_mcp_numbers",
    "mcp_server": "test_mcp_numbers",
    "memories_forget_after": "test_memory_pages",
}
# The lists of records and the pages of their rows, whatever their name.
RECORDS = "test_numbers_records"
RECORDS_ENDINGS = ("_changelist", "_change")
NONE = {
    "thread_new": "a form",
    "voice": "a form",
    "voice_talk": "the conversation of the thread's page",
    "sign_ins": "words and a form",
    "keyboard": "words",
    "memories": "words; unit/memories/test_memory_pages.py reads which are listed",
    "memory": "words",
    "memory_new": "a form",
    "memory_correct": "a form",
    "memory_forget": "a form",
    "subscriptions": "words and a form",
    "subscription": "a form",
    "subscription_new": "a form",
    "subscription_remove": "posts only",
    "quiet_hours": "posts only",
    "sign_in_end": "posts only",
    "sign_ins_end_others": "posts only",
    "user_sign_out": "posts only",
    "second_factor": "a form; identity/test_second_factor.py reads the codes that are left",
    "own_password": "a form",
    "second_factor_add": "posts only",
    "second_factor_remove": "posts only",
    "passkey_add": "posts only",
    "passkey_remove": "posts only",
    "user_second_factor_remove": "posts only",
    "questions": "words and a form",
    "question": "words and addresses",
    "views": "words and addresses",
    "view": "a form",
    "view_new": "a form",
    "view_remove": "posts only",
    "device_add": "posts only",
    "device_remove": "posts only",
    "push_worker": "a script",
    "deputies": "words and a form",
    "access_changes": "words and a form",
    "access_change_confirm": "posts only",
    "identity_confirm": "posts only",
    "access_change_refuse": "posts only",
    "deputy_remove": "posts only",
    "approval_hand_over": "a form",
    "thread_edit": "a form",
    "thread_skip": "a form",
    "thread_move_up": "a form; checkpoints/queries/test_queue_positions.py counts what it passes",
    "record_export": "a file",
    "record_search": "rows of the log; approvals/records/test_questions.py computes them again",
    "approval_report": "one request as it is on record, without a sum",
    "thread_reveal": "one decrypted value; encrypted/test_reveal.py compares it with its input",
    "thread_value": "a part of a state; test_values.py compares all of them with the state",
    "thread_input": "a form",
    "thread_signal": "a form",
    "thread_settle": "a form about one effect",
    "approval_edit": "a form",
    "thread_verify": "posts only",
    "approval_decide": "posts only",
    "approval_take_back": "posts only",
    "policy_cap": "posts only",
    "policy_switch": "posts only",
    "policy_move": "posts only",
    "mcp_server_accept": "posts only",
    "mcp_server_mode": "posts only",
    "mcp_server_remove": "posts only",
    "mcp_server_tools": "posts only",
    "thread_capsule": "a file",
    "published": "a file",
    "artifact": "a file",
    "artifact_preview": "the beginning of a file",
    "favicon": "a file",
    "approvals_ended": "JSON of words",
    "workspace": "posts only",
    "login": "no data",
    "login_code": "no data",
    "logout": "no data",
    "welcome": "no data",
    "healthz": "no page",
    "readyz": "no page",
    "violations": "no page",
    "metrics": "no page; test_metrics.py compares it",
    "password_change": "no data",
    "password_change_done": "no data",
    "auth_user_password_change": "no data",
    "autocomplete": "JSON of Django",
    "jsi18n": "words of Django",
    "app_list": "leads to the records",
    "view_on_site": "leads elsewhere",
    "None": "leads from an old address of Django to the new one",
}
# Forms, refusals, links, and buttons of the records.
ENDINGS_WITHOUT = ("_add", "_delete", "_history", "_rotate", "_switch", "_test", "_revoke")


def test_every_page_has_its_numbers_computed_another_way_or_has_none() -> None:
    # The view of a button takes a POST and shows the page that it is on again.
    buttons = {str(p.name) for _, p in patterns() if "button.<locals>" in p.callback.__qualname__}
    assert {"thread_rename", "incident_take"} <= buttons
    names = {str(pattern.name) for _, pattern in patterns()} - buttons
    named = COMPUTED.keys() | NONE.keys()
    unknown = {
        name for name in names - named if not name.endswith((*RECORDS_ENDINGS, *ENDINGS_WITHOUT))
    }
    assert not unknown, f"compute their numbers a second way: {sorted(unknown)}"
    assert not COMPUTED.keys() & NONE.keys()
    for position in {*COMPUTED.values(), RECORDS}:
        [path] = TESTS.rglob(f"{position}.py")
        assert re.search(r"by (plain )?SQL|rows of the log", path.read_text()), position
