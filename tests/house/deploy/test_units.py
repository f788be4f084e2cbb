"""The units of docs/howto/deploy.md: systemd reads them, and they start what the image starts."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.house.deploy.containers import ROOT, compose, filled, image_command

PAGE = (ROOT / "docs/howto/deploy.md").read_text()
UNITS = dict(
    re.findall(
        r"^```ini\n# /etc/systemd/system/(gatepost-\S+\.service)\n(.*?)^```$", PAGE, re.M | re.S
    )
)


def started(unit: str) -> list[str]:
    """What a unit starts, without the path of its Python."""
    (command,) = re.findall(r"^ExecStart=\S+/python -m (.+)$", UNITS[unit], re.MULTILINE)
    return str(command).split()


def without(command: list[str], *flags: str) -> list[str]:
    """A command without these flags and their values."""
    left = list(command)
    for flag in flags:
        if flag in left:
            at = left.index(flag)
            del left[at : at + 2]
    return left


def test_they_start_what_the_containers_start() -> None:
    assert set(UNITS) == {"gatepost-web.service", "gatepost-worker@.service"}
    where = ("--host", "--hostname", "--port", "--concurrency")
    assert without(started("gatepost-web.service"), *where) == without(image_command(), *where)
    python, flag, *worker = filled(compose()["services"]["worker"]["command"], {})
    assert (python, flag) == ("python", "-m")
    assert without(started("gatepost-worker@.service"), *where) == without(worker, *where)
    for name, role in (("gatepost-web.service", "web"), ("gatepost-worker@.service", "worker")):
        assert f"GATEPOST_ROLE={role}" in UNITS[name]


def test_a_hot_store_of_ones_own_is_started_as_that_of_the_containers() -> None:
    (line,) = re.findall(r"^valkey-server (.+)$", PAGE, re.MULTILINE)
    words = line.split()
    shown = dict(zip(words[::2], words[1::2], strict=True))
    of_containers = filled(compose()["services"]["hot"]["command"], {})[1:]
    options = dict(zip(of_containers[::2], of_containers[1::2], strict=True))
    assert shown.items() <= options.items()
    assert {"--appendonly": "yes", "--appendfsync": "always"}.items() <= shown.items()


def test_whatever_ends_them_they_are_started_again() -> None:
    """By systemd without a limit of starts, after which it gives up; by the containers always."""
    for text in UNITS.values():
        assert {"Restart=always", "RestartSec=1", "StartLimitIntervalSec=0"} <= set(
            text.split("\n")
        )
    for name in ("web", "worker", "valkey", "hot", "postgres"):
        assert compose()["services"][name]["restart"] == "unless-stopped", name


@pytest.mark.parametrize("name", UNITS)
def test_systemd_reads_them(name: str, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze here")
    path = tmp_path / name.replace("@.", "@one.")
    text = UNITS[name].replace("/srv/gatepost/app/.venv/bin/python", "/bin/true")
    path.write_text(text.replace("/srv/gatepost/app", str(ROOT)))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    path.write_text(text.replace("KillMode=", "KilMode=").replace("Restart=always", "Restrat=1"))
    broken = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Restrat" in broken.stderr  # it does look
