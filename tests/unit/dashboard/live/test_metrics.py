"""Figures for Prometheus: true, bounded, and not for strangers."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from prometheus_client.parser import text_string_to_metric_families

from approvals import gates
from checkpoints import leases, store
from checkpoints.postgres import roles
from checkpoints.queries.installation import figures as thread_figures
from checkpoints.states import EventKind, Status
from dashboard.live import metrics
from tests.faults.embedded.helpers import wait_until
from tests.support.cast import Cast
from tests.unit.checkpoints.postgres.test_roles import ROLE, as_role
from tests.unit.dashboard import scene

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


@pytest.fixture(autouse=True)
def unkept(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    monkeypatch.setattr(metrics, "KEPT_SECONDS", 0.0)
    settings.ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]"]


def read(client: Client, **headers: str) -> Samples:
    """{(name, labels without the process): value}."""
    answer = client.get("/metrics", headers={"host": "localhost:8000"} | headers)
    assert answer.status_code == 200, answer.content
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert answer.headers["Cache-Control"] == "no-store"
    return {
        (s.name, tuple(sorted((k, v) for k, v in s.labels.items() if k != "process"))): s.value
        for family in text_string_to_metric_families(answer.content.decode())
        for s in family.samples
    }


def truth(sql: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchone()[0]


def test_figures_are_those_of_the_database(client: Client, cast: Cast, settings: Any) -> None:
    agent = scene.make_agent()
    scene.alive(agent)
    scene.alive(agent, name="worker:2:boot")
    for _ in range(3):
        scene.start(cast.workspace, agent)
    gated = scene.waiting(cast.workspace, agent)
    taken = scene.start(cast.workspace, agent)
    scene.lease(taken)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE gp_thread SET lease_until = clock_timestamp() - interval '1 minute' "
            "WHERE id = %s",
            [taken],
        )
        cursor.execute(
            "UPDATE gp_thread SET status_since = status_since - interval '5 minutes' "
            "WHERE status = 'queued'"
        )
        cursor.execute("UPDATE gp_approval SET requested_at = requested_at - interval '1 hour'")
    settings.GATEPOST_LEASE_SECONDS = 0.01  # the server has been up for longer
    assert leases.take_over(taken, owner="worker:2:boot") is not None
    store.claim_duty("sweep", owner="worker:1:boot", seconds=6)

    text = read(client)
    for status in Status:
        n = truth(f"SELECT count(*) FROM gp_thread WHERE status = '{status}'")
        assert text["gatepost_threads", (("status", str(status)),)] == n
    assert text["gatepost_threads", (("status", "queued"),)] == 3
    queue = (("queue", "gatepost"),)
    assert text["gatepost_queue_threads", queue] == 3
    assert 300 <= text["gatepost_queue_oldest_seconds", queue] < 400
    assert text["gatepost_queue_working_threads", queue] == 1
    assert text["gatepost_lease_takeovers_total", ()] == 1
    assert text["gatepost_steps_fenced_total", ()] == 0
    assert (text["gatepost_workers", ()], text["gatepost_worker_slots", ()]) == (2, 4)
    assert text["gatepost_sweep_overdue_seconds", ()] == 0
    assert text["gatepost_approvals_waiting", ()] == 1
    assert 3600 <= text["gatepost_approvals_oldest_seconds", ()] < 3700
    assert text["gatepost_database_up", ()] == 1

    before = text["gatepost_decisions_total", (("verdict", "approve"),)]
    gates.decide(
        gated.id,
        workspace=cast.workspace,
        reviewer=gates.Reviewer("user:2", "manager"),
        verdict="approve",
        proposal_hash=gated.proposal_hash,
    )
    assert read(client)["gatepost_decisions_total", (("verdict", "approve"),)] == before + 1


def test_requests_are_counted_by_kind_and_not_by_address(cast: Cast) -> None:
    client = Client(headers={"host": "localhost:8000"})

    def counted(route: str, method: str, status: str) -> float:
        labels = (("method", method), ("route", route), ("status", status))
        return read(client).get(("gatepost_http_request_seconds_count", labels), 0)

    before = counted("none", "GET", "4xx"), counted("page", "GET", "2xx")
    client.force_login(cast.users["manager"], "dashboard.identity.backends.Passwords")
    client.get("/nothing/here/at-all")
    client.get("/")
    client.generic("BREW", "/")
    assert counted("none", "GET", "4xx") == before[0] + 1
    assert counted("page", "GET", "2xx") == before[1] + 1
    text = client.get("/metrics", headers={"host": "localhost:1"}).content.decode()
    assert "nothing" not in text
    assert "BREW" not in text


@pytest.mark.slow
def test_how_far_readers_across_threads_stay_behind(real_db: str, client: Client) -> None:
    """Somebody's open transaction, under another login, holds back what was committed since."""
    at = connection.settings_dict
    address = f"host='{at['HOST']}' dbname=postgres user={at['USER']}"

    def behind() -> float:
        return read(client)["gatepost_reading_horizon_seconds", ()]

    def readable() -> int:
        sql = "SELECT count(*) FROM gp_event WHERE xid8 < pg_snapshot_xmin(pg_current_snapshot())"
        return int(truth(sql))

    with psycopg.connect(address) as holder:  # another database of the same server
        holder.execute("SELECT pg_current_xact_id()")
        before = readable()
        thread = scene.start(store.create_workspace("w", actor="user:0"), scene.make_agent())
        wait_until(lambda: behind() >= 1.0, seconds=30, what="a second of lag")
        assert readable() == before
        store.pause(thread, actor="user:1")
        first = behind()
        assert behind() >= first >= 1.0  # the oldest one counts, not the newest
        # Whoever reads under the role of web and workers sees the same.
        roles.grant(ROLE, password="hush-hush")
        try:
            with as_role(ROLE) as role:
                row = role.execute(thread_figures.SQL.horizon).fetchone()
            assert row is not None
            assert row[0] >= first
        finally:
            with connection.cursor() as cursor:
                cursor.execute(f"DROP OWNED BY {ROLE}")
                cursor.execute(f"DROP ROLE {ROLE}")
        assert readable() == before
    wait_until(lambda: behind() == 0, seconds=30, what="nothing held back")
    assert readable() == before + 2


