"""Lists of records stay cheap however much is kept: along indexes, a fixed number of statements."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from checkpoints import store
from checkpoints.admin.paging import (
    COUNT_CAP,
    ROWS,
    WINDOW,
    Walk,
    _encode,
    _key,
    _named,
    read_page,
)
from checkpoints.models import Event
from tests.conftest import real_database
from tests.support.cast import Cast, make_cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard import scene

THREADS = 40_000
BIG = ("gp_thread", "gp_checkpoint", "gp_event", "gp_activity", "gp_approval", "gp_decision")
BIG += ("gp_content",)
# Who asks (login and roles), how far to look, how many, the rows, names, titles.
STATEMENTS_MAX = 12
# Each of the three statements goes at most one window far.
BOUND = 3 * WINDOW + ROWS
FILL = """
INSERT INTO gp_thread ({thread}) SELECT {thread_of} FROM gp_thread, generate_series(1, {n}) n
  WHERE id = '{one}';
INSERT INTO gp_event ({event}) SELECT {event_of} FROM gp_thread th, gp_event e,
  generate_series(1, 4) k WHERE e.thread_id = '{one}' AND e.seq = 1 AND th.id <> '{one}';
INSERT INTO gp_checkpoint ({checkpoint}) SELECT {checkpoint_of} FROM gp_thread th,
  gp_checkpoint c, generate_series(0, 1) k WHERE c.thread_id = '{one}' AND c.number = 0
  AND th.id <> '{one}';
INSERT INTO gp_content ({content}) SELECT {content_of} FROM gp_thread th, gp_content x
  WHERE x.thread_id = '{one}' AND th.id <> '{one}';
INSERT INTO gp_activity ({activity}) SELECT {activity_of} FROM gp_thread th, gp_activity a,
  generate_series(1, 1) k WHERE a.thread_id = '{one}' AND th.id <> '{one}';
INSERT INTO gp_approval ({approval}) SELECT {approval_of} FROM gp_thread th, gp_approval a,
  generate_series(1, 1) k WHERE a.thread_id = '{one}' AND th.id <> '{one}';
INSERT INTO gp_decision ({decision}) SELECT {decision_of} FROM gp_approval p, gp_decision d
  WHERE p.thread_id <> '{one}';
