"""Who enters the records, whose rows they see, and that nothing there changes what is saved."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from tests.support.cast import Cast

from .admin_rows import EDITED, READ_ONLY, Filled, details, lists, records
from .admin_rows import filled as filled
from .admin_rows import root as root

pytestmark = pytest.mark.django_db

SAVED_TABLES = (
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


def fingerprint() -> dict[str, str]:
    """What is kept, as one hash per table."""
    results = {}
    with connection.cursor() as cursor:
        for table in SAVED_TABLES:
            cursor.execute(f"SELECT md5(string_agg(x::text, ',' ORDER BY x::text)) FROM {table} x")
            results[table] = cursor.fetchone()[0]
    return results


def test_everything_that_is_kept_has_a_list(filled: Filled) -> None:
    assert set(lists()) == READ_ONLY | EDITED


@pytest.mark.nightly
@pytest.mark.parametrize("who", ["auditor", "admin"])
def test_rows_of_another_workspace_are_not_there(filled: Filled, root: Client, who: str) -> None:
    client = filled.client(who)
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
        client.get(f"/admin/checkpoints/event/?workspace_id={filled.cast.elsewhere}").status_code
        == 404
    )
    assert (
        str(foreign.username) not in client.get("/admin/checkpoints/membership/").content.decode()
    )


@pytest.mark.slow
@pytest.mark.parametrize("who", ["viewer", "operator", "manager"])
def test_others_are_told_why_not(filled: Filled, who: str) -> None:
    for path in ("/admin/", "/admin/checkpoints/event/", "/admin/auth/user/add/"):
        answer = filled.client(who).get(path)
        assert answer.status_code == 403
        assert b"The records are for auditors and admins" in answer.content
    assert filled.client(who).post("/admin/checkpoints/membership/add/").status_code == 403
    page = filled.client(who).get("/").content.decode()
    assert "/admin/" not in page


def test_strangers_are_sent_to_the_sign_in_page(filled: Filled) -> None:
    answer = Client().get("/admin/checkpoints/event/?since=day")
    assert answer.status_code == 302
    while answer.status_code == 302 and not answer["Location"].startswith("/login/"):
        answer = Client().get(answer["Location"])
    assert "checkpoints/event" in answer["Location"]
    assert filled.client("auditor").get("/").content.decode().count('href="/admin/"') == 1


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
def test_no_address_writes_a_row_that_is_kept(filled: Filled, root: Client, who: str) -> None:
    client = root if who == "root" else filled.client(who)
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
def test_a_refusal_names_the_place_where_things_are_done(filled: Filled) -> None:
    client = filled.client("admin")
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
