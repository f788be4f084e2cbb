"""Credentials in a capsule: wherever one stands, it is refused with its place and not written."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from checkpoints.capsules import layout
from dashboard.threads.capsules.credentials import refuse_credentials
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard.carried import TABLES, another_workspace, brought, empty, export, run
from tests.unit.dashboard.threads.capsules.test_capsule_hostile import also, counts, repacked
from tests.unit.workers.conftest import Bench, bench_of
from workers.authoring.graph import END, Graph, State
from workers.node.context import Context

pytestmark = pytest.mark.django_db
CANARY = "ghp_" + "C4n4ry" * 6
# Members that are rows; the others are not read.
READ = (".jsonl", "thread.json")


def texts(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of each text in a value."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from texts(item, (*path, key))


def planted(value: Any, path: tuple[Any, ...]) -> Any:
    """The value with the canary at a place."""
    if not path:
        return CANARY
    made = copy.deepcopy(value)
    inner = made
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = CANARY
    return made


def places(members: dict[str, bytes]) -> Iterator[tuple[str, int, tuple[Any, ...]]]:
    """(member, line, path) of each text of each kind of member, one for each path."""
    seen = set()
    for name, raw in sorted(members.items()):
        if not name.endswith(READ) and "/" not in name:
            continue
        if not name.endswith((".json", ".jsonl")):
            continue
        lines = raw.splitlines() if name.endswith(".jsonl") else [raw]
        for number, line in enumerate(lines):
            for path in texts(json.loads(line)):
                kind = (name.partition("/")[0], tuple(key for key in path if isinstance(key, str)))
                if kind not in seen:
                    seen.add(kind)
                    yield name, number, path


def with_canary(raw: bytes, name: str, number: int, path: tuple[Any, ...]) -> bytes:
    if not name.endswith(".jsonl"):
        return json.dumps(planted(json.loads(raw), path)).encode()
    lines = raw.splitlines(keepends=True)
    lines[number] = json.dumps(planted(json.loads(lines[number]), path)).encode() + b"\n"
    return b"".join(lines)


def stored() -> str:
    tables = (*TABLES, "gp_thread", "gp_agent_version", "gp_workspace_event")
    return "".join(str(rows(f"SELECT t::text FROM {table} t")) for table in tables)


@pytest.mark.slow
def test_one_in_any_text_is_refused_with_its_place(
    lived_here: tuple[Bench, UUID], tmp_path: Path
) -> None:
    _, thread = lived_here
    capsule = export(thread, tmp_path)
    members: dict[str, bytes] = {}
    repacked(capsule, members.update)
    empty(agents=False)
    another_workspace()
    before, named, kinds = counts(), 0, set()
    for name, number, path in places(members):
        raw = with_canary(members[name], name, number, path)
        if name.startswith("contents/"):
            name = f"contents/{sha256(raw).hexdigest()}.json"
        forged = repacked(capsule, also(name, raw))
        code, _, errors = run("import", str(forged), "--as", "carrier", "--workspace", "there")
        assert (code, counts()) == (1, before), (name, path, errors)
        assert CANARY not in errors + stored(), (name, path)
        if "a GitHub token" in errors:
            assert name in errors, errors
            named += 1
            kinds.add(name.partition("/")[0])
    assert named >= 60, named
    assert kinds >= {"events.jsonl", "activities.jsonl", "checkpoints", "contents", "agents"}


class Note(State):
    text: str = ""


def look_up(key: str) -> dict[str, str]:
    return {"about": key}


def noted(cast: Cast, allowed: dict[str, str]) -> tuple[Bench, UUID]:
    """A thread of an agent that lets these paths through."""
    graph = Graph("noting", Note, secrets_allowed=allowed)

    @graph.node(then=END)
    def work(state: Note, ctx: Context) -> dict[str, Any]:
        ctx.activity(look_up, CANARY)
        return {"text": CANARY}

    bench = bench_of(SimpleNamespace(graph=graph, __name__=__name__, __file__=__file__))
    bench.workspace = cast.workspace
    thread = bench.start()
    assert bench.advance(thread).status == "succeeded", bench.row(thread).status_reason
    return bench, thread


def test_what_its_agent_lets_through_comes_back(cast: Cast, tmp_path: Path) -> None:
    allowed = ("$.text", "look_up:$.args[0]", "look_up:$.about")
    _, thread = noted(cast, dict.fromkeys(allowed, "samples of our own scanner"))
    capsule = export(thread, tmp_path, who="operator")
    point = export(thread, tmp_path / "one", "--checkpoint", "1", who="operator")
    empty(agents=False)
    assert brought(capsule, who="operator")["thread"] == str(thread)
    assert brought(point, "--name", "again", who="operator")["thread"]


@pytest.mark.parametrize("path", ["$", "", "text"])
def test_an_exception_that_names_no_place_lets_nothing_through(path: str) -> None:
    members = {
        "agents/a.json": {"graph": {"secrets_allowed": {path: "samples"}}},
        "state.json": {"text": CANARY},
    }
    raw = {name: json.dumps(value).encode() for name, value in members.items()}
    sizes = {name: len(text) for name, text in raw.items()}
    reader = layout.Reader(sizes, lambda name: BytesIO(raw[name]))
    refuse_credentials(reader)
    with pytest.raises(layout.BadCapsule, match=r"state\.json: \$\.text holds"):
        reader.json("state.json")


def test_one_that_was_stored_before_comes_back_where_none_is_refused(
    cast: Cast, tmp_path: Path, settings: Any
) -> None:
    settings.GATEPOST_CREDENTIALS = "off"
    _, thread = noted(cast, {})
    capsule = export(thread, tmp_path, who="operator")
    empty(agents=False)
    settings.GATEPOST_CREDENTIALS = "refuse"
    code, _, errors = run("import", str(capsule), "--as", "operator")
    assert code == 1
    assert "holds what looks like a GitHub token" in errors
    assert CANARY not in errors + stored()
    settings.GATEPOST_CREDENTIALS = "off"
    assert brought(capsule, who="operator")["thread"] == str(thread)
