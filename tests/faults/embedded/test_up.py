"""`up` on a real machine: everything answers, nothing stays behind, what is in the way is said."""

import http.client
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dashboard.operate.embedded.checks import is_loopback
from tests.faults.embedded.helpers import ROOT, Up, clean_environment, up, wait_until

pytestmark = [
    pytest.mark.hazard,
    pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks at processes through /proc"),
]


def status_of(port: int, path: str) -> int:
    page = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        page.request("GET", path)
        return page.getresponse().status
    finally:
        page.close()


def manage(data: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command in a second terminal."""
    return subprocess.run(
        [sys.executable, ROOT / "manage.py", *arguments],
        env=clean_environment() | {"GATEPOST_DATA": str(data)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=180,
    )


def test_one_life_of_a_data_folder(data: Path) -> None:
    """First start, second start, what stands in the way of a third, and both ways to end."""
    with up(data) as first:
        assert status_of(first.port, "/healthz") == 200
        parts = (
            "PostgreSQL",
            "Valkey",
            "hot store",
            "tables",
            "web",
            "worker with 2 slots",
            "test bank",
        )
        for word in parts:
            assert re.search(rf"✓ {word}.* \d+\.\d s", first.text), first.text
        for label in ("Dashboard", "Admin", "API docs", "Data folder", "Logs", "Stop"):
            assert re.search(rf"^  {label} +\S", first.text, re.MULTILINE)
        assert "\033" not in first.text, "no colours where no terminal is"
        logins = data / "demo-logins.txt"
        assert stat.S_IMODE(logins.stat().st_mode) == 0o600
        assert stat.S_IMODE((data / "secret-key").stat().st_mode) == 0o600
        passwords = dict(line.split() for line in logins.read_text().splitlines())
        assert set(passwords) == {"operator", "manager", "manager2", "manager3", "auditor", "admin"}
        assert not any(password in first.text for password in passwords.values())

        # A second terminal finds the same database.
        assert manage(data, "login_link", "manager").stdout.count("/welcome/?sesame=") == 1

        # The bank of the demo keeps its ledger in the data folder.
        ledger = (data / "bank" / "ledger.jsonl").read_text()
        assert ledger.count('"outcome":"opened"') == 1

        # A second `up` on the same folder names the first and changes nothing.
        second = Up(data)
        assert second.wait_ended() == 1
        assert f"already uses {data} (process {first.process.pid})" in second.text
        assert f"kill {first.process.pid}" in second.text
        assert len(second.text.strip().splitlines()) == 1
        assert status_of(first.port, "/healthz") == 200

        # Ctrl-C ends all.
        request = time.monotonic()
        first.process.send_signal(signal.SIGINT)
        assert first.wait_ended() == 0
        took = time.monotonic() - request
        assert first.leftovers() == []
        assert "Data are kept" in first.text
        assert took < 4  # the budget is 3 s on a quiet machine; benchmarks/ measures it

    with up(data) as again:
        assert logins.read_text().count("operator") == 1
        assert manage(data, "login_link", "operator").returncode == 0

        # The supervisor is killed: nothing is left a second later, and the next start is clean.
        again.process.kill()
        again.process.wait()
        took = wait_until(lambda: not again.leftovers(), seconds=20, what="the end of all parts")
        assert took < 2, again.text

    with up(data, "--model", "auto") as last:
        assert status_of(last.port, "/healthz") == 200
        # What answers on this machine is named, and so is that nothing does.
        line = r"^  Model: (none answers on this machine \(.*11434.*|\S+, .+ at http://127\.0\.0\.1:\d+)"
        wait_until(lambda: re.search(line, last.text, re.MULTILINE), seconds=30, what=last.text)
        assert (data / "bank" / "ledger.jsonl").read_text().startswith(ledger)


def test_an_installation_without_a_demo(data: Path) -> None:
    """A dead web server is replaced; `reset` refuses while it works and deletes it at rest."""
    assert "nothing was deleted" in manage(data, "reset", "--yes").stderr
    with up(data, "--no-demo") as started:
        assert "createsuperuser" in started.text
        assert "bank" not in started.text
        (web,) = [pid for pid, command in started.leftovers() if "uvicorn" in command]
        os.kill(web, signal.SIGKILL)
        wait_until(lambda: "web ended by itself" in started.text, seconds=30)

        def answers() -> bool:
            try:
                return status_of(started.port, "/healthz") == 200
            except OSError:
                return False

        wait_until(answers, seconds=20, what="a new web server")
        assert "already uses" in manage(data, "reset", "--yes").stderr
        assert (data / "secret-key").exists()
    assert manage(data, "reset", "--yes").returncode == 0
    assert not data.exists()


def test_ctrl_c_while_starting_leaves_nothing(data: Path) -> None:
    started = Up(data)
    wait_until(lambda: "PostgreSQL" in started.text, seconds=30)
    started.process.send_signal(signal.SIGINT)
    assert started.wait_ended() == 0
    assert "Ready" not in started.text
    assert started.leftovers() == []


def test_a_busy_port_is_said_before_anything_starts(data: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refused = Up(data, "--port", str(port))
        assert refused.wait_ended() == 1
    assert f"Port {port} is in use" in refused.text
    assert f"`./manage.py up --port {port + 1}`" in refused.text
    assert len(refused.text.strip().splitlines()) == 1
    assert not (data / "postgres").exists()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_demo_logins_stay_on_this_machine(data: Path, host: str) -> None:
    refused = Up(data, "--host", host)
    assert refused.wait_ended() == 1
    assert "Demo logins are for this machine only" in refused.text
    assert not (data / "postgres").exists()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost"])
def test_loopback_addresses_are_known(host: str) -> None:
    assert is_loopback(host)


def test_a_database_that_does_not_answer_is_a_sentence(data: Path) -> None:
    refused = Up(data, "--database-url", "postgres://me:hush@127.0.0.1:9/none")
    assert refused.wait_ended() == 1
    assert "PostgreSQL refuses the connection" in refused.text
    assert "hush" not in refused.text
    assert "Traceback" not in refused.text
