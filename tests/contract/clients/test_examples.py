"""The examples in bash, JavaScript and Python: killed at the gate, resumed, paid once."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from .bench import EXAMPLES, Script, Server, lines, python
from .editing import Editor

pytestmark = pytest.mark.slow  # each test starts processes
COMMANDS = {
    "python": python(EXAMPLES / "invoices.py"),
    "curl": ["bash", str(EXAMPLES / "invoices.sh")],
    "node": ["node", str(EXAMPLES / "invoices.mjs")],
}
AGENTS = {
    "python": "invoices-in-python",
    "curl": "invoices-in-bash",
    "node": "invoices-in-node",
}
PROGRAMS = {"python": (), "curl": ("curl", "jq", "bash"), "node": ("node",)}


@pytest.mark.browser
@pytest.mark.parametrize(
    "client",
    [
        "python",
        pytest.param("curl", marks=pytest.mark.interop("curl")),
        pytest.param("node", marks=pytest.mark.interop("node")),
    ],
)
def test_an_example_is_killed_at_its_gate_and_pays_once_what_was_approved(
    client: str, server: Server, editor: Editor, script: Callable[..., Script], tmp_path: Path
) -> None:
    missing = [name for name in PROGRAMS[client] if shutil.which(name) is None]
    if missing:
        pytest.skip(f"NO {' '.join(missing).upper()}: install it to try the example")
    ledger = tmp_path / "paid.txt"

    def start(machine: str) -> Script:
        return script(*COMMANDS[client], "november", folder=machine, LEDGER=str(ledger))

    first = start("one")
    thread = server.wait_thread(AGENTS[client], "november")
    request = server.wait_request(thread)
    assert request["title"] == "Pay 42 EUR?"
    first.kill()
    second = start("two")
    editor.edit(request, {"amount": 41}, "a discount")
    text = second.end()
    assert "ended:" in text
    assert "adding up" not in text
    assert [line.split()[0] for line in lines(ledger)] == ["41"]
    assert server.wait_status(thread, "succeeded")
    assert server.state(thread)["steps"] == {"add_up": 42, "pay": {"paid": 41}}
    assert "ended:" in start("three").end()
    assert len(lines(ledger)) == 1


@pytest.mark.parametrize("client", COMMANDS)
def test_a_refused_payment_is_not_made(
    client: str, server: Server, script: Callable[..., Script], tmp_path: Path
) -> None:
    ledger = tmp_path / "paid.txt"
    refused = script(*COMMANDS[client], "december", LEDGER=str(ledger))
    thread = server.wait_thread(AGENTS[client], "december")
    server.decide(thread, "reject", comment="twice")
    assert "twice" in refused.end(1)
    assert lines(ledger) == []
    assert server.wait_status(thread, "failed")
