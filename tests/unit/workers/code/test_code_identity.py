"""When an agent's code is the same and when it is not: generated edits, and threads across them."""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checkpoints import queries, store
from checkpoints.code_parts import changes, summary
from checkpoints.states import EventKind
from tests.unit.workers.conftest import Bench
from workers.authoring.errors import GraphError
from workers.code import registry

AGENT = '''
"""Orders tea."""

from typing import Any

import identity_rates
from workers.node.context import Context
from workers.authoring.graph import END, Gate, Graph, State, tool

LIMIT = 3


class Order(State):
    """What it knows."""

    goal: str = "tea"
    paid: str = ""


def take_back(args: dict[str, Any], result: Any, *, key: str) -> None:
    """Undo decision."""


def later() -> None:
    """Not written yet."""


@tool("identity.pay", undo=take_back, idempotent=True)
def pay(goal: str, amount: str, *, key: str) -> str:
    """Pay it."""
    return goal


graph = Graph("identity", Order, files=["prompts/*.txt"])


@graph.node(then=END)
def buy(state: Order, ctx: Context) -> dict[str, Any]:
    """Buy."""
    from identity_late import describe

    amount = str(identity_rates.rate(state.goal) * LIMIT)
    done = ctx.effect(pay, {"goal": state.goal, "amount": amount}, gate=Gate(describe(state.goal)))
    return {"paid": done.result}
'''
FILES = {
    "identity_agent.py": AGENT,
    "identity_rates.py": (
        "from identity_deep import BASE\n\n\ndef rate(goal):\n    return BASE + len(goal)\n"
    ),
    "identity_deep.py": "BASE = 2\n",
    "identity_late.py": "def describe(goal):\n    return f'Buy {goal}?'\n",
    "identity_other.py": "NOBODY = 1\n",
    "prompts/system.txt": "You buy tea.\n",
    "prompts/notes.md": "Nobody reads this.\n",
}


def replaced(file: str, old: str, new: str) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        text = (folder / file).read_text()
        assert old in text
        (folder / file).write_text(text.replace(old, new, 1))

    return edit


def appended(file: str, text: str) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        (folder / file).write_text((folder / file).read_text() + text)

    return edit


SAME: dict[str, Callable[[Path], None]] = {
    "a comment": appended("identity_agent.py", "\n# Nothing.\n"),
    "a comment in a helper": replaced("identity_rates.py", "return", "# sums up\n    return"),
    "blank lines": replaced("identity_agent.py", "LIMIT = 3", "\n\n\nLIMIT = 3\n\n"),
    "a docstring of the module": replaced("identity_agent.py", "Orders tea.", "Orders."),
    "a docstring of a node": replaced("identity_agent.py", '"""Buy."""', '"""Buy it now."""'),
    "a docstring of the state": replaced("identity_agent.py", "What it knows.", "Its state."),
    "a docstring of an undo": replaced("identity_agent.py", "Undo decision.", "Take it back."),
    "a docstring less": replaced("identity_agent.py", '    """Not written yet."""', "    pass"),
    "formatting": replaced("identity_agent.py", 'goal: str = "tea"', "goal : str=('tea')"),
    "quotes in a helper": replaced("identity_late.py", "f'Buy {goal}?'", 'f"Buy {goal}?"'),
    "a file that nobody imports": replaced("identity_other.py", "1", "2"),
    "a file that is not declared": appended("prompts/notes.md", "Nor this."),
}
OTHER: dict[str, tuple[Callable[[Path], None], str]] = {
    "a constant": (
        replaced("identity_agent.py", "LIMIT = 3", "LIMIT = 4"),
        "LIMIT in identity_agent.py",
    ),
    "a node": (
        replaced("identity_agent.py", '"paid": done', '"goal": "", "paid": done'),
        "buy() in identity_agent.py",
    ),
    "a helper": (replaced("identity_rates.py", "len(goal)", "1"), "rate() in identity_rates.py"),
    "a helper of a helper": (replaced("identity_deep.py", "2", "3"), "BASE in identity_deep.py"),
    "what a function imports": (
        replaced("identity_late.py", "Buy", "Order"),
        "describe() in identity_late.py",
    ),
    "a docstring of a tool": (
        replaced("identity_agent.py", '"""Pay it."""', '"""Pay."""'),
        "the docstring of identity.pay in tools",
    ),
    "a prompt": (appended("prompts/system.txt", "Ask first.\n"), "prompts/system.txt"),
    "a prompt more": (
        lambda f: (f / "prompts/more.txt").write_text("x") and None,
        "prompts/more.txt (added)",
    ),
    "a channel": (
        replaced("identity_agent.py", 'paid: str = ""', 'paid: str = ""\n    by: str = ""'),
        "class Order in identity_agent.py",
    ),
    "an import": (
        replaced("identity_agent.py", "import identity_rates", "import identity_rates, json"),
        "imports in identity_agent.py",
    ),
    "a function more": (
        appended("identity_rates.py", "\n\ndef more():\n    pass\n"),
        "more() in identity_rates.py (added)",
    ),
}


