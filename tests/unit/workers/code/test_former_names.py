"""What names a module as it was called before goes on: versions, settings, recorded calls."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from approvals.gates.verdict.tallies import tally_all
from checkpoints.states import EventKind, Status
from gatepost_agents.payments import mail
from gatepost_command import ROOT
from tests.unit.checkpoints.builders import rows
from tests.unit.golden.make import AGENT
from tests.unit.golden.rows import History, load
from tests.unit.workers.conftest import Bench
from workers.authoring.former_names import FORMER, current_name, former_file, former_name
from workers.code import registry
from workers.slot.saga_record import resolve

# There were none in the tree before.
NEW = {"gatepost_agents.docs_chat", "gatepost_agents.connect_four"}
SHIPPED = sorted({entry.module for entry in entry_points(group=registry.SHIPPED_AGENTS)} - NEW)


@pytest.fixture
def tree_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The agents that ship where they stood before, as `agents`."""
    shutil.copytree(ROOT / "agents/gatepost_agents", tmp_path / "agents")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "agents"]:
        del sys.modules[name]


@pytest.mark.django_db
@pytest.mark.usefixtures("tree_before")
@pytest.mark.parametrize("name", SHIPPED)
def test_a_version_of_the_tree_before_is_the_same_code(name: str) -> None:
    now = registry.load([name])
    for graph, tools, parts in registry.discover([former_name(name)]):
        before = registry.announce(graph, tools, parts)
        assert before.version_id != now[graph.name].version_id
        assert before.version_id in now[graph.name].versions


@pytest.mark.django_db
def test_a_thread_of_the_tree_before_goes_on_unasked(tmp_path: Path, settings: Any) -> None:
    """Its rows were written by a process that imported `agents.market_research`."""
    settings.GATEPOST_PUBLISHED = tmp_path / "published"
    history = History(3, "at-the-gate", "moved")
    assert '"agents/market_research/agent.py"' in history.text()
    thread = load(history)
    tally_all()  # as the migration does for the rows that it finds
    (version,) = rows("SELECT agent_version_id FROM gp_thread WHERE id = %s::uuid", [thread])[0]
    (workspace,) = rows("SELECT workspace_id FROM gp_thread WHERE id = %s::uuid", [thread])[0]
    agent = registry.load([AGENT])["market-research"]
    bench = Bench(agent, workspace)
    assert version in agent.versions
    bench.decide(thread, "approve", "Fine.")
    assert bench.advance(thread).status is Status.SUCCEEDED
    (changed,) = [e for e in bench.events(thread) if e.kind == EventKind.CODE_CHANGED]
    assert (changed.data["by"], changed.data["from"]) == ("same", str(version))
    assert bench.intact(thread)
    fork = bench.fork(thread, 4, {})
    assert bench.advance(fork).status is Status.WAITING


def test_a_setting_may_name_an_agent_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django.conf.settings.GATEPOST_SHIPPED_AGENTS", False)
    named = ["agents.payments", "agents.of_mine", "gatepost_agents.payments"]
    monkeypatch.setattr("django.conf.settings.GATEPOST_AGENTS", named)
    assert registry.agent_modules() == ["gatepost_agents.payments", "agents.of_mine"]


def test_a_recorded_call_is_found_where_it_stands_now() -> None:
    assert resolve("agents.payments.mail:is_address") is mail.is_address


@pytest.mark.parametrize("former", sorted(FORMER))
def test_each_name_leads_to_a_module_that_is_there(former: str) -> None:
    assert importlib.util.find_spec(current_name(former))
    assert former_name(current_name(former)) == former


def test_other_names_stay() -> None:
    assert former_file("of_mine/agent.py") == "of_mine/agent.py"
    assert former_file("gatepost_agents/__init__.py") == "agents/__init__.py"
    assert [current_name(n) for n in ("agents", "agents.paymentsx", "contrib")] == [
        "agents",
        "agents.paymentsx",
        "contrib",
    ]
