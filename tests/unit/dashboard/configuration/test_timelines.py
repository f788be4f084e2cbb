"""Of the hosts of an address, the one that was promoted last is connected to."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from django.db import connection
from psycopg import OperationalError

from dashboard.configuration import timelines
from dashboard.configuration.timelines import Host, Seen, connect_to_newest, listed_hosts

pytestmark = pytest.mark.requirement("A09")
HOSTS: list[Host] = [("a", "1"), ("b", "2")]


@pytest.mark.parametrize(
    ("address", "listed"),
    [
        ("host=a,b port=1,2 target_session_attrs=read-write", HOSTS),
        ("host=a,b port=1 target_session_attrs=primary", [("a", "1"), ("b", "1")]),
        ("host=a,b target_session_attrs=read-write", [("a", ""), ("b", "")]),
        ("host=a,b port=1,2", []),
        ("host=a,b hostaddr=::1,::2 target_session_attrs=read-write", []),
        ("host=a port=1 target_session_attrs=read-write", []),
        ("", []),
    ],
)
def test_only_a_list_that_wants_the_primary_is_compared(address: str, listed: list[Host]) -> None:
    assert listed_hosts(address, {}) == listed


@pytest.mark.django_db
def test_any_role_may_read_the_timeline() -> None:
    """As the runtime role has to; the server of the tests was never promoted."""
    with psycopg.connect(**connection.get_connection_params()) as session:
        session.execute("CREATE ROLE nobody_special")
        session.execute("SET ROLE nobody_special")
        row = session.execute(timelines.TIMELINE).fetchone()
        session.rollback()
    assert row == (1,)


class Servers:
    """Servers by host, each with its timeline; 0 is away."""

    def __init__(self, **lines: int) -> None:
        self.lines = lines
        self.calls: list[str] = []
        self.open: list[Any] = []

    def connect(self, *, host: str, port: str, **_options: Any) -> Any:
        self.calls.append(host)
        if not self.lines[host]:
            raise OperationalError(f"{host} is away")
        made = SimpleNamespace(info=SimpleNamespace(host=host, port=port))
        made.close = lambda: self.open.remove(made)
        self.open.append(made)
        return made

    def line(self, connection: Any) -> int:
        return self.lines[connection.info.host]


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Servers]:
    monkeypatch.setattr(timelines, "seen", Seen())

    def made(**lines: int) -> Servers:
        result = Servers(**lines)
        monkeypatch.setattr(timelines, "timeline_of", result.line)
        return result

    return made


def host(servers: Servers) -> str:
    return str(connect_to_newest(HOSTS, servers.connect)[0].info.host)


def test_the_one_promoted_last_is_taken(servers: Callable[..., Servers]) -> None:
    both = servers(a=1, b=2)
    assert host(both) == "b"
    assert [one.info.host for one in both.open] == ["b"]
    # The other is not asked again with each connection.
    assert (host(both), both.calls) == ("b", ["a", "b", "b"])


def test_a_former_primary_is_refused_while_the_other_is_away(
    servers: Callable[..., Servers],
) -> None:
    assert host(servers(a=1, b=2)) == "b"
    alone = servers(a=1, b=0)
    with pytest.raises(OperationalError, match="another host was promoted since"):
        host(alone)
    assert alone.open == []
    assert host(servers(a=3, b=0)) == "a"


def test_a_promotion_is_found_behind_a_former_primary(servers: Callable[..., Servers]) -> None:
    assert host(servers(a=1, b=0)) == "a"
    timelines.seen.looked_at = -timelines.LOOK_SECONDS
    assert host(servers(a=1, b=2)) == "b"


def test_two_ways_to_one_server_are_no_two_primaries(
    servers: Callable[..., Servers], caplog: pytest.LogCaptureFixture
) -> None:
    assert host(servers(a=7, b=7)) == "a"
    assert "two_primaries" not in caplog.text
    timelines.seen.looked_at = -timelines.LOOK_SECONDS
    assert host(servers(a=7, b=8)) == "b"
    assert "two_primaries" in caplog.text


def test_no_host_at_all_says_why(servers: Callable[..., Servers]) -> None:
    with pytest.raises(OperationalError, match="a is away; b is away"):
        host(servers(a=0, b=0))
