"""Temporary files of a call become artifacts at the save point, on the store and in memory."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.unit.workers.conftest import Bench
from workers.authoring.graph import END, Graph, Retry, State, tool
from workers.node.context import Context, current, cursor, progress

EITHER = Bench
pytestmark = pytest.mark.requirement("B48")


class Table(State):
    result: Any = None
    text: str = ""


class World:
    """What the call does with its folder, and the folders that calls were given."""

    folders: list[Path] = []
    act: Callable[[Path], Any] = staticmethod(lambda folder: None)


@pytest.fixture(autouse=True)
def _new_world() -> None:
    World.folders = []


def make(number: int = 0) -> Any:
    folder = current().scratch()
    assert folder == current().scratch(), "one folder for the call"
    assert list(folder.iterdir()) == []
    World.folders.append(folder)
    return World.act(folder)


@tool("table.make", idempotent=True)
def make_outside(*, key: str) -> Any:
    return make()


graph = Graph("tables", Table, retry=Retry(attempts=1))


@graph.node(then="read")
def write(state: Table, ctx: Context) -> dict[str, Any]:
    return {"result": ctx.activity(make, 1)}


@graph.node(then=END)
def read(state: Table, ctx: Context) -> dict[str, Any]:
    ref = state.result["file"] if state.result and "file" in state.result else None
    return {"text": ctx.open_artifact(ref).read().decode()} if ref else {}


MODULE = SimpleNamespace(graph=graph, __name__=__name__, __file__=__file__)
by_effect = Graph("outside", Table)


@by_effect.node(then=END)
def act(state: Table, ctx: Context) -> dict[str, Any]:
    return {"result": ctx.effect(make_outside, {}).result}


EFFECTS = SimpleNamespace(
    graph=by_effect,
    TOOLS={make_outside.name: make_outside},
    __name__=f"{__name__}.effects",
    __file__=__file__,
)


@pytest.fixture
def bench(make_bench: Callable[[Any], EITHER]) -> EITHER:
    return make_bench(MODULE)


def in_folder(act: Callable[[Path], Any]) -> None:
    World.act = staticmethod(act)


def written(folder: Path, name: str = "rows.csv", text: str = "a,b\n1,2\n") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_path_in_a_result_is_a_file_ever_after(bench: EITHER) -> None:
    in_folder(lambda folder: {"file": str(written(folder)), "rows": 1})
    thread = bench.start()
    assert bench.advance(thread).status == "succeeded"
    state = bench.state(thread)
    assert state["result"]["rows"] == 1
    ref = state["result"]["file"]
    assert (ref["name"], ref["media_type"], ref["size"]) == ("rows.csv", "text/csv", 8)
    assert state["text"] == "a,b\n1,2\n"
    (stored,) = [e for e in bench.events(thread) if e.kind == "artifact.stored"]
    assert stored.data["sha256"] == ref["$artifact"]
    assert not World.folders[0].exists(), "the folder went with the call"
    assert str(World.folders[0]) not in json.dumps([a.result for a in bench.activities(thread)])
    assert bench.intact(thread)


def test_a_tool_has_a_folder_as_well(make_bench: Callable[[Any], EITHER]) -> None:
    in_folder(lambda folder: [written(folder, "page.html", "<p>")])
    bench = make_bench(EFFECTS)
    thread = bench.start()
    assert bench.advance(thread).status == "succeeded"
    (ref,) = bench.state(thread)["result"]
    assert (ref["name"], ref["media_type"]) == ("page.html", "text/html")
    assert not World.folders[0].exists()


def test_only_paths_of_files_in_the_folder_are_taken(bench: EITHER) -> None:
    def act(folder: Path) -> dict[str, Any]:
        near = Path(f"{folder}-beside")
        texts = [f"see {written(folder)}", str(near), str(folder / "missing.csv"), "rows.csv"]
        return {"texts": texts, "own": str(folder / "rows.csv")}

    in_folder(act)
    thread = bench.start()
    assert bench.advance(thread).status == "succeeded"
    result = bench.state(thread)["result"]
    assert all(isinstance(text, str) for text in result["texts"])
    assert result["own"]["name"] == "rows.csv"


@pytest.mark.parametrize(
    ("act", "why"),
    [
        pytest.param(lambda folder: str(folder), "is a folder of ctx.scratch()", id="itself"),
        pytest.param(
            lambda folder: str(written(folder, "sub/x").parent), "is a folder", id="a folder in it"
        ),
        pytest.param(
            lambda folder: (os.symlink("/etc/hostname", folder / "host"), str(folder / "host"))[1],
            "is a link that leads out",
            id="a link out of it",
        ),
        pytest.param(
            lambda folder: str(folder / "sub" / ".." / ".." / "x"), "", id="a way out of it"
        ),
        pytest.param(lambda folder: Path("/etc/hostname"), "cannot be kept", id="another path"),
    ],
)
def test_what_is_no_file_of_the_folder(bench: EITHER, act: Callable[[Path], Any], why: str) -> None:
    in_folder(act)
    thread = bench.start()
    row = bench.advance(thread)
    if why:
        assert row.status == "failed"
        assert why in row.status_reason, row.status_reason
    else:
        assert isinstance(bench.state(thread)["result"], str)
    assert "artifact.stored" not in bench.kinds(thread)
    assert not World.folders[0].exists()


def test_outside_of_a_call_there_is_none(make_bench: Callable[[Any], EITHER]) -> None:
    bare = Graph("bare-scratch", Table)

    @bare.node(then=END)
    def node(state: Table, ctx: Context) -> dict[str, Any]:
        ctx.scratch()
        return {}

    bench = make_bench(SimpleNamespace(graph=bare, __name__=f"{__name__}.bare", __file__=__file__))
    row = bench.advance(bench.start())
    assert (row.status, "current().scratch()" in row.status_reason) == ("failed", True)


class Fails(RuntimeError):
    pass


def test_a_cursor_goes_on_with_its_files_in_another_folder(bench: EITHER) -> None:
    """At a random item each time it fails; each file is as long as its cursor says."""
    dice, restored = random.Random(48), []

    def act(folder: Path) -> dict[str, Any]:
        before = cursor()
        path = folder / "found.txt"
        at = 0
        if before is not None:
            at = before["at"]
            path.write_bytes(current().open_artifact(before["file"]).read())
            restored.append(path.read_text())
            assert path.read_text() == "".join(f"{n}\n" for n in range(at)), "as the cursor says"
        falls = at + 1 + dice.randrange(6)
        for number in range(at, 25):
            with path.open("a") as file:
                file.write(f"{number}\n")
            if number == falls:
                raise Fails("away")  # written, and not told yet
            progress(number, 30, cursor={"at": number + 1, "file": str(path)}, every=2)
        return {"file": path}

    in_folder(act)
    thread = bench.start()
    for _ in range(40):
        if bench.advance(thread).status == "succeeded":
            break
        bench.retry(thread)
    assert bench.state(thread)["text"] == "".join(f"{n}\n" for n in range(25))
    assert len(restored) >= 4
    assert len(set(World.folders)) == len(World.folders) >= 5
    assert not any(folder.exists() for folder in World.folders)
    assert bench.intact(thread)


def test_a_result_with_files_is_not_cached_for_other_threads(
    make_bench: Callable[[Any], EITHER],
) -> None:
    sharing = Graph("sharing-scratch", Table)

    @sharing.node(then=END)
    def node(state: Table, ctx: Context) -> dict[str, Any]:
        return {"result": ctx.activity(make, 1, cached=60)}

    module = SimpleNamespace(graph=sharing, __name__=f"{__name__}.sharing", __file__=__file__)
    bench = make_bench(module)
    in_folder(lambda folder: str(written(folder)))
    for _ in range(2):
        thread = bench.start()
        assert bench.advance(thread).status == "succeeded"
        assert bench.state(thread)["result"]["name"] == "rows.csv"
    assert len(World.folders) == 2
