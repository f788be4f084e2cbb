"""docs/howto/langgraph.md: three changed lines, a gate, kill -9, an edit, another process, once.

Its section on the store: tests/unit/contrib/langgraph/inside/test_store_elsewhere.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.contract.clients.bench import LEASE_SECONDS, ROOT, Script, Server, lines, pause
from tests.contract.clients.editing import Editor

pytestmark = pytest.mark.slow  # each test starts processes
PAGE = (ROOT / "docs/howto/langgraph.md").read_text()

LOOK_UP = "def look_up(state: State):\n"


def controlled(path: Path) -> Path:
    """The agent of the page with the three lines of its diff changed."""
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)
    (diff,) = re.findall(r"^```diff\n(.*?)^```", PAGE, re.M | re.S)
    changed = diff.splitlines()
    assert [line[0] for line in changed] == ["-", "+"] * 3
    for old, new in zip(changed[::2], changed[1::2], strict=True):
        assert code.count(f"{old[1:]}\n") == 1
        code = code.replace(old[1:], new[1:])
    path.write_text(code)
    return path


@pytest.mark.browser
@pytest.mark.requirement("A40")
@pytest.mark.interop("LangGraph")
def test_an_agent_with_three_changed_lines_is_stopped_killed_edited_and_acts_once(
    server: Server, editor: Editor, langgraph: Callable[..., Script], tmp_path: Path
) -> None:
    agent = controlled(tmp_path / "refunds.py")
    bank = tmp_path / "bank"
    bank.mkdir()

    def start(machine: str, **more: str) -> Script:
        return langgraph(str(agent), "order-7", folder=machine, **more)

    first = start("one")
    thread = server.wait_thread("refunds", "order-7")
    row = server.wait_request(thread)
    assert row["title"] == "Refund 40 EUR for order-7?"
    assert server.state(thread)["amount"] == 40
    first.kill()
    editor.edit(row, {"order": "order-7", "amount": 30})
    second = start("two")
    assert "'receipt': '30 EUR'" in second.end()
    assert lines(second.folder / "refunds.txt") == ["order-7 30"]
    assert not (first.folder / "refunds.txt").exists()
    assert server.wait_status(thread, "succeeded")
    assert "'receipt': '30 EUR'" in start("three").end()  # it only answers
    assert server.verify(thread)["intact"] is True


@pytest.mark.nightly
def test_killed_while_it_works_another_process_goes_on_and_acts_once(
    server: Server, langgraph: Callable[..., Script], tmp_path: Path
) -> None:
    agent = controlled(tmp_path / "refunds.py")
    pausing = "    time.sleep(float(sys.argv[2]))\n"
    code = agent.read_text().replace("import sys\n", "import sys\nimport time\n")
    agent.write_text(code.replace(LOOK_UP, LOOK_UP + pausing))
    first = langgraph(str(agent), "order-8", "60", folder="one")
    thread = server.wait_thread("refunds", "order-8")
    server.wait(lambda: server.thread("refunds", "order-8")["step"] >= 1)
    first.kill()
    pause(LEASE_SECONDS)
    langgraph(str(agent), "order-8", "0", folder="two", GATEPOST_WAIT="9").end(75)
    server.decide(thread)
    third = langgraph(str(agent), "order-8", "0", folder="three")
    assert "'receipt': '40 EUR'" in third.end()
    assert lines(third.folder / "refunds.txt") == ["order-8 40"]
