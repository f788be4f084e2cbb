"""The hot store of a real `up`: killed it comes back with its data, damaged it is set aside."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
import redis

from dashboard.operate.embedded.damaged_files import FILES, damages
from dashboard.operate.embedded.process.folders import folders
from tests.faults.embedded.helpers import up, wait_until
from tests.faults.embedded.test_doctor import manage

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.hazard,
    pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks at processes through /proc"),
]


@pytest.mark.requirement("A30")
def test_one_life_of_a_hot_store(data: Path) -> None:
    places = folders(data)
    client = redis.Redis(unix_socket_path=str(places.hot_socket))
    with up(data, "--no-demo") as first:
        for number in range(1, 2_001):
            client.xadd("s:thread", {"s": number})
        client.hset("m:thread", mapping={"token": "lease-1", "seq": 2_000})
        (killed,) = {pid for pid, line in first.leftovers() if str(places.hot_socket) in line}
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: "Hot store ended by itself (signal SIGKILL)" in first.text, seconds=20)
        wait_until(lambda: alive(client), seconds=60)
        assert client.xlen("s:thread") == 2_000
        assert client.hget("m:thread", "seq") == b"2000"
        report = json.loads(manage(data, "doctor", "--json").stdout)
        levels = [(f["part"], f["level"]) for f in report["findings"] if f["name"] == "hot store"]
        assert levels == [("reachable", "ok"), ("unsafe", "ok")]
    (file,) = (places.hot / FILES).glob("*.incr.aof")
    with file.open("r+b") as opened:
        opened.seek(20_000)
        opened.write(bytes(4_096))
    with up(data, "--no-demo") as second:
        assert "Hot store: Its files were damaged" in second.text
        assert client.dbsize() == 0
        (case,) = damages(places.hot)
        assert f"{case.folder}" in second.text
        findings = json.loads(manage(data, "doctor", "--json").stdout)["findings"]
        (finding,) = [f for f in findings if f["name"] == "files of the hot store"]
        assert (finding["level"], "began empty" in finding["value"]) == ("warning", True)
        assert not [pid for pid, line in second.leftovers() if pid == killed]
        assert "ended by itself" not in second.text


def alive(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False
