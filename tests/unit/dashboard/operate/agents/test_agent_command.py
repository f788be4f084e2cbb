"""`agent`: a module is checked in a process of its own; what workers announced is shown."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command
from django.db import connection

from checkpoints import queries
from tests.support.cast import Cast
from tests.unit.dashboard import scene
from tests.unit.dashboard.terminals import environment, manage
from workers.checking.modules import examine
from workers.code import registry

SOUND = """
from typing import Annotated, Any

from workers.node.context import Context
from workers.authoring.graph import END, Append, Gate, Graph, State, tool


class Order(State):
    goal: str = "tea"
    notes: Annotated[list[str], Append()] = []


def take_back(args: dict[str, Any], result: Any, *, key: str) -> None: ...


@tool("order.place", undo=take_back, idempotent=True)
def place(goal: str, *, key: str) -> str:
    return goal


graph = Graph("orders", Order, version=1)


@graph.node(then="buy")
def price(state: Order, ctx: Context) -> dict[str, Any]:
    return {"notes": ["found"]}


@graph.node(then=END)
def buy(state: Order, ctx: Context) -> dict[str, Any]:
    ctx.effect(place, {"goal": state.goal}, gate=Gate("Place it?"))
    return {}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where modules lie that a child process finds."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path


def checked(*words: str) -> tuple[int, Any]:
    """(exit code, the JSON answer)."""
    out = io.StringIO()
    try:
        call_command("agent", "check", *words, "--json", stdout=out, stderr=io.StringIO())
    except SystemExit as ended:
        return int(ended.code or 0), json.loads(out.getvalue())
    return 0, json.loads(out.getvalue())


@pytest.mark.nightly
def test_a_sound_agent(folder: Path, cast: Cast) -> None:
    (folder / "sound.py").write_text(SOUND)
    code, payload = checked("sound")
    assert (code, payload["ok"], payload["findings"]) == (0, True, [])
    (agent,) = payload["agents"]
    assert (agent["name"], agent["compared"], agent["nodes"]) == ("orders", "new", ["price", "buy"])
    assert len(agent["fingerprint"]) == 64
    assert "sound" not in sys.modules, "the web and its commands never import an agent"


WRONG = {
    "leads to a node that is not there": (
        ('then="buy"', 'then="by"'),
        ("error", "node price", "leads to 'by'", True),
    ),
    "cannot be reached": (
        ('then="buy"', "then=END"),
        ("warning", "node buy", "No way from 'price' leads here", True),
    ),
    "never ends": (
        ("then=END", 'then="price"'),
        ("warning", "graph", "No way leads to END", False),
    ),
    "async node": (
        ("def buy(", "async def buy("),
        ("error", "node buy", "plain function", True),
    ),
    "node without context": (
        ("def price(state: Order, ctx: Context)", "def price(state: Order)"),
        ("error", "node price", "cannot be called", True),
    ),
    "illegal name": (
        ('Graph("orders"', 'Graph("my orders"'),
        ("error", "graph", "cannot be used", False),
    ),
    "a name of Gatepost's own": (
        ('Graph("orders"', 'Graph("saga"'),
        ("error", "graph", "is Gatepost's own", False),
    ),
    "version of no use": (
        ("version=1", "version=0"),
        ("error", "graph", "version is 0", False),
    ),
    "default of another type": (
        ('goal: str = "tea"', "goal: int = 'tea'"),
        ("error", "channel goal", "valid integer", True),
    ),
    "schema that is no JSON": (
        ('goal: str = "tea"', "goal: Any = object()"),
        ("error", "state", "no JSON Schema", True),
    ),
    "schema version without upgrades": (
        ("version=1", "version=1, schema_version=2"),
        ("warning", "state", "No upgrade from schema 1 to 2", True),
    ),
    "tool without key": (
        ("def place(goal: str, *, key: str)", "def place(goal: str)"),
        ("error", "tool order.place", "takes no `key`", True),
    ),
    "undo that cannot be called": (
        ("def take_back(args: dict[str, Any], result: Any, *, key: str)", "def take_back(args)"),
        ("error", "undo of order.place", "cannot be called", True),
    ),
    "effect without undo": (
        ("undo=take_back, ", ""),
        ("warning", "tool order.place", "no undo", True),
    ),
    "effect without gate": (
        (', gate=Gate("Place it?")', ""),
        ("warning", "effect in wrong", "without anybody's decision", True),
    ),
    "effect that is no tool": (
        ("ctx.effect(place", "ctx.effect(take_back"),
        ("error", "effect in wrong", "take_back is not a tool", True),
    ),
    "two nodes of one name": (
        ("def buy(", "def price("),
        ("error", "module wrong", "two nodes named 'price'", True),
    ),
    "syntax": (
        ("graph = Graph(", "graph == = Graph("),
        ("error", "module wrong", "invalid syntax", True),
    ),
    "fails at import": (
        ("class Order", "1 / 0\nclass Order"),
        ("error", "module wrong", "ZeroDivisionError", True),
    ),
    "needs what is not there": (
        ("class Order", "import nowhere_at_all\nclass Order"),
        ("error", "module wrong", "needs 'nowhere_at_all'", False),
    ),
    "leaves by SystemExit": (
        ("class Order", "raise SystemExit('no')\nclass Order"),
        ("error", "module wrong", "SystemExit: no", True),
    ),
    "no graph": (
        ("graph = Graph", "graph = str; other = [].append if 1 else Graph"),
        ("error", "module wrong", "", False),
    ),
    "name of a shipped agent": (
        ('Graph("orders"', 'Graph("market-research"'),
        ("error", "graph", "holds an agent of this name too", False),
    ),
}