def test_how_long_a_message_has_been_waiting_for_its_working_thread(
    client: Client, cast: Cast
) -> None:
    agent = scene.make_agent(inbox="notes")

    def lag() -> float:
        return read(client)["gatepost_drain_lag_seconds", (("buffer", "input"),)]

    def sent(thread: Any, *, minutes_ago: int) -> int:
        seq = store.send_input(thread, message="look", actor="user:1")
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE gp_wake SET created_at = created_at - make_interval(mins => %s) "
                "WHERE thread_id = %s AND ref = %s",
                (minutes_ago, thread, str(seq)),
            )
        return seq

    sent(scene.start(cast.workspace, agent), minutes_ago=9)  # queued: waits with its queue
    assert lag() == 0
    work = scene.lease(scene.start(cast.workspace, agent))
    seqs = [sent(work.thread, minutes_ago=n) for n in (1, 3, 2)]
    assert 180 <= lag() < 600
    taken = store.NewEvent(EventKind.INPUT_TAKEN, {"seqs": seqs}, work.owner)
    store.record(work, [taken], taken=seqs[1:2])
    assert 120 <= lag() < 180
    store.record(work, [taken], taken=seqs)
    assert lag() == 0


def test_strangers_read_nothing(client: Client, cast: Cast, settings: Any) -> None:
    def status(**more: Any) -> int:
        return client.get("/metrics", **more).status_code

    here = {"host": "127.0.0.1:8000"}
    assert status(headers=here) == 200
    assert status(headers=here, REMOTE_ADDR="10.0.0.9") == 403
    assert status(headers=here, REMOTE_ADDR="") == 403
    assert status(headers={"host": "evil.example:8000"}) == 403
    assert status(headers=here | {"x-forwarded-for": "10.0.0.9"}) == 403
    settings.ALLOWED_HOSTS = ["localhost", "gatepost.example"]
    assert status(headers=here) == 403  # a proxy of this machine would look the same
    settings.GATEPOST_METRICS_TOKEN = "hush-hush"
    assert status(headers=here) == 401
    assert status(headers=here | {"authorization": "Bearer hush"}) == 401
    assert status(headers=here | {"authorization": "Basic hush-hush"}) == 401
    assert status(headers=here | {"authorization": "Bearer hüsh"}) == 401
    payload = {"authorization": "Bearer hush-hush", "host": "10.1.2.3"}
    assert status(headers=payload, REMOTE_ADDR="10.0.0.9") == 200
    assert client.post("/metrics", headers=payload).status_code == 405