"""
# A tenth of all rows belongs to the other workspace.
WORKSPACE = "CASE WHEN mod({n}, 10) = 0 THEN '{{elsewhere}}'::uuid ELSE '{{here}}'::uuid END"
SPREAD: dict[str, dict[str, str]] = {
    "thread": {
        "id": "gen_random_uuid()",
        "workspace_id": WORKSPACE.format(n="n"),
        "name": "NULL",
        "status": "(ARRAY['succeeded', 'failed', 'cancelled'])[1 + mod(n, 3)]::gp_thread_status",
        "status_since": "now() - make_interval(secs => n)",
    },
    "event": {
        "thread_id": "th.id",
        "workspace_id": "th.workspace_id",
        "seq": "k",
        "xid8": "(1000 + row_number() OVER ())::text::xid8",
    },
    "checkpoint": {
        "thread_id": "th.id",
        "workspace_id": "th.workspace_id",
        "number": "k",
        "id": "gen_random_uuid()",
    },
    "content": {
        "thread_id": "th.id",
        "workspace_id": "th.workspace_id",
        "body": "'\"short\"'",
    },
    "activity": {
        "id": "gen_random_uuid()",
        "thread_id": "th.id",
        "workspace_id": "th.workspace_id",
        "step": "k",
        "approval_id": "NULL",
    },
    "approval": {
        "id": "gen_random_uuid()",
        "thread_id": "th.id",
        "workspace_id": "th.workspace_id",
        "step": "k",
        "requested_at": "th.status_since",
    },
    "decision": {
        "id": "gen_random_uuid()",
        "approval_id": "p.id",
        "workspace_id": "p.workspace_id",
    },
}
SOURCE = {
    "thread": "gp_thread",
    "event": "e",
    "checkpoint": "c",
    "content": "x",
    "activity": "a",
    "approval": "a",
    "decision": "d",
}


def filling(one: str, here: str, elsewhere: str) -> str:
    """One statement per table, each copying a row with some columns changed."""
    parts: dict[str, Any] = {"one": one, "n": THREADS}
    for name, changed in SPREAD.items():
        columns = [
            column
            for (column,) in rows(
                "SELECT column_name FROM information_schema.columns WHERE table_name = %s::text "
                "ORDER BY ordinal_position",
                (f"gp_{name}",),
            )
        ]
        parts[name] = ", ".join(f'"{c}"' for c in columns)
        values = [changed.get(c, f'{SOURCE[name]}."{c}"') for c in columns]
        parts[f"{name}_of"] = ", ".join(values).format(here=here, elsewhere=elsewhere)
    return FILL.format(**parts)


@dataclass
class Full:
    """A database with a few 100,000 rows."""

    cast: Cast
    root: Client

    def client(self, who: str) -> Client:
        return self.root if who == "root" else self.cast.client(who)


@pytest.fixture(scope="module")
def full(django_db_setup: None, django_db_blocker: Any) -> Iterator[Full]:
    with django_db_blocker.unblock(), real_database("gatepost_full"):
        cast = make_cast()
        agent = scene.make_agent()
        work = scene.lease(scene.start(cast.workspace, agent))
        scene.step(work, report="long " * 5_000)
        scene.effect(work, key="publish:1")
        row = scene.gate(work)
        from approvals import gates

        gates.decide(
            row.id,
            workspace=cast.workspace,
            reviewer=gates.Reviewer("user:1", "operator"),
            verdict="approve",
            proposal_hash=row.proposal_hash,
        )
        # Past triggers: only what the planner sees matters here.
        rows("SET session_replication_role = replica")
        rows("SET statement_timeout = 0")
        for statement in filling(str(work.thread), str(cast.workspace), str(cast.elsewhere)).split(
            ";\n"
        ):
            if statement.strip():
                rows(statement)
        rows("SET session_replication_role = DEFAULT")
        rows("VACUUM ANALYZE")
        user = get_user_model().objects.create_superuser("root", password="root")
        root = Client()
        root.force_login(user, "dashboard.identity.backends.Passwords")
        yield Full(cast, root)


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes(child)


def check_plan(sql: str) -> int:
    """No scan of a whole big table, no sort of more than a window; the rows that were looked at."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}")  # no values: % is a sign here
        plan = cursor.fetchone()[0]
    plan = (json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]
    looked = 0
    for node in nodes(plan):
        if node.get("Relation Name") in BIG:
            assert node["Node Type"] != "Seq Scan", (sql, node)
            removed = node.get("Rows Removed by Filter", 0)
            looked += int((node["Actual Rows"] + removed) * node["Actual Loops"])
        if "Sort" in node["Node Type"]:
            assert node["Plans"][0]["Actual Rows"] <= WINDOW + 1, (sql, node)
    return looked


def look(client: Client, path: str) -> tuple[str, int]:
    """(the page, how many rows were looked at); every statement is checked."""
    with CaptureQueriesContext(
        connection,
    ) as queries:
        answer = client.get(path)
    assert answer.status_code == 200, path
    statements = [q["sql"] for q in queries.captured_queries]
    assert len(statements) <= STATEMENTS_MAX, statements
    reading = [s for s in statements if any(f'"{table}"' in s for table in BIG)]
    assert len([s for s in reading if s.startswith("SELECT")]) >= 3
    return answer.content.decode(), sum(map(check_plan, reading))


