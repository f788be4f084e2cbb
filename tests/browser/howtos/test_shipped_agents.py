"""docs/howto/shipped-agents.md: its commands are typed, its tables compared with the agents."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from gatepost import Graph
from gatepost_agents.connect_four.agent import graph as connect_four
from gatepost_agents.deep_research.agent import graph as deep_research
from tests.faults.embedded.helpers import ROOT, up, wait_until
from tests.faults.embedded.resident import Installation

pytestmark = [pytest.mark.nightly, pytest.mark.hazard]
TEXT = (ROOT / "docs/howto/shipped-agents.md").read_text()
COMMANDS = re.findall(r"^\./manage\.py (threads start ([a-z-]+).*)$", TEXT, re.MULTILINE)
HELPERS = {"package-audit", "outreach-writer"}  # agents that are started by others
PATIENCE = 300


def section(title: str) -> str:
    return TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def requests_of(here: Installation, thread: str) -> list[Any]:
    return [row for row in here("approve")["results"] if row["thread"] == thread]


def test_each_command_of_the_page_leads_to_its_gate(tmp_path: Path) -> None:
    outbox, published = tmp_path / "outbox", tmp_path / "published"
    folders = {"GATEPOST_OUTBOX": str(outbox), "GATEPOST_PUBLISHED": str(published)}
    data = tmp_path / "data"
    with up(data, environment=folders), Installation(data) as here:
        first_table = TEXT.partition("\n## ")[0]
        named = set(re.findall(r"^\| `([a-z-]+)` \|", first_table, re.MULTILINE))
        assert named | HELPERS == {agent["agent"] for agent in here("agent", "list")["results"]}
        threads = {agent: here(*shlex.split(line))["id"] for line, agent in COMMANDS}
        assert set(threads) == {"deep-research", "dependency-audit", "outreach", "connect-four"}

        research = threads["deep-research"]
        assert here.until(research, "waiting", "failed", seconds=PATIENCE)["status"] == "waiting"
        [request] = requests_of(here, research)
        assert not published.exists(), "nothing leaves before the gate"
        here("approve", request["id"], "--verdict", "approve", "--as", "manager")
        here.until(research, "succeeded")
        assert list(published.glob("*/*/report.md"))
        before = next(
            point
            for point in here("threads", "checkpoints", research)["results"]
            if point["next_nodes"] == ["publish"]
        )
        number = str(before["number"])
        here("threads", "rollback", research, number, "--reason", "as the page says", "--yes")
        here.until(research, "paused")
        assert not list(published.glob("*/*/report.md"))

        outreach = threads["outreach"]
        here.until(outreach, "succeeded")  # it handed over

        def mails() -> list[Any]:
            rows: list[Any] = here("approve")["results"]
            return [row for row in rows if row["agent"] == "outreach-writer"]

        wait_until(mails, seconds=PATIENCE, what="the first mail")
        first = mails()[0]
        assert not list(outbox.glob("*.eml"))
        here("approve", first["id"], "--verdict", "approve", "--as", "manager")
        wait_until(lambda: list(outbox.glob("*.eml")), seconds=60, what="the mail in the outbox")
        wait_until(mails, seconds=60, what="the request for the next mail")
        assert first["id"] not in {row["id"] for row in mails()}
        assert len(list(outbox.glob("*.eml"))) == 1

        games = threads["connect-four"]
        assert here.until(games, "waiting", "failed", seconds=PATIENCE)["status"] == "waiting"

        audit = threads["dependency-audit"]
        assert here.until(audit, "waiting", "failed", seconds=PATIENCE)["status"] == "waiting"


@pytest.mark.parametrize(
    ("title", "graph"), [("Deep research", deep_research), ("Connect four", connect_four)]
)
def test_the_steps_of_an_agent_are_its_nodes(title: str, graph: Graph) -> None:
    steps = re.findall(r"^\| ([a-z]+) \| (?!what)", section(title), re.MULTILINE)
    assert steps == list(graph.nodes)