@pytest.mark.nightly
@pytest.mark.parametrize("case", WRONG)
def test_what_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    """In this process, for the time that it saves; the test after the next goes the whole way."""
    (old, new), (level, location, message, lined) = WRONG[case]
    assert old in SOUND
    (tmp_path / "wrong.py").write_text(SOUND.replace(old, new))
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        payload = examine("wrong")
    finally:
        sys.modules.pop("wrong", None)
    match = [
        f
        for f in payload["findings"]
        if f["level"] == level and f["place"] == location and message in f["said"]
    ]
    assert match, payload["findings"]
    assert all(f["fix"] for f in match)
    if lined:
        lines = (tmp_path / "wrong.py").read_text().splitlines()
        assert 0 < match[0]["line"] <= len(lines)
        assert match[0]["file"].endswith("wrong.py")


def test_only_the_context_has_effects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another object's `effect` is nobody's business; another name of the context is."""
    lines = SOUND.replace("ctx: Context", 'c: "Context"').replace(
        "ctx.effect(place", "c.effect(take_back"
    )
    other = lines.replace("graph = Graph", "picture = Order\ngraph = Graph").replace(
        'return {"notes": ["found"]}', "picture.effect(take_back)"
    )
    (tmp_path / "wrong.py").write_text(other)
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        payload = examine("wrong")
    finally:
        sys.modules.pop("wrong", None)
    (error,) = [f for f in payload["findings"] if f["level"] == "error"]
    assert error["said"] == "take_back is not a tool."
    assert "c.effect" in other.splitlines()[error["line"] - 1]


@pytest.mark.nightly
def test_exit_codes(folder: Path, cast: Cast) -> None:
    (folder / "ends.py").write_text("import os; os._exit(7)\n")
    (folder / "warned.py").write_text(SOUND.replace("undo=take_back, ", ""))
    code, payload = checked("ends", "warned")
    assert (code, payload["ok"], payload["modules"]) == (1, False, ["ends", "warned"])
    assert "ended the process (exit 7)" in payload["findings"][0]["said"]
    assert [f["level"] for f in payload["findings"]] == ["error", "warning"]
    assert checked("warned")[0] == 0
    assert checked("warned", "--strict")[0] == 1


@pytest.mark.nightly
def test_what_an_author_prints_does_no_harm_and_time_is_limited(folder: Path, cast: Cast) -> None:
    (folder / "loud.py").write_text("print('{\"agents\": []}')\n" + SOUND)
    assert checked("loud")[1]["agents"][0]["name"] == "orders"
    (folder / "slow.py").write_text("import time\ntime.sleep(600)\n")
    code, payload = checked("slow", "--timeout", "4")
    assert code == 1
    assert "longer than 4 s" in payload["findings"][0]["said"]
    code, payload = checked("not_there.at_all")
    assert "no module 'not_there'" in payload["findings"][0]["said"]


@pytest.mark.nightly
def test_compared_with_what_workers_announced(
    folder: Path, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The very fingerprint that a worker would announce; afterwards the code moves on."""
    (folder / "compared.py").write_text(SOUND)
    monkeypatch.syspath_prepend(str(folder))
    version = registry.load(["compared"])["orders"].version_id
    sys.modules.pop("compared")
    code, payload = checked("compared")
    assert (code, payload["agents"][0]["compared"], payload["findings"]) == (0, "same", [])
    scene.start(cast.workspace, version)
    changed = SOUND.replace('"found"', '"found more"')
    (folder / "compared.py").write_text(changed)
    code, payload = checked("compared")
    (agent,) = payload["agents"]
    assert (code, agent["compared"], agent["unfinished"]) == (0, "changed", 1)
    assert payload["findings"][0]["said"] == "1 thread stopped with other code."
    assert payload["findings"][1]["said"].endswith(": price() in compared.py.")
    (folder / "compared.py").write_text(changed.replace('"tea"', '"tea"\n    more: int = 0'))
    _, payload = checked("compared")
    assert "schema_version is still 1" in payload["findings"][0]["said"]
    assert payload["findings"][0]["level"] == "warning"
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE gp_agent_version DISABLE TRIGGER USER")
        cursor.execute("UPDATE gp_agent_version SET schema_version = 3, version = 9")
    code, payload = checked("compared")
    messages = [f["said"] for f in payload["findings"]]
    assert code == 1
    assert any("schema 3, newer than this code" in text for text in messages)
    assert any("Version 9 is announced already" in text for text in messages)