def write(folder: Path) -> None:
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def forget() -> None:
    for name in [n for n in sys.modules if n.startswith("identity_")]:
        del sys.modules[name]
    importlib.invalidate_caches()


def imported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The agent's module as a fresh process would have it from this folder."""
    forget()
    with monkeypatch.context() as patch:
        patch.syspath_prepend(str(folder))
        return importlib.import_module("identity_agent")


def code_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, dict[str, Any]]:
    """(fingerprint, code) of the agent in this folder."""
    module = imported(folder, monkeypatch)
    with monkeypatch.context() as patch:
        patch.syspath_prepend(str(folder))
        return registry.fingerprint_of(module.graph, [module]), registry.code_of(
            module.graph, [module]
        )


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield
    forget()


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("identity")


@pytest.mark.nightly
@given(
    same=st.lists(st.sampled_from(sorted(SAME)), unique=True, max_size=5),
    other=st.lists(st.sampled_from(sorted(OTHER)), unique=True, max_size=3),
    subfolder=st.sampled_from(["here", "there/deeper"]),
)
@settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_the_verdict_on_any_edits(
    ground: Path, monkeypatch: pytest.MonkeyPatch, same: list[str], other: list[str], subfolder: str
) -> None:
    shutil.rmtree(ground, ignore_errors=True)
    write(ground)
    was, before = code_in(ground, monkeypatch)
    folder = ground / subfolder
    write(folder)
    for name in same:
        SAME[name](folder)
    for name in other:
        OTHER[name][0](folder)
    now, after = code_in(folder, monkeypatch)
    assert (now == was) == (not other), (same, other)
    names = {str(change) for change in changes(before, after)}
    assert names == {OTHER[name][1] for name in other}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SAME))
def test_what_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    write(tmp_path)
    before = code_in(tmp_path, monkeypatch)[0]
    SAME[name](tmp_path)
    assert code_in(tmp_path, monkeypatch)[0] == before


@pytest.mark.parametrize("name", sorted(OTHER))
def test_what_is_not_the_same_and_how_it_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    write(tmp_path)
    was, before = code_in(tmp_path, monkeypatch)
    edit, called = OTHER[name]
    edit(tmp_path)
    now, after = code_in(tmp_path, monkeypatch)
    assert now != was
    assert summary(changes(before, after)) == called


def test_what_does_not_parse_counts_byte_by_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path)
    (tmp_path / "identity_late.py").write_text("def (:\n")
    before = code_in(tmp_path, monkeypatch)[0]
    (tmp_path / "identity_late.py").write_text("def (:  # other\n")
    assert code_in(tmp_path, monkeypatch)[0] != before


def test_packages_of_others_are_noted_and_gatepost_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path)
    appended("identity_rates.py", "import httpx, os, workers.authoring.graph\n")(tmp_path)
    _, code = code_in(tmp_path, monkeypatch)
    assert list(code["packages"]) == ["httpx"]
    files = {part["file"] for part in code["parts"]}
    own = {name for name in FILES if "other" not in name and ".md" not in name}
    assert files == own | {registry.TOOL_TEXTS}


def test_a_glob_without_a_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path)
    (tmp_path / "prompts/system.txt").unlink()
    with pytest.raises(GraphError, match=r"'prompts/\*.txt' names no file"):
        code_in(tmp_path, monkeypatch)


# ---- threads across a change --------------------------------------------------------------------