def deep_cursor(name: str, walk: Walk, **equal: Any) -> str:
    """A cursor far down in a list."""
    model = apps.get_model(*name.split("_"))
    result = _named(model._default_manager.filter(**equal), walk)
    ordered = result.order_by(*(f"-{column}" for column in walk.order))
    return _encode(_key(ordered[result.count() * 3 // 4], walk))


LISTS = (
    "checkpoints_thread",
    "checkpoints_checkpoint",
    "checkpoints_content",
    "checkpoints_event",
    "checkpoints_activity",
    "approvals_approval",
    "approvals_decision",
)


@pytest.mark.nightly
def test_enough_rows_are_there(full: Full) -> None:
    n = {table: rows(f"SELECT count(*) FROM {table}")[0][0] for table in BIG}
    assert min(n.values()) >= THREADS
    assert sum(n.values()) >= 400_000


@pytest.mark.slow
@pytest.mark.parametrize("who", ["auditor", "root"])
@pytest.mark.parametrize("name", LISTS)
def test_the_first_page_and_a_deep_one_are_cheap(full: Full, name: str, who: str) -> None:
    client = full.client(who)
    path = reverse(f"admin:{name}_changelist")
    page, looked = look(client, path)
    assert page.count('<tr role="row">') == ROWS + 1
    assert f"More than {COUNT_CAP:,}" in page
    assert looked <= BOUND
    admin.autodiscover()
    records: Any = admin.site._registry[apps.get_model(*name.split("_"))]
    equal = {} if who == "root" else {"workspace_id": full.cast.workspace}
    walk = records.walk(equal, begun=False)
    cursor = deep_cursor(name, walk, **equal)
    deep, looked_deep = look(client, f"{path}?p={cursor}")
    assert deep.count('<tr role="row">') == ROWS + 1
    assert looked_deep <= BOUND
    assert deep.count('rel="next"') == deep.count('rel="prev"') == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [
        "checkpoints/thread/?status=failed",
        "checkpoints/thread/?q=Delays",
        "checkpoints/thread/?q=nothing+like+it",
        "checkpoints/event/?kind=approval",
        "checkpoints/event/?since=hour",
        "checkpoints/event/?q=approval.decided",
        "checkpoints/event/?q=manager",
        "checkpoints/checkpoint/?source=edit",
        "checkpoints/content/?q=nothing+like+it",
        "checkpoints/activity/?state=unknown&kind=effect",
        "approvals/approval/?status=pending",
        "approvals/approval/?q=Publish",
        "approvals/decision/?verdict=reject",
        "approvals/decision/?q=nobody",
    ],
)
def test_what_no_index_can_find_is_looked_for_within_bounds(full: Full, path: str) -> None:
    for who in ("auditor", "root"):
        page, looked = look(full.client(who), f"/admin/{path}")
        assert looked <= BOUND, who
        if "among the" in page:
            assert 'rel="next"' in page


@pytest.mark.slow
def test_ids_and_their_beginnings_are_found_at_once(full: Full) -> None:
    thread, decision = rows(
        "SELECT (SELECT id FROM gp_thread WHERE workspace_id = %s::uuid ORDER BY id OFFSET 9000 "
        "LIMIT 1), (SELECT id FROM gp_decision WHERE workspace_id = %s::uuid LIMIT 1)",
        (full.cast.workspace, full.cast.workspace),
    )[0]
    for who in ("auditor", "root"):
        client = full.client(who)
        for name, text, n in (
            ("checkpoints/thread", str(thread), 1),
            ("checkpoints/thread", str(thread)[:13], 1),
            ("checkpoints/event", str(thread), 4),
            ("checkpoints/event", str(thread).replace("-", "")[:13], 4),
            ("checkpoints/checkpoint", str(thread), 2),
            ("checkpoints/content", str(thread), 1),
            ("checkpoints/activity", str(thread), 1),
            ("approvals/approval", str(thread), 1),
            ("approvals/decision", str(decision), 1),
        ):
            page, looked = look(client, f"/admin/{name}/?q={text}")
            assert page.count('<tr role="row">') == n + 1, (who, name, text)
            assert looked < 100, (who, name, text)
    page, looked = look(full.root, f"/admin/checkpoints/event/?thread_id={thread}&kind=thread")
    assert page.count('<tr role="row">') == 5
    assert looked < 100


@pytest.mark.slow
def test_counts_and_windows_tell_what_they_looked_at(full: Full) -> None:
    thread = store.start(
        scene.make_agent(),
        input={"goal": "x"},
        workspace=full.cast.workspace,
        actor="user:1",
        title="many",
    )
    rows("SET session_replication_role = replica")
    rows(
        "INSERT INTO gp_event (thread_id, workspace_id, seq, kind, v, actor, data, salt, "
        "data_hash, at, prev_hash, hash) SELECT thread_id, workspace_id, n, kind, v, actor, data, "
        "salt, data_hash, at, prev_hash, hash FROM gp_event, generate_series(10, 2009) n "
        "WHERE seq = 1 AND thread_id = %s::uuid",
        (thread,),
    )
    rows("SET session_replication_role = DEFAULT")
    every = Event.objects.filter(thread_id=thread)
    walk = Walk(("seq",), ("thread_id",))
    assert read_page(every, every, walk).count == COUNT_CAP + 1
    wanted = every.filter(seq__lt=100)
    few = read_page(every, wanted, walk, window=500)
    assert (few.rows, few.count, few.searched_all) == ((), 0, False)
    while not few.rows:
        few = read_page(every, wanted, walk, few.older, window=500)
    assert few.rows[0].seq == 99
