"""The embedded Valkey keeps what it was told, and only its owner can reach it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from dashboard.operate.embedded.process.folders import folders, prepare
from dashboard.operate.embedded.valkey import Valkey

pytestmark = pytest.mark.nightly


@pytest.fixture
def valkey(data: Path) -> Iterator[Valkey]:
    places = folders(data)
    prepare(places)
    server = Valkey(places)
    server.start()
    server.wait()
    yield server
    server.stop()


def client(server: Valkey) -> redis.Redis:
    return redis.Redis(unix_socket_path=str(server.places.valkey_socket))


def test_what_was_written_survives_a_kill(valkey: Valkey) -> None:
    with client(valkey) as connection:
        connection.set("kept", "yes")
        assert connection.config_get("appendonly") == {"appendonly": "yes"}
        assert connection.config_get("appendfsync") == {"appendfsync": "everysec"}
    assert valkey.process is not None
    valkey.process.kill()
    valkey.process.wait()
    valkey.start()
    valkey.wait()
    with client(valkey) as connection:
        assert connection.get("kept") == b"yes"


def test_nothing_listens_on_a_port(valkey: Valkey) -> None:
    with client(valkey) as connection:
        assert connection.config_get("port") == {"port": "0"}
    assert valkey.places.valkey_socket.stat().st_mode & 0o777 == 0o700