class Release:
    """The agent in a folder, installed anew after each edit."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self._monkeypatch = folder, monkeypatch
        write(folder)
        self.bench = Bench(self._agent(), store.create_workspace("identity", actor="user:0"))

    def _agent(self) -> Any:
        module = imported(self.folder, self._monkeypatch)
        with self._monkeypatch.context() as patch:
            patch.syspath_prepend(str(self.folder))
            return registry.announce(module.graph, {"identity.pay": module.pay}, [module])

    def edit(self, *edits: Callable[[Path], None]) -> None:
        for edit in edits:
            edit(self.folder)
        self.bench.agent = self._agent()

    def advance(self, thread: Any) -> Any:
        # The node imports when it works.
        sys.path.insert(0, str(self.folder))
        try:
            return self.bench.advance(thread)
        finally:
            sys.path.remove(str(self.folder))

    def accept(self, thread: Any) -> None:
        row, agent = self.bench.row(thread), self.bench.agent
        store.accept(
            thread,
            former=row.agent_version_id,
            version=agent.version_id,
            fingerprint=agent.fingerprint,
            queue="gatepost",
            actor="user:1",
        )


@pytest.fixture
def release(db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Release:
    return Release(tmp_path, monkeypatch)


def as_before(release: Release) -> Any:
    """The version that the release before this rule announced for the same sources."""
    agent = release.bench.agent
    row = queries.agent_version(agent.version_id)
    former = agent.code["former"]
    known = ("agent", "version", "label", "description", "schema_version", "schema", "channels")
    more = {name: getattr(row, name) for name in (*known, "graph", "tools", "queue")}
    return store.announce_version(**more, fingerprint=former)


@pytest.mark.parametrize("comment", [False, True])
def test_threads_of_the_former_fingerprint_go_on_unasked(release: Release, comment: bool) -> None:
    bench = release.bench
    former = as_before(release)
    thread = store.start(
        former, input={}, workspace=bench.workspace, actor="user:1", title="from before"
    )
    release.edit(*([SAME["a comment"]] if comment else []))
    assert former in bench.agent.versions
    assert release.advance(thread).status == "waiting"
    (changed,) = [e for e in bench.events(thread) if e.kind == EventKind.CODE_CHANGED]
    assert (changed.data["by"], changed.data["from"]) == ("same", str(former))
    bench.decide(thread, "approve")
    assert release.advance(thread).status == "succeeded"
    assert bench.intact(thread)


def test_a_changed_helper_stops_it_and_is_named(release: Release) -> None:
    thread = release.bench.start()
    release.advance(thread)
    release.bench.decide(thread, "approve")
    release.edit(OTHER["a helper"][0], OTHER["a prompt"][0])
    row = release.advance(thread)
    assert row.status == "attention"
    assert "Changed: rate() in identity_rates.py, prompts/system.txt." in row.status_reason


def test_a_decision_holds_under_accepted_code_where_the_bytes_are_the_same(
    release: Release,
) -> None:
    bench = release.bench
    thread = bench.start()
    release.advance(thread)
    bench.decide(thread, "approve", "fine")
    for edit in ("a prompt", "what a function imports"):
        release.edit(OTHER[edit][0])
        assert release.advance(thread).status == "attention"
        release.accept(thread)
    row = release.advance(thread)
    assert row.status == "succeeded", row.status_reason
    assert [a.status for a in bench.approvals(thread)] == ["settled"]
    assert bench.intact(thread)


def test_where_the_bytes_differ_it_is_asked_anew_and_says_why(release: Release) -> None:
    bench = release.bench
    thread = bench.start()
    release.advance(thread)
    bench.decide(thread, "approve")
    release.edit(OTHER["a helper"][0])
    assert release.advance(thread).status == "attention"
    release.accept(thread)
    assert release.advance(thread).status == "waiting"
    again = bench.open(thread)
    assert again.args["amount"] == "9"
    assert "what would be done is no longer what was asked" in again.description


def test_code_that_only_its_rule_let_go_on_asks_anew(release: Release) -> None:
    bench = release.bench
    release.edit(replaced("identity_agent.py", "files=[", 'on_code_change="go_on", files=['))
    thread = bench.start()
    release.advance(thread)
    bench.decide(thread, "approve")
    release.edit(OTHER["a prompt"][0])
    assert release.advance(thread).status == "waiting"
    assert "the agent's code changed since" in bench.open(thread).description


@pytest.mark.django_db
def test_a_worker_can_leave_out_the_agents_that_ship(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django.conf.settings.GATEPOST_AGENTS", ["gatepost_agents.payments"])
    shipped = entry_points(group=registry.SHIPPED_AGENTS)
    assert len(shipped) == 7
    assert {entry.module for entry in shipped} <= set(registry.agent_modules())
    monkeypatch.setattr("django.conf.settings.GATEPOST_SHIPPED_AGENTS", False)
    assert registry.agent_modules() == ["gatepost_agents.payments"]
    assert set(registry.load()) == {"payments"}
