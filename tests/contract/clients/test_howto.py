"""docs/howto/python-client.md and the client's README: their code does what they say."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from .bench import ROOT, Script, Server, lines, python
from .editing import Editor

pytestmark = pytest.mark.nightly  # each test starts processes
PAGE = (ROOT / "docs/howto/python-client.md").read_text()
README = (ROOT / "clients/python/README.md").read_text()


def test_the_script_of_the_page_asks_publishes_and_leaves_as_it_says(
    server: Server, script: Callable[..., Script], tmp_path: Path
) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)
    path = tmp_path / "report.py"
    path.write_text(code)
    for folder in ("machine-0", "machine-1"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "notes.txt").write_text("one two three")
    command = python(path, "notes.txt")
    assert "Which title?" in script(*command, GATEPOST_WAIT="0").end(75)
    thread = server.wait_thread("word-report", "report-notes.txt")
    server.operator.post(f"/threads/{thread}/input/", {"message": "soon, please"})
    server.decide(thread, "respond", args="Words")
    second = script(*command)
    assert server.decide(thread)["title"] == "Publish Words?"
    name = second.end().split()[-1]
    assert (tmp_path / "machine-1" / name).read_text() == "Words\n3 words"
    thoughts = [
        event["data"]["text"]
        for event in server.operator.get(f"/threads/{thread}/events/?limit=200")["results"]
        if event["kind"] == "thought.recorded"
    ]
    assert thoughts == ["notes.txt has 3 words", "somebody says: soon, please"]


@pytest.mark.browser
@pytest.mark.interop("Python")
def test_three_changed_lines_put_a_script_under_control(
    server: Server, editor: Editor, script: Callable[..., Script], tmp_path: Path
) -> None:
    """It runs without them; with them it is killed at its gate and pays elsewhere, once."""
    (diff,) = re.findall(r"^```diff\n(.*?)^```", README, re.M | re.S)
    changed = diff.splitlines()
    assert len([line for line in changed if line.startswith("+") and line != "+"]) == 3
    assert not [line for line in changed if line.startswith("-")]
    ledger = tmp_path / "paid.txt"
    world = (
        "import os, sys\nclass bank:\n    @staticmethod\n    def transfer(amount, to):\n"
        "        with open(os.environ['LEDGER'], 'a') as file: print(amount, to, file=file)\n"
        "def load(month):\n    return [{'amount': 40, 'to': 'Miller'}]\n"
    )
    before = [line for line in changed if not line.startswith("+")]

    def start(name: str, text: list[str]) -> Script:
        code = world + "\n".join(line[1:] for line in text) + "\nmain(sys.argv[1])\n"
        (tmp_path / name).write_text(code)
        return script(*python(tmp_path / name, "november"), LEDGER=str(ledger))

    start("before.py", before).end()
    assert lines(ledger) == ["40 Miller"]
    ledger.unlink()
    first = start("invoices.py", changed)
    thread = server.wait_thread("invoices", "invoices-november")
    request = server.wait_request(thread)
    assert request["title"] == "Pay 40 EUR to Miller?"
    first.kill()
    second = start("invoices.py", changed)
    editor.edit(request, {"amount": 39, "to": "Miller"}, "a discount")
    second.end()
    start("invoices.py", changed).end()
    assert lines(ledger) == ["39 Miller"]
    assert server.wait_status(thread, "succeeded")
