"""`doctor`: each check is seen turning red by making the thing really wrong."""

from __future__ import annotations

import http.server
import io
import json
import stat
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection, transaction

from checkpoints import queries, store
from checkpoints.agent_versions import EXTERNAL_QUEUE
from checkpoints.postgres import roles
from checkpoints.states import EventKind
from dashboard.identity import tokens
from dashboard.operate.doctor import external_agents, installed, lag, names, reachable, unsafe
from dashboard.operate.doctor.checks import CHECKS, PARTS, examine
from dashboard.operate.doctor.findings import Finding, Seen
from dashboard.operate.embedded import web_address
from dashboard.wire.valkey import client
from tests.faults.embedded.helpers import free_port
from tests.support.cast import Cast
from tests.unit.dashboard import scene
from tests.unit.dashboard.terminals import environment, manage


@pytest.fixture
def seen(db: None) -> Seen:
    """Database and Valkey answer."""
    seen = Seen()
    for look in (reachable.database, reachable.valkey, lag.migrations):
        list(look(seen))
    assert seen.has == {"database", "valkey", "tables"}
    return seen


def sql(statement: str, *params: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, params)


def only(findings: Iterator[Finding]) -> Finding:
    (one,) = findings
    return one


def worst(findings: Iterator[Finding]) -> Finding:
    return max(findings, key=lambda f: ["ok", "note", "warning", "wrong"].index(f.level))


def levels(findings: Iterator[Finding]) -> list[str]:
    return [f.level for f in findings]


# --- the round ----------------------------------------------------------------------------------


def test_the_round_tells_everything_with_what_to_do(cast: Cast) -> None:
    out = io.StringIO()
    with pytest.raises(SystemExit) as ended:  # no worker here, and the test server does not fsync
        call_command("doctor", "--json", stdout=out, stderr=io.StringIO())
    assert ended.value.code == 1
    report = json.loads(out.getvalue())
    assert report["ok"] is False
    assert {f["part"] for f in report["findings"]} == set(PARTS)
    assert len(report["findings"]) >= len(CHECKS)
    for finding in report["findings"]:
        assert finding["value"]
        assert finding["do"] or finding["level"] in ("ok", "note"), finding
    assert sum(report["counts"].values()) == len(report["findings"])


@pytest.mark.slow
def test_without_a_database_the_rest_is_looked_at() -> None:
    away = environment(DATABASE_URL="postgresql://gatepost:hush@127.0.0.1:1/gatepost")
    done = manage("doctor", "--json", env=away)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "hush" not in done.stdout
    payload = {(f["part"], f["name"]): f for f in json.loads(done.stdout)["findings"]}
    assert payload["reachable", "database"]["level"] == "wrong"
    assert "Look at the server of DATABASE_URL" in payload["reachable", "database"]["do"]
    assert payload["behind", "migrations"]["value"] == "not looked at: no database"
    assert payload["installed", "Python"]["level"] == "ok"
    assert payload["reachable", "Valkey"]["level"] == "ok"
    assert payload["behind", "disk of the data folder"]["level"] == "ok"


def test_a_check_that_fails_is_a_finding_and_the_round_goes_on(real_db: str) -> None:
    sql("DROP TABLE gp_duty")
    results = {f.name: f for f in examine(Seen())}
    assert results["sweep"].level == "wrong"
    assert 'could not be looked at: relation "gp_duty" does not exist' in results["sweep"].value
    assert results["expired leases"].level == "ok"


def test_the_runtime_role_can_look_at_everything(cast: Cast) -> None:
    roles.grant("gatepost_doctor_test")
    sql("SET LOCAL ROLE gatepost_doctor_test")
    result = examine(Seen())
    sql("RESET ROLE")
    assert [f for f in result if "looked at" in f.value] == []
    assert next(f for f in result if f.name == "database role").level == "ok"


# --- installed ----------------------------------------------------------------------------------


def test_python(monkeypatch: pytest.MonkeyPatch) -> None:
    assert only(installed.python(Seen())).level == "ok"
    monkeypatch.setattr(installed, "PYTHON_MINIMUM", (4, 0))
    assert only(installed.python(Seen())).level == "wrong"