@pytest.mark.nightly
def test_without_a_database_it_is_checked_all_the_same(folder: Path) -> None:
    """It says once, for all agents, that it compared none with what is announced."""
    (folder / "sound.py").write_text(SOUND)
    (folder / "other.py").write_text(SOUND.replace('Graph("', 'Graph("other-'))
    away = environment(DATABASE_URL="postgresql://gatepost@127.0.0.1:1/gatepost")
    done = manage("agent", "check", "sound", "other", "--json", env=away)
    assert (done.returncode, done.stderr) == (0, "0 errors, 0 warnings, 1 note\n")
    payload = json.loads(done.stdout)
    assert [agent["compared"] for agent in payload["agents"]] == ["unknown", "unknown"]
    assert "no database" in payload["findings"][0]["said"]


# `payments` asks once, before the first of three effects, and the last cannot be unsent: its gate
# says both. Whatever else the check finds in a shipped agent is a fault of ours.
EXPECTED = {
    ("outreach/writer.py", "It has no undo: a rollback leaves what it did."),
    ("payments/tools.py", "It has no undo: a rollback leaves what it did."),
    (
        "payments/agent.py",
        "bank.pay happens without anybody's decision, and only a rollback undoes it.",
    ),
    (
        "payments/agent.py",
        "remittance.mail happens without anybody's decision, and cannot be undone.",
    ),
}


@pytest.mark.nightly
def test_the_shipped_agents_pass(cast: Cast) -> None:
    out = io.StringIO()
    call_command("agent", "check", "--json", stdout=out, stderr=io.StringIO())
    payload = json.loads(out.getvalue())
    assert payload["modules"] == registry.agent_modules()
    results = [f for f in payload["findings"] if f["level"] != "note"]
    assert {f["level"] for f in results} == {"warning"}
    named = {("/".join(f["file"].split("/")[-2:]), f["said"]) for f in results}
    assert (named, len(results)) == (EXPECTED, len(EXPECTED))


def test_list_and_show(cast: Cast) -> None:
    first, second = scene.make_agent(), scene.make_agent(version=2)
    scene.alive(second)
    scene.waiting(cast.workspace, first)

    def output(*words: str) -> Any:
        out = io.StringIO()
        call_command("agent", *words, "--json", stdout=out, stderr=io.StringIO())
        return json.loads(out.getvalue())

    rows = {row["version"]: row for row in output("list")["results"]}
    assert rows[1]["threads"] == {"waiting": 1}
    assert (rows[2]["threads"], rows[2]["live_workers"]) == ({}, 1)
    assert output("list", "--as", "stranger")["results"][0]["threads"] == {}
    scene.make_agent(version=3)
    scene.make_agent(version=4)
    assert len(output("list")["results"]) == 3
    assert len(output("list", "--all")["results"]) == 4
    shown = output("show", "research")
    assert shown == cast.client("viewer").get("/api/v1/agents/research/").json()
    assert output("show", "research", "--code", f"{1:064x}")["id"] == str(first)
    out = io.StringIO()
    call_command("agent", "show", "research", stdout=out)
    assert "analyse\tpublish\tbegins here" in out.getvalue()
    assert "publish\t\tunpublish\tyes" in out.getvalue()
    assert "goal\tstring\tlast_value\t(must be given)" in out.getvalue()
    err = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("agent", "show", "ghost", stdout=io.StringIO(), stderr=err)
    assert ended.value.code == 3
    assert "known are research" in err.getvalue()


def test_versions_by_id(cast: Cast) -> None:
    version: UUID = scene.make_agent()
    assert [row.id for row in queries.agent_versions("research")] == [version]
    assert queries.agent_versions("ghost") == []
