"""Where `gatepost-agents` is not installed: no agent of the demo, no bank, and a sentence."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from dashboard.operate.doctor import bank
from dashboard.operate.doctor.findings import Seen
from dashboard.operate.embedded.arguments import (
    DEMO_AGENT,
    UpOptions,
    from_command_line,
    into_environment,
)
from dashboard.operate.embedded.checks import check_agents
from dashboard.operate.embedded.process.folders import EmbeddedError


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> UpOptions:
    """Those of `up --fleet`, where the package cannot be found."""
    monkeypatch.setitem(sys.modules, "gatepost_agents", None)
    for name in ("GATEPOST_DATA", "EMAIL_URL", "GATEPOST_UNDO_WINDOWS"):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("GATEPOST_AGENTS", "mine")
    return from_command_line(["--fleet", "--data-dir", str(tmp_path)])


def test_workers_are_not_told_of_the_agent_of_the_demo(
    options: UpOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    into_environment(options)
    assert os.environ["GATEPOST_AGENTS"] == "mine"
    monkeypatch.delitem(sys.modules, "gatepost_agents")
    into_environment(options)
    assert os.environ["GATEPOST_AGENTS"] == f"mine,{DEMO_AGENT}"


def test_a_fleet_is_refused(options: UpOptions) -> None:
    with pytest.raises(EmbeddedError, match="The package gatepost-agents is not installed: "):
        check_agents(options)


def test_the_doctor_asks_for_no_bank(options: UpOptions) -> None:
    (finding,) = bank.answers(Seen())
    assert (finding.level, finding.value.partition(":")[0]) == ("ok", "none needed")