def test_packages(settings: Any, tmp_path: Path) -> None:
    assert only(installed.packages(Seen())).level == "ok"
    settings.BASE_DIR = tmp_path
    assert only(installed.packages(Seen())).level == "note"
    lock = tmp_path / "requirements.lock"
    lock.write_text(
        "# made\nnobody-has-this==1.0 \\\n    --hash=sha256:00\ndjango==1.11 \\\n"
        "also-not==2 ; sys_platform == 'elsewhere' \\\n"
    )
    missing, other = installed.packages(Seen())
    assert (missing.level, missing.value) == ("wrong", "missing: nobody-has-this")
    assert other.level == "warning"
    assert "instead of 1.11" in other.value


def test_nobody_has_to_have_an_extra(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.BASE_DIR = tmp_path  # as installed by pip: no lock file here
    metadata = tmp_path / "site" / "gatepost-9.0.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True)
    head = "Metadata-Version: 2.4\nName: gatepost\nVersion: 9.0\nRequires-Dist: django>=6\n"
    metadata.write_text(f'{head}Requires-Dist: nobody-has-this>=1; extra == "models"\n')
    monkeypatch.syspath_prepend(metadata.parents[1])
    finding = only(installed.packages(Seen()))
    assert (finding.level, finding.value) == ("ok", "1 as Gatepost 9.0 asks for")
    metadata.write_text(f"{head}Requires-Dist: nobody-has-this>=1\n")
    assert only(installed.packages(Seen())).value == "unmet: nobody-has-this>=1"


def test_versions_of_the_servers(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    assert only(installed.postgresql(seen)).value.endswith("embedded")
    assert only(installed.valkey(seen)).level == "ok"
    monkeypatch.setattr(installed, "POSTGRESQL_MINIMUM", 99)
    assert only(installed.postgresql(seen)).level == "wrong"
    seen.valkey = {"redis_version": "6.2.7"}
    old = only(installed.valkey(seen))
    assert (old.level, old.value) == ("wrong", "Redis 6.2.7, embedded")


# --- reachable ----------------------------------------------------------------------------------


def test_valkey_away(settings: Any, tmp_path: Path) -> None:
    settings.REDIS_URL = f"unix://{tmp_path}/nobody.sock"
    seen = Seen()
    assert only(reachable.valkey(seen)).level == "wrong"
    assert "valkey" not in seen.has


class _Unready(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(503)
        self.end_headers()
        self.wfile.write(b'{"ready": false, "database": "ok", "worker": "down"}')

    def log_message(self, *args: Any) -> None:
        """Nothing."""


def test_pages(settings: Any, tmp_path: Path) -> None:
    settings.GATEPOST_DATA = tmp_path
    assert only(reachable.pages(Seen())).level == "note"
    web_address.note(tmp_path, "127.0.0.1", free_port())
    gone = only(reachable.pages(Seen()))
    assert (gone.level, "refused" in gone.value) == ("wrong", True)
    with http.server.HTTPServer(("127.0.0.1", 0), _Unready) as server:
        threading.Thread(target=server.handle_request).start()
        down = only(reachable.pages(Seen(url=f"http://127.0.0.1:{server.server_port}")))
    assert down.level == "wrong"
    assert "worker down" in down.value


def test_a_row_that_fails_in_the_sweep_is_named(seen: Seen) -> None:
    assert only(lag.rows_set_aside(seen)).level == "ok"
    sql(
        "INSERT INTO gp_set_aside (part, row_id, thread_id, error, attempts, next_at) SELECT "
        "'expired', gen_random_uuid(), gen_random_uuid(), 'KeyError: x', 3, clock_timestamp() "
        "FROM generate_series(1, 7)"
    )
    results = list(lag.rows_set_aside(seen))
    assert [finding.level for finding in results] == ["warning"] * 6
    assert "failed 3 times" in results[0].value
    assert "KeyError: x" in results[0].value


def test_a_worker_that_fell_silent_is_named_for_an_hour(seen: Seen, agent: UUID) -> None:
    def finding() -> Finding:
        return only(reachable.lost_workers(Seen(answered=queries.server())))

    scene.alive(agent)
    assert finding().level == "ok"
    sql("UPDATE gp_worker SET seen_at = clock_timestamp() - interval '1 minute'")
    assert finding().level == "note"
    assert "1 worker fell silent" in finding().value
    sql("UPDATE gp_worker SET stopped_at = clock_timestamp()")
    assert finding().level == "ok"
    sql("UPDATE gp_worker SET stopped_at = NULL, seen_at = seen_at - interval '1 hour'")
    assert finding().level == "ok"


def test_workers(seen: Seen, agent: UUID) -> None:
    assert "never seen" in only(reachable.workers(seen)).value
    scene.alive(agent)
    here = only(reachable.workers(Seen(answered=queries.server())))
    assert here.level == "ok"
    assert "1 worker with 2 slots on here" in here.value
    sql("UPDATE gp_worker SET seen_at = seen_at - interval '1 hour'")
    gone = only(reachable.workers(Seen(answered=queries.server())))
    assert gone.level == "wrong"
    assert "last seen 20" in gone.value


def test_a_standby_is_no_worker(cast: Cast, agent: UUID) -> None:
    """With one, no worker is normal as long as nothing waits for one."""

    def findings() -> dict[str, Finding]:
        seen = Seen(answered=queries.server())
        return {f.name: f for look in (reachable.workers, reachable.agents) for f in look(seen)}

    store.announce_worker("worker:9:boot", host="there", pid=9, slots=0, queues=(), agents=())
    store.heartbeat_worker("worker:9:boot")
    scene.waiting(cast.workspace, agent)
    results = findings()
    assert "1 on there" in results["standby"].value
    assert (results["workers"].level, results["workers"].value) == (
        "ok",
        "none, and nothing waits for one",
    )
    assert results["agent research"].level == "note"
    scene.start(cast.workspace, agent)
    assert findings()["workers"].level == "warning"
    scene.alive(agent)
    assert "1 worker with 2 slots on here" in findings()["workers"].value
    sql("UPDATE gp_worker SET stopped_at = clock_timestamp()")
    assert findings()["workers"].level == "wrong"


def test_agents_that_work_elsewhere(cast: Cast) -> None:
    def look() -> list[Finding]:
        return list(external_agents.come(Seen()))

    assert [f.value for f in look()] == ["none"]
    elsewhere = scene.make_agent("elsewhere", queue=EXTERNAL_QUEUE)
    scene.lease(leased := scene.start(cast.workspace, elsewhere))
    waiting = scene.start(cast.workspace, elsewhere)
    (healthy,) = look()
    assert healthy.level == "ok"
    assert healthy.value == "1 agent, 1 threads under a lease, 1 wait for a program"
    older = "UPDATE gp_thread SET {0} = {0} - interval '1 hour' WHERE id = %s"
    sql(older.format("status_since"), waiting)
    sql(older.format("lease_until"), leased)
    warned, noted = look()
    assert (warned.level, noted.level) == ("warning", "note")
    assert warned.value.startswith("1 thread waits for their programs, the first for 1 h")
    assert "1 have a lease that ran out" in noted.value


def test_a_queue_that_nobody_serves(cast: Cast, agent: UUID) -> None:
    scene.alive(agent)
    scene.start(cast.workspace, agent)
    assert levels(reachable.queues(Seen())) == ["ok"]
    sql("UPDATE gp_thread SET queue = 'heavy'")
    result = only(reachable.queues(Seen()))
    assert (result.level, result.name) == ("wrong", "queue heavy")
    assert "--queues heavy" in result.do


def test_threads_of_agents_elsewhere_wait_for_no_worker(cast: Cast, agent: UUID) -> None:
    scene.alive(agent)
    elsewhere = scene.make_agent("elsewhere", queue=EXTERNAL_QUEUE)
    scene.start(cast.workspace, elsewhere)
    scene.lease(scene.start(cast.workspace, elsewhere))
    sql("UPDATE gp_thread SET lease_until = lease_until - interval '1 hour'")
    sql("UPDATE gp_thread SET status_since = status_since - interval '1 day'")
    for check in (reachable.queues, reachable.agents, lag.queue_age, lag.leases):
        assert levels(check(Seen())) == ["ok"], check


def test_an_agent_that_nobody_has(cast: Cast, agent: UUID) -> None:
    scene.start(cast.workspace, agent)
    other = scene.make_agent("other")
    scene.alive(other)
    nobody = only(reachable.agents(Seen()))
    assert nobody.level == "warning"
    assert "no live worker has this agent" in nobody.value
    scene.alive(other, scene.make_agent(version=2))
    changed = only(reachable.agents(Seen()))
    assert changed.level == "note"
    assert "other code" in changed.value
    scene.alive(other, agent)
    assert only(reachable.agents(Seen())).level == "ok"


# --- unsafe -------------------------------------------------------------------------------------


def test_debug_hosts_and_https(settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["localhost"]
    settings.DEBUG = settings.HTTPS = False
    calm = (unsafe.debug, unsafe.hosts, unsafe.https)
    assert [only(look(Seen())).level for look in calm] == ["ok"] * 3
    settings.DEBUG = True
    assert only(unsafe.debug(Seen())).level == "warning"
    settings.ALLOWED_HOSTS = ["gate.example"]
    assert only(unsafe.debug(Seen())).level == "wrong"
    assert only(unsafe.hosts(Seen())).level == "ok"
    assert only(unsafe.https(Seen())).level == "wrong"
    settings.HTTPS = True
    assert only(unsafe.https(Seen())).level == "ok"
    settings.ALLOWED_HOSTS = ["*"]
    assert only(unsafe.hosts(Seen())).level == "wrong"


def test_keys_and_folders(settings: Any, tmp_path: Path) -> None:
    settings.GATEPOST_DATA = tmp_path
    tmp_path.chmod(0o700)
    key = tmp_path / "secret-key"
    key.write_text("k")
    key.chmod(0o600)
    logins = tmp_path / "demo-logins.txt"
    logins.touch(0o600)
    assert levels(unsafe.secret_key(Seen())) == ["ok"] * 3
    for file in (key, logins):
        file.chmod(0o640)
        assert levels(unsafe.secret_key(Seen())).count("wrong") == 1
        file.chmod(0o600)
    settings.SECRET_KEY = "django-insecure-" + settings.SECRET_KEY
    assert worst(unsafe.secret_key(Seen())).name == "secret key"
    settings.SECRET_KEY = "a" * 60
    assert worst(unsafe.secret_key(Seen())).level == "wrong"
    for mode, level in ((0o711, "ok"), (0o755, "warning"), (0o777, "wrong")):
        tmp_path.chmod(mode)
        assert only(unsafe.data_folder(Seen())).level == level
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o777, "doctor changes nothing"


def test_demo_logins(settings: Any, db: None) -> None:
    settings.ALLOWED_HOSTS = ["localhost"]
    assert "nobody may sign in" in only(unsafe.demo_logins(Seen())).value
    get_user_model().objects.create_user("operator", email="operator@demo.invalid")
    assert only(unsafe.demo_logins(Seen())).level == "ok"
    settings.ALLOWED_HOSTS = ["gate.example"]
    assert only(unsafe.demo_logins(Seen())).level == "wrong"


def test_tokens_that_never_end(cast: Cast) -> None:
    tokens.make(cast.users["operator"], made_by="test", expires_in=timedelta(days=1))
    assert only(unsafe.api_tokens(Seen())).level == "ok"
    row, _ = tokens.make(cast.users["operator"], made_by="test", expires_in=None)
    result = only(unsafe.api_tokens(Seen()))
    assert result.level == "warning"
    assert row.prefix in result.value


def test_the_role_of_the_database(seen: Seen, settings: Any, monkeypatch: Any) -> None:
    assert only(unsafe.role(seen)).level == "note"  # the embedded server has one role
    monkeypatch.setattr(Seen, "own_database", True)
    settings.ALLOWED_HOSTS = ["localhost"]
    assert only(unsafe.role(seen)).level == "warning"
    settings.ALLOWED_HOSTS = ["gate.example"]
    assert only(unsafe.role(seen)).level == "wrong"
    roles.grant("gatepost_doctor_test")
    sql("SET LOCAL ROLE gatepost_doctor_test")
    assert only(unsafe.role(seen)).level == "ok"
    sql("RESET ROLE")
    sql("GRANT UPDATE ON gp_event TO gatepost_doctor_test")
    sql("SET LOCAL ROLE gatepost_doctor_test")
    result = only(unsafe.role(seen))
    assert result.level == "wrong"
    assert "UPDATE on gp_event" in result.value
    sql("RESET ROLE")


def test_guards_of_the_logs(seen: Seen) -> None:
    assert only(unsafe.guards(seen)).level == "ok"
    sql("ALTER TABLE gp_event DISABLE TRIGGER gp_event_row")
    off = only(unsafe.guards(seen))
    assert off.level == "wrong"
    assert "switched off: gp_event.gp_event_row" in off.value
    sql("DROP TRIGGER gp_decision_row ON gp_decision")
    missing, _ = unsafe.guards(seen)
    assert missing.value == "missing: gp_decision.gp_decision_row"
    sql("SET LOCAL session_replication_role = replica")
    silent = list(unsafe.guards(Seen(answered=queries.server())))[-1]
    assert "session_replication_role" in silent.value
    sql("SET LOCAL session_replication_role = origin")


def test_doctor_knows_each_guard_that_migrations_make(db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname, t.tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid "
            "WHERE NOT t.tgisinternal AND c.relnamespace = current_schema()::regnamespace"
        )
        there = set(cursor.fetchall())
    assert there == {(table, name) for table, names in unsafe.GUARDS.items() for name in names}


@pytest.mark.parametrize("act", ["DROP TRIGGER {1} ON {0}", "ALTER TABLE {0} DISABLE TRIGGER {1}"])
def test_doctor_misses_no_trigger_that_is_gone_or_off(seen: Seen, act: str) -> None:
    """Each of them, whatever it does: what it keeps is no longer kept."""
    pairs = [(table, name) for table, names in unsafe.GUARDS.items() for name in names]
    for table, name in pairs:
        with suppress(Undone), transaction.atomic():
            sql(act.format(table, name))
            assert f"{table}.{name}" in only(unsafe.guards(seen)).value
            raise Undone
    assert len(pairs) > 40


class Undone(Exception):
    """Takes back what was tried."""


def test_doctor_looks_into_the_function_that_refuses(seen: Seen) -> None:
    sql(
        "CREATE OR REPLACE FUNCTION gp_refuse() RETURNS trigger LANGUAGE plpgsql "
        "AS $$ BEGIN RETURN coalesce(NEW, OLD); END $$"
    )
    result = only(unsafe.guards(seen))
    assert (result.level, "gp_refuse" in result.value) == ("wrong", True)


def test_durability(seen: Seen) -> None:
    # The test run's own server does not flush: that is the wrong thing, really.
    assert {f.name for f in unsafe.durability(seen)} == {"fsync", "full_page_writes"}
    sql("SET LOCAL synchronous_commit = off")
    results = list(unsafe.durability(Seen(answered=queries.server())))
    assert "synchronous_commit" in {f.name for f in results}
    seen.server.settings.update(dict.fromkeys(queries.DURABILITY, "on"))
    assert only(unsafe.durability(seen)).level == "ok"


def test_connections_to_other_machines(seen: Seen, settings: Any) -> None:
    assert levels(unsafe.wire(seen)) == ["ok"]
    settings.REDIS_URL = "redis://valkey.example:6379/0"
    assert levels(unsafe.wire(seen)) == ["ok", "warning", "warning"]
    settings.REDIS_URL = "rediss://u:p@valkey.example:6379/0"
    assert levels(unsafe.wire(seen)) == ["ok"]


def test_valkey_without_its_file(settings: Any) -> None:
    with client(settings.REDIS_URL) as request:
        request.config_set("appendonly", "no")
        try:
            seen = Seen()
            list(reachable.valkey(seen))
            assert only(unsafe.valkey_keeps(seen)).level == "warning"
        finally:
            request.config_set("appendonly", "yes")
    seen = Seen()
    list(reachable.valkey(seen))
    assert only(unsafe.valkey_keeps(seen)).level == "ok"


# --- behind -------------------------------------------------------------------------------------


def test_migrations(seen: Seen) -> None:
    assert only(lag.migrations(seen)).level == "ok"
    sql("DELETE FROM django_migrations WHERE app = 'approvals'")
    missing = worst(lag.migrations(Seen()))
    assert missing.level == "wrong"
    assert "approvals.0001_schema" in missing.value
    sql(
        "INSERT INTO django_migrations (app, name, applied) VALUES ('checkpoints', '9999_x', now())"
    )
    unknown = list(lag.migrations(Seen()))[-1]
    assert "checkpoints.9999_x" in unknown.value


def test_the_sweep(seen: Seen, agent: UUID) -> None:
    assert only(lag.sweep(Seen())).level == "note"
    sql("INSERT INTO gp_duty (name, owner, until) VALUES ('sweep', 'w', now() + interval '5 s')")
    assert only(lag.sweep(seen)).level == "ok"
    sql("UPDATE gp_duty SET until = clock_timestamp() - interval '2 minutes'")
    assert only(lag.sweep(seen)).level == "wrong"


def test_how_long_threads_are_queued(seen: Seen, cast: Cast, agent: UUID) -> None:
    assert only(lag.queue_age(seen)).value == "no thread is queued"
    scene.start(cast.workspace, agent)
    for minutes, level in ((0, "ok"), (2, "warning"), (20, "wrong")):
        sql(
            "UPDATE gp_thread SET status_since = clock_timestamp() - make_interval(mins => %s)",
            minutes,
        )
        assert only(lag.queue_age(seen)).level == level


def test_leases_that_nobody_takes(seen: Seen, cast: Cast, agent: UUID) -> None:
    scene.lease(scene.start(cast.workspace, agent))
    assert only(lag.leases(seen)).level == "ok"
    sql("UPDATE gp_thread SET lease_until = clock_timestamp() - interval '5 minutes'")
    result = only(lag.leases(seen))
    assert result.level == "wrong"
    assert result.value.startswith("1, the first for 5 min")


def test_timers_and_news(seen: Seen, cast: Cast, agent: UUID) -> None:
    row = scene.waiting(cast.workspace, agent)
    assert only(lag.timers(seen)).level == "ok"
    sql(
        "INSERT INTO gp_wake (thread_id, kind, ref, due_at) VALUES (%s, 'child', 'x', "
        "clock_timestamp() - interval '1 hour')",
        row.thread,
    )
    assert only(lag.timers(seen)).name == "news for threads"
    sql("DELETE FROM gp_wake")
    scene.step(scene.lease(scene.start(cast.workspace, agent)), leave_by=EventKind.THREAD_SLEPT)
    sql(
        "UPDATE gp_thread SET wake_at = clock_timestamp() - interval '1 hour' "
        "WHERE status = 'sleeping'"
    )
    assert only(lag.timers(seen)).name == "sleeping threads"


def test_requests_past_their_deadline(seen: Seen, cast: Cast, agent: UUID) -> None:
    scene.waiting(cast.workspace, agent, expires_in=3600.0)
    assert only(lag.deadlines(seen)).level == "ok"
    sql("UPDATE gp_approval SET deadline = clock_timestamp() - interval '1 hour'")
    assert only(lag.deadlines(seen)).level == "wrong"


def test_attention(seen: Seen, cast: Cast, agent: UUID) -> None:
    assert only(lag.attention(seen)).level == "ok"
    work = scene.lease(scene.start(cast.workspace, agent))
    scene.step(work, leave_by=EventKind.THREAD_PARKED)
    assert only(lag.attention(seen)).value == "1 thread"


def test_disk_and_clock(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    assert worst(lag.disk(seen)).level == "ok"
    monkeypatch.setattr(lag, "DISK_WARNING", 10**18)
    assert worst(lag.disk(seen)).level == "warning"
    monkeypatch.setattr(lag, "DISK_WRONG", 10**18)
    assert worst(lag.disk(seen)).level == "wrong"
    for off, level in ((0.2, "ok"), (-3.0, "warning"), (60.0, "wrong")):
        seen.clock_off = off
        assert only(lag.clock(seen)).level == level


def test_names_from_before_the_rule_are_named_with_their_characters(seen: Seen) -> None:
    graph = {"nodes": [{"name": "p\u0430y"}, {"name": "look"}]}
    sql(
        "INSERT INTO gp_agent_version (id, agent, version, fingerprint, label, description, "
        "schema_version, schema, channels, graph, tools, queue) VALUES (gen_random_uuid(), "
        "'from-before', 1, 'f', '', '', 1, '{}', '{}', %s::jsonb, '{}', 'default')",
        json.dumps(graph),
    )
    finding = worst(names.plain(seen))
    assert (finding.level, finding.name) == ("warning", "name 'p{U+0430}y'")
    assert "'from-before'" in str(finding.value)
