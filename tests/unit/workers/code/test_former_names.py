"""What names a module as it was called before goes on: versions, settings, recorded calls."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from approvals.gates.verdict.tallies import tally_all
from checkpoints import queries
from checkpoints.states import EventKind, Status
from gatepost_agents.payments import mail
from gatepost_command import ROOT
from tests.unit.checkpoints.builders import one
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


@pytest.fixture
def thread_before(tmp_path: Path, settings: Any) -> UUID:
    """A thread at its gate, of a process that imported `agents.market_research`."""
    settings.GATEPOST_PUBLISHED = tmp_path / "published"
    history = History(3, "at-the-gate", "moved")
    assert '"agents/market_research/agent.py"' in history.text()
    thread = load(history)
    tally_all()  # as the migration does for the rows that it finds
    return thread


def of_thread(column: str, thread: UUID) -> UUID:
    result: UUID = one(f"SELECT {column} FROM gp_thread WHERE id = %s::uuid", [thread])
    return result


@pytest.mark.django_db
def test_a_thread_of_the_tree_before_goes_on_unasked(
    thread_before: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing but the place of its agent's modules is another one."""
    version = of_thread("agent_version_id", thread_before)
    code = queries.code_of_version(version)
    assert code is not None
    # The code of then, at the places of now: the agent's own has changed since.
    parts = [{**part, "file": moved_file(part["file"])} for part in code["parts"]]
    assert {Path(part["file"]).parts[0] for part in parts} == {"gatepost_agents", "tools"}
    monkeypatch.setattr(registry, "code_of", lambda *_: {**code, "former": "", "parts": parts})
    agent = registry.load([AGENT])["market-research"]
    bench = Bench(agent, of_thread("workspace_id", thread_before))
    assert version != agent.version_id
    assert version in agent.versions
    bench.decide(thread_before, "approve", "Fine.")
    assert bench.advance(thread_before).status is Status.SUCCEEDED
    (changed,) = [e for e in bench.events(thread_before) if e.kind == EventKind.CODE_CHANGED]
    assert (changed.data["by"], changed.data["from"]) == ("same", str(version))
    assert bench.intact(thread_before)
    fork = bench.fork(thread_before, 4, {})
    assert bench.advance(fork).status is Status.WAITING


def moved_file(file: str) -> str:
    """The path of a module of the tree before in that of now."""
    return file.replace("agents/", "gatepost_agents/", 1) if file.startswith("agents/") else file


@pytest.mark.django_db
def test_a_thread_of_the_tree_before_is_asked_about_where_the_code_changed_as_well(
    thread_before: UUID,
) -> None:
    """Another name excuses no other code: market research imports pandas in another place since."""
    agent = registry.load([AGENT])["market-research"]
    bench = Bench(agent, of_thread("workspace_id", thread_before))
    assert of_thread("agent_version_id", thread_before) not in agent.versions
    bench.decide(thread_before, "approve", "Fine.")
    row = bench.advance(thread_before)
    assert (row.status, row.waiting_on and row.waiting_on["kind"]) == (Status.ATTENTION, "code")
    assert bench.intact(thread_before)


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
