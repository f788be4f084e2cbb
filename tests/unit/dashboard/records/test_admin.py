"""The lists and pages of the records: each opens, can be narrowed, and shows every column."""

from __future__ import annotations

import html
import re
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from checkpoints import queries
from tests.unit.checkpoints.builders import rows

from .admin_rows import EDITED, READ_ONLY, Filled, details, records
from .admin_rows import filled as filled
from .admin_rows import root as root

pytestmark = pytest.mark.django_db


@pytest.mark.nightly
@pytest.mark.parametrize("who", ["auditor", "admin", "root"])
def test_lists_and_pages_open(filled: Filled, root: Client, who: str) -> None:
    client = root if who == "root" else filled.client(who)
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
def test_each_list_can_be_narrowed_and_searched(filled: Filled, name: str) -> None:
    """Every filter that a list offers is followed; a search finds what is there, nothing else."""
    client, address = filled.client("auditor"), reverse(f"admin:{name}_changelist")

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
    assert rows(urlencode({"q": SEVEN[name] or str(filled.thread)})) >= 2, name


@pytest.mark.slow
def test_a_page_shows_every_column_and_where_to_go(filled: Filled) -> None:
    client = filled.client("auditor")
    for name in sorted(READ_ONLY):
        address = next(a for a in details(name) if client.get(a).status_code == 200)
        page = client.get(address).content.decode()
        for field in records(name).model._meta.concrete_fields:
            if field.attname in records(name).never_shown:
                continue
            label = field.attname.removesuffix("_id").replace("_", " ")
            assert f"<dt>{label}</dt>" in page, (name, label)
    page = client.get(reverse("admin:checkpoints_thread_change", args=[filled.thread])).content
    assert f'href="/threads/{filled.thread}/"'.encode() in page
    for model in ("checkpoint", "content", "event", "activity"):
        assert f"/admin/checkpoints/{model}/?thread_id={filled.thread}".encode() in page
    assert f"/admin/approvals/approval/?thread_id={filled.thread}".encode() in page


def test_a_large_value_is_found_by_its_thread_and_by_its_hash(filled: Filled) -> None:
    client, path = filled.client("auditor"), reverse("admin:checkpoints_content_changelist")
    [[sha256, size]] = rows(
        "SELECT sha256, octet_length(body) FROM gp_content WHERE thread_id = %s", (filled.thread,)
    )
    assert size > 25_000
    for query in ({"q": sha256}, {"q": str(filled.thread)}, {"thread_id": str(filled.thread)}):
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
    page = client.get(f"{path}{filled.thread}.{sha256}/change/").content.decode()
    assert "long long" in page
    assert f'href="/threads/{filled.thread}/"' in page
    assert client.post(f"{path}{filled.thread}.{sha256}/change/").status_code == 403


def test_people_are_named_and_hidden_characters_too(filled: Filled) -> None:
    client = filled.client("auditor")
    page = client.get("/admin/approvals/decision/").content.decode()
    assert "operator" in page
    assert "U+202E" in page
    assert "&lt;b&gt;" in page
    [(kind, seq)] = [
        (e.kind, e.seq)
        for e in queries.events_after(filled.thread, 0)
        if e.kind == "approval.decided"
    ]
    page = client.get(f"/admin/checkpoints/event/{filled.thread}.{seq}/change/").content.decode()
    assert kind in page
    assert "operator <code>user:" in page
    assert " UTC</time>" in page
    event = queries.events_after(filled.thread, seq - 1)[0]
    assert event.hash in page
    assert event.prev_hash in page


def test_the_page_of_a_thread_says_what_verifying_it_found(filled: Filled) -> None:
    auditor = filled.client("auditor")
    address = reverse("admin:checkpoints_thread_change", args=[filled.thread])
    assert "Record: not verified yet" in auditor.get(address).content.decode()
    last = queries.thread(filled.thread, workspace=filled.cast.workspace).last_seq
    auditor.post(reverse("thread_verify", args=[filled.thread]))
    assert (
        f"Record: intact, events 1 to {last}, checked 20" in auditor.get(address).content.decode()
    )
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        cursor.execute("UPDATE gp_event SET actor = 'user:99' WHERE seq = 2")
        cursor.execute("SET session_replication_role = DEFAULT")
    auditor.post(reverse("thread_verify", args=[filled.thread]))
    assert "Record: damaged at event 2" in auditor.get(address).content.decode()
