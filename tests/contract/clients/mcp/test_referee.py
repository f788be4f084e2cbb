"""An outside referee, jbt-mcpcheck, judges the server by the revision 2026-07-28 of MCP."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.contract.clients.bench import Server
from tools import environments

pytestmark = pytest.mark.nightly

LOCK = Path(__file__).parent / "referee" / "requirements.lock"
CHECKS = {"handshake", "session", "discover", "protocol", "schemas", "errors", "cache", "origin"}


def report(server: Server, token: str, *more: str) -> tuple[int, dict[str, Any]]:
    """(exit status, the report of the referee)."""
    interpreter = environments.python("mcpcheck", LOCK)
    done = subprocess.run(
        [str(interpreter), "-m", "mcpcheck", f"{server.url}/mcp/", "--json", *more],
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "MCPCHECK_TOKEN": token},
        check=False,
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def test_the_referee_finds_nothing(server: Server) -> None:
    """Warnings count as well; also every tool is called with arguments that do not fit."""
    status, verdict = report(
        server, server.operator.token, "--strict", "--probe", "all", "--legacy-probes"
    )
    assert {check["name"] for check in verdict["checks"]} == CHECKS
    faults = {
        check["name"]: check["failures"] + check["warnings"]
        for check in verdict["checks"]
        if check["status"] != "pass"
    }
    assert (status, faults) == (0, {})


def test_the_referee_would_say_so(server: Server) -> None:
    """Without a token it verifies nothing, and does not pass."""
    status, _ = report(server, "gp_" + "a" * 8 + "_" + "A" * 43)
    assert status != 0