def test_without_a_database_the_process_still_answers(
    client: Client, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django.db import OperationalError

    def away() -> None:
        raise OperationalError("secret address")

    monkeypatch.setattr(thread_figures, "figures", away)
    answer = client.get("/metrics", headers={"host": "localhost:8000"})
    assert answer.status_code == 200
    assert b"gatepost_database_up 0.0" in answer.content
    assert b"gatepost_http_request_seconds" in answer.content
    assert b"gatepost_threads" not in answer.content
    assert b"secret" not in answer.content


@pytest.mark.usefixtures("hot_store")
def test_few_statements_and_an_index_for_each_count(real_db: str, client: Client) -> None:
    with CaptureQueriesContext(connection) as queries:
        read(client)
    assert len(queries.captured_queries) <= 8
    with connection.cursor() as cursor:
        # The planner sees a large table where there is none yet.
        cursor.execute("SET enable_seqscan = off")
        for sql, index in (
            ("SELECT 1 FROM gp_event WHERE kind = 'step.fenced' LIMIT 9", "gp_event_rare"),
            ("SELECT 1 FROM gp_decision WHERE verdict = 'approve' LIMIT 9", "gp_decision_verdicts"),
            (thread_figures.SQL.horizon, "gp_event_feed"),
            (
                "SELECT 1 FROM gp_thread WHERE queue = 'q' AND status = 'queued' "
                "ORDER BY status_since LIMIT 1",
                "gp_thread_queue",
            ),
            (thread_figures.SQL.undrained, "gp_wake_once"),
        ):
            cursor.execute(f"EXPLAIN {sql}")
            plan = "\n".join(row[0] for row in cursor.fetchall())
            assert index in plan, plan
            assert "Sort" not in plan, plan


@pytest.mark.nightly
def test_cheap_at_many_rows(real_db: str, client: Client) -> None:
    """200,000 threads of two workspaces: counts stop at their caps and stay quick."""
    agent = scene.make_agent()
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO gp_workspace (id, name) SELECT gen_random_uuid(), 'w' || n "
            "FROM generate_series(1, 2) n"
        )
        cursor.execute(
            "INSERT INTO gp_thread (id, workspace_id, agent_version_id, agent, title, labels, "
            "queue, status, status_reason, wake_seq, wish, wish_by, pause_at, effects, head, "
            "number, step, branch, branch_start, next_nodes, state_bytes, version, chain_id, "
            "last_seq, last_hash, prev_hash, lease_owner, fence, crash_count, started_by, "
            "n_steps, tokens, cost, tokens_saved) "
            "SELECT gen_random_uuid(), w.id, %s, 'research', 't', '{}', 'gatepost', "
            "CASE WHEN n %% 2 = 0 THEN 'succeeded' ELSE 'queued' END, '', 0, '', '', '', 'run', "
            "gen_random_uuid(), 0, 0, 0, 0, '[]', 0, 1, gen_random_uuid(), 0, '', '', '', 0, 0, "
            "'user:1', 0, 0, 0, 0 FROM gp_workspace w, generate_series(1, 100000) n",
            [agent],
        )
        cursor.execute("ANALYZE gp_thread")
        cursor.execute("SET statement_timeout = '1s'")
    text = read(client)
    assert text["gatepost_threads", (("status", "succeeded"),)] == 20_002
    assert text["gatepost_queue_threads", (("queue", "gatepost"),)] == 10_001
