"""The persistence of the hot store is checked on a real server, each setting made wrong in turn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import redis
from django.core.checks import run_checks

from checkpoints.hot.persistence import ALARM_SHARE, faults, read_persistence, refusal
from dashboard.operate.doctor import hot_store as doctor
from dashboard.operate.doctor.findings import Seen
from dashboard.operate.hot_store_check import check_hot_store
from tests.faults.bench import wait_until

pytestmark = pytest.mark.requirement("A30")
CONFIGURED = ("appendonly", "appendfsync", "maxmemory", "maxmemory-policy")


@pytest.fixture(autouse=True)
def server(hot_store: redis.Redis) -> Iterator[redis.Redis]:
    """The hot store, with its configuration put right afterwards."""
    configured: dict[str, str] = hot_store.config_get("*")  # type: ignore[assignment]
    former = {name: configured[name] for name in CONFIGURED}
    yield hot_store
    for name, value in former.items():
        hot_store.config_set(name, value)
    # A file that was switched on holds nothing until it is written whole.
    wait_until(lambda: not _is_rewriting(hot_store), seconds=30, what="the file of the hot store")


def _is_rewriting(client: redis.Redis) -> bool:
    info: Any = client.info("persistence")
    return bool(info["aof_rewrite_in_progress"] or info["aof_rewrite_scheduled"])


def test_as_gatepost_starts_it_nothing_is_wrong() -> None:
    one = read_persistence()
    assert (one.appendonly, one.appendfsync, one.policy) == (True, "always", "noeviction")
    assert one.limit_bytes == 256 << 20
    assert 0 < one.used_bytes < 64 << 20
    assert not one.is_loading
    assert (faults(one), refusal(), check_hot_store()) == ([], "", [])


@pytest.mark.parametrize(
    ("name", "value", "sentence", "cure"),
    [
        ("appendonly", "no", "appendonly is off", "CONFIG SET appendonly yes"),
        ("appendfsync", "everysec", "loses up to 2 s", "CONFIG SET appendfsync always"),
        ("appendfsync", "no", "never flushes by itself", "CONFIG SET appendfsync always"),
        ("maxmemory-policy", "allkeys-lru", "streams and fences vanish", "policy noeviction"),
        ("maxmemory-policy", "allkeys-lfu", "streams and fences vanish", "policy noeviction"),
        ("maxmemory-policy", "allkeys-random", "streams and fences vanish", "policy noeviction"),
    ],
)
def test_hot_agents_are_refused_with_the_command_that_mends_it(
    server: redis.Redis, name: str, value: str, sentence: str, cure: str
) -> None:
    server.config_set(name, value)
    reason = refusal()
    assert sentence in reason
    assert f"`valkey-cli -s {server.get_connection_kwargs()['path']} CONFIG SET" in reason
    assert cure in reason
    # The command of the sentence is the cure.
    _, _, rest = cure.rpartition("policy ")
    server.config_set(name, {"appendonly": "yes", "appendfsync": "always"}.get(name, rest))
    assert refusal() == ""


def test_seconds_are_lost_only_where_the_agent_chose_it(server: redis.Redis) -> None:
    server.config_set("appendfsync", "everysec")
    assert refusal(may_lose_seconds=True) == ""
    (still_said,) = faults(read_persistence(), may_lose_seconds=True)
    assert "loses up to 2 s" in still_said.sentence
    server.config_set("appendfsync", "no")
    assert "never flushes" in refusal(may_lose_seconds=True)
    server.config_set("appendonly", "no")
    assert "appendonly is off" in refusal(may_lose_seconds=True)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("maxmemory", "0", "no limit"),
        ("maxmemory-policy", "volatile-ttl", "keys that end by themselves"),
    ],
)
def test_what_is_only_unwise_is_said_and_not_refused(
    server: redis.Redis, name: str, value: str, sentence: str
) -> None:
    server.config_set(name, value)
    (fault,) = faults(read_persistence())
    assert sentence in fault.sentence
    assert refusal() == ""


def test_a_store_that_fills_up_is_said_before_it_is_full(server: redis.Redis) -> None:
    used = read_persistence().used_bytes
    server.config_set("maxmemory", int(used / (ALARM_SHARE - 0.1)))
    assert faults(read_persistence()) == []
    server.config_set("maxmemory", int(used / (ALARM_SHARE + 0.05)))
    (fault,) = faults(read_persistence())
    assert "of its memory" in fault.sentence
    assert not fault.refuses
    server.set("room", "is left")


def test_a_server_that_hides_its_configuration(settings: Any, server: redis.Redis) -> None:
    server.acl_setuser("blind", enabled=True, nopass=True, categories=["+@all"], keys=["*"])
    server.acl_setuser("blind", enabled=True, nopass=True, commands=["-config"])
    path = server.get_connection_kwargs()["path"]
    settings.HOT_URL = f"unix://blind:x@{path}"
    try:
        assert "CONFIG GET appendfsync is refused" in refusal()
        server.acl_setuser("blind", enabled=True, nopass=True, commands=["+config|get"])
        assert refusal() == ""
    finally:
        server.acl_deluser("blind")


def test_a_server_that_is_away_cannot_be_checked(settings: Any, tmp_path: Path) -> None:
    settings.HOT_URL = f"unix://:secret@{tmp_path}/nobody.sock"
    reason = refusal()
    assert "doesn't answer" in reason
    assert "secret" not in reason
    assert check_hot_store() == []


def test_the_system_check_warns(server: redis.Redis) -> None:
    server.config_set("appendonly", "no")
    (finding,) = [one for one in run_checks() if one.id == "gatepost.W001"]
    assert "appendonly is off" in finding.msg
    assert "CONFIG SET appendonly yes" in str(finding.hint)


def seen_with(*agents: str, monkeypatch: pytest.MonkeyPatch, acknowledge: str = "buffered") -> Seen:
    rows = [SimpleNamespace(agent=name, acknowledge=acknowledge) for name in agents]
    monkeypatch.setattr(doctor, "_hot_agents", lambda _seen: rows)
    return Seen()


def test_doctor_says_it_and_judges_by_whether_agents_are_hot(
    server: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.config_set("appendonly", "no")
    for agents, level in (((), "warning"), (("ticker",), "wrong")):
        seen = seen_with(*agents, monkeypatch=monkeypatch)
        (there,) = doctor.answers(seen)
        assert (there.level, "embedded" in there.value) == ("ok", True)
        (finding,) = doctor.keeps(seen)
        assert (finding.level, "appendonly is off" in finding.value) == (level, True)
        assert "appendonly yes" in finding.do
    server.config_set("appendonly", "yes")
    (finding,) = doctor.keeps(_looked_at(monkeypatch))
    assert finding.level == "ok"


def test_doctor_says_what_may_be_lost_where_agents_chose_it(
    server: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.config_set("appendfsync", "everysec")
    seen = seen_with("ticker", "game", monkeypatch=monkeypatch, acknowledge="everysec")
    list(doctor.answers(seen))
    fault, chosen = doctor.keeps(seen)
    assert (fault.level, "loses up to 2 s" in fault.value) == ("warning", True)
    assert chosen.level == "note"
    assert "Up to about two seconds of steps that were acknowledged may be lost" in chosen.value
    assert chosen.value.endswith("These agents chose it: ticker, game.")
    # One that did not choose it is not kept as it was promised.
    seen = seen_with("ticker", monkeypatch=monkeypatch)
    list(doctor.answers(seen))
    (fault,) = doctor.keeps(seen)
    assert fault.level == "wrong"


def test_doctor_names_agents_that_stop_without_it(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.HOT_URL = f"unix://{tmp_path}/nobody.sock"
    (finding,) = doctor.answers(seen_with(monkeypatch=monkeypatch))
    assert finding.level == "note"
    seen = seen_with("ticker", "game", monkeypatch=monkeypatch)
    (finding,) = doctor.answers(seen)
    assert (finding.level, "ticker, game" in finding.value) == ("wrong", True)
    assert list(doctor.keeps(seen)) == []


def test_doctor_finds_one_server_for_both_under_two_names(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = _looked_at(monkeypatch)
    assert seen.hot_store is not None
    seen.valkey = {"run_id": seen.hot_store.run_id}
    (finding,) = doctor.keeps(seen)
    assert (finding.level, "the broker stops as well" in finding.value) == ("wrong", True)


def _looked_at(monkeypatch: pytest.MonkeyPatch) -> Seen:
    seen = seen_with(monkeypatch=monkeypatch)
    list(doctor.answers(seen))
    return seen
