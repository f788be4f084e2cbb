"""The page of retention rules in the records: its numbers equal those by plain SQL."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from checkpoints import queries
from checkpoints.store.overview.budgets import set_budget
from dashboard.administration.retention import SET, SetRetention
from dashboard.records.legal_holds import HOLD, ChangeHold
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import one, rows
from tests.unit.dashboard import scene

from .test_retention import ended

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("D06")]
PAGE = "/admin/retention/"
DUE = """
SELECT count(*) FROM gp_thread WHERE workspace_id = %(workspace)s AND agent = 'research'
  AND status IN ('succeeded', 'failed', 'cancelled')
  AND status_since <= now() - make_interval(days => 30)
"""


def test_it_counts_before_it_sets(cast: Cast) -> None:
    for days in (29, 31, 40):
        ended(cast, days=days)
    ended(cast, days=31, agent="payments")
    admin, form = cast.client("admin"), {"agent": "research", "days": "30", "active": "1"}
    page = admin.post(PAGE, form)
    shown = re.search(r'id="due".*?<strong>([\d,]+) threads?</strong>', page.content.decode(), re.S)
    assert shown is not None, page.content.decode()
    assert int(shown[1]) == one(DUE, {"workspace": cast.workspace}) == 2
    assert rows("SELECT 1 FROM gp_retention_rule") == [], "it only counted"
    # Other days than those that were counted are counted first, too.
    counted = {"counted": re.findall(r'name="counted" value="([^"]+)"', page.content.decode())[0]}
    again = admin.post(PAGE, form | {"days": "1"} | counted)
    assert b'id="due"' in again.content
    assert rows("SELECT 1 FROM gp_retention_rule") == []
    answer = admin.post(PAGE, form | counted, follow=True)
    text = answer.content.decode()
    assert "Threads of research are erased 30 days after their end." in text
    assert rows("SELECT agent, days, archive, active FROM gp_retention_rule") == [
        ("research", 30, False, True)
    ]
    assert f"Set by {cast.users['admin'].username}" in text
    # The button of the row: off at once, since nothing is erased by that.
    off = {"off": "research"}
    assert "switched off" in admin.post(PAGE, off, follow=True).content.decode()
    assert rows("SELECT active FROM gp_retention_rule") == [(False,)]
    kinds = [event.kind for event in queries.workspace_events(cast.workspace).rows]
    assert kinds[:2] == ["retention.changed", "retention.changed"]


@pytest.mark.parametrize(
    ("days", "words"),
    [("", "is required"), ("x", "whole number"), ("-1", "at least 1"), ("9" * 30, "at most")],
)
def test_a_refused_form_keeps_what_was_typed(cast: Cast, days: str, words: str) -> None:
    form = {"agent": "re<b>search", "days": days, "archive": "true", "active": "false"}
    answer = cast.client("admin").post(PAGE, form)
    assert answer.status_code == 422
    text = answer.content.decode()
    assert words in text.partition('id="days-hint"')[2].partition("</p>")[0]
    assert 'value="re&lt;b&gt;search"' in text
    for name, value in (("archive", "true"), ("active", "false")):
        drawn = text.partition(f'<select id="{name}"')[2].partition("</select>")[0]
        assert f'<option value="{value}" selected>' in drawn
    long = cast.client("admin").post(PAGE, form | {"agent": "x" * 101, "days": "3"})
    assert (long.status_code, b"longer than 100" in long.content) == (422, True)


def test_auditors_read_it_and_others_do_not(cast: Cast) -> None:
    SET.run(cast.actor("admin"), SetRetention(agent="payments", days=90, archive=True))
    SET.run(cast.actor("stranger"), SetRetention(agent="elsewhere-agent", days=90, archive=True))
    auditor = cast.client("auditor")
    with CaptureQueriesContext(connection) as few:
        text = auditor.get(PAGE).content.decode()
    assert "payments" in text
    assert "elsewhere-agent" not in text
    assert "Only admins set retention rules." in text
    assert auditor.post(PAGE, {"days": "30", "active": "1"}).status_code == 403
    for who in ("viewer", "operator", "manager"):
        assert cast.client(who).get(PAGE).status_code == 403
    for n in range(5):
        SET.run(cast.actor("admin"), SetRetention(agent=f"agent-{n}", days=90, archive=True))
    with CaptureQueriesContext(connection) as many:
        auditor.get(PAGE)
    # Login, roles, rules, who set them, names of agents.
    assert len(many) <= len(few) <= 6, [q["sql"] for q in many.captured_queries]


def test_rules_holds_and_budgets_are_records(cast: Cast) -> None:
    """Each list says what a row is, and leads to the page where it is changed."""
    admin, thread = cast.actor("admin"), scene.start(cast.workspace, scene.make_agent())
    SET.run(admin, SetRetention(days=90, archive=True))
    SET.run(admin, SetRetention(agent="payments", days=30, active=False))
    HOLD.run(admin, ChangeHold(reason="case 17"), thread)
    set_budget(cast.workspace, scope="team", name="growth", max_cost="250", actor=admin.id)
    auditor = cast.client("auditor")
    index = auditor.get("/admin/").content.decode()
    lists = {
        "retentionrule": (PAGE, "all other agents", "payments", "admin"),
        "hold": ("/erasures/", "case 17", "admin"),
        "budget": ("/overview/budgets/", "growth", "250.000000"),
    }
    for name, (address, *words) in lists.items():
        path = f"/admin/checkpoints/{name}/"
        assert f'href="{path}"' in index
        with CaptureQueriesContext(connection) as sent:
            text = auditor.get(path).content.decode()
        assert len(sent) <= 9, [q["sql"] for q in sent.captured_queries]
        assert f'href="{address}"' in text, name
        for word in words:
            assert word in text, (name, word)
        assert 'name="action"' not in text
        assert auditor.get(address).status_code == 200
        assert cast.client("stranger").get(path).content.decode().count('<tr role="row">') == 0
        [row, *_] = re.findall(rf'href="({path}[^"]+/change/)"', text)
        detail = auditor.get(row).content.decode()
        assert f'href="{address}"' in detail, name
        assert cast.client("stranger").get(row).status_code == 404
        assert auditor.post(row, {"days": "1"}).status_code == 403
    matched = auditor.get("/admin/checkpoints/hold/?q=case+17").content.decode()
    assert matched.count('<tr role="row">') == 2  # with the one of the headlines
    none = auditor.get("/admin/checkpoints/budget/?scope=agent").content.decode()
    assert none.count('<tr role="row">') == 0
