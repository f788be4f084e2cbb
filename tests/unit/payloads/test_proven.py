"""The bytes of an artifact are proved while they are read: an altered file reaches nobody."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.test import override_settings
from hypothesis import given, settings
from hypothesis import strategies as st

from checkpoints import payloads, queries, store
from checkpoints.errors import CorruptHistory
from checkpoints.payloads.verified import BLOCK
from checkpoints.states import Status
from checkpoints.views import ArtifactRow
from tests.support.cast import Cast
from tests.unit.workers.conftest import Bench, bench_of
from workers.authoring.graph import END, Gate, Graph, State, tool
from workers.node.context import Context, current

pytestmark = pytest.mark.requirement("B23")

CONTENT = bytes(range(256)) * (3 * BLOCK // 256) + b"the end"


@pytest.fixture
def artifact(tmp_path: Path) -> Iterator[Callable[..., ArtifactRow]]:
    """Puts bytes into a storage of the test's own and tells what they should have been."""
    with override_settings(MEDIA_ROOT=tmp_path / "media"):

        def keep(content: bytes, stated: bytes | None = None) -> ArtifactRow:
            stated = content if stated is None else stated
            _, _, path = payloads.store_file([content], lambda sha: f"artifacts/{sha}")
            return ArtifactRow(sha256(stated).hexdigest(), "a.bin", "text/plain", len(stated), path)

        yield keep


ALTERED = {
    "a byte": CONTENT[:-1] + b"!",
    "the first byte": b"!" + CONTENT[1:],
    "cut off": CONTENT[:-1],
    "cut off at a block": CONTENT[:BLOCK],
    "nothing left": b"",
    "longer": CONTENT + b"!",
    "longer by a block": CONTENT + bytes(BLOCK),
}
WAYS: dict[str, Callable[[Any], Any]] = {
    "whole": lambda file: file.read(),
    "in pieces": lambda file: list(iter(lambda: file.read(1000), b"")),
    "to the last byte": lambda file: [file.read(1), file.read(len(CONTENT) - 1)],
    "by lines": list,
    "as text": lambda file: io.TextIOWrapper(file, encoding="latin-1").read(),
    "from its end": lambda file: [file.seek(-7, io.SEEK_END), file.read()],
    "after a leap": lambda file: [file.seek(2 * BLOCK), file.read(1)],
}


@pytest.mark.parametrize("read", WAYS)
@pytest.mark.parametrize("how", ALTERED)
def test_whoever_reads_an_altered_file_learns_it(
    artifact: Callable[..., ArtifactRow], how: str, read: str
) -> None:
    row = artifact(ALTERED[how], CONTENT)
    message = r"'a\.bin' .* do not match their hash"
    with pytest.raises(CorruptHistory, match=message), payloads.opened(row) as file:
        WAYS[read](file)
    with pytest.raises(CorruptHistory):
        payloads.prove(row)


@pytest.mark.parametrize("content", [b"", b"x", CONTENT], ids=["nothing", "a byte", "blocks"])
def test_what_is_whole_is_read_as_it_is(
    artifact: Callable[..., ArtifactRow], content: bytes
) -> None:
    row = artifact(content)
    payloads.prove(row)
    for _ in range(2):
        with payloads.opened(row) as file:
            assert file.read() == content
            assert file.read() == b""
            assert file.seek(0) == 0
            assert file.read(5) == content[:5]
            assert file.tell() == min(5, len(content))


def test_an_archive_can_be_read(artifact: Callable[..., ArtifactRow]) -> None:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as made:
        made.writestr("a.txt", "x" * 100_000)
    with payloads.opened(artifact(raw.getvalue())) as file, zipfile.ZipFile(file) as archive:
        assert archive.read("a.txt") == b"x" * 100_000


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(CONTENT) + 9), st.integers(0, 2 * BLOCK)), max_size=6))
def test_any_leaps_read_what_a_plain_file_gives(tmp_path_factory: Any, leaps: Any) -> None:
    plain = io.BytesIO(CONTENT)
    with override_settings(MEDIA_ROOT=tmp_path_factory.getbasetemp() / "leaps"):
        _, _, path = payloads.store_file([CONTENT], lambda sha: f"artifacts/{sha}")
        row = ArtifactRow(sha256(CONTENT).hexdigest(), "a", "text/plain", len(CONTENT), path)
        with payloads.opened(row) as file:
            for where, much in leaps:
                plain.seek(where)
                file.seek(where)
                assert file.read(much) == plain.read(much)


# ---- an agent that publishes what was approved ----


class Paper(State):
    folder: str
    page: dict[str, Any] = {}
    by_path: bool = False


@tool("paper.print", undo=None, idempotent=True)
def print_paper(page: dict[str, Any], folder: str, by_path: bool, *, key: str) -> str:
    """Print exactly the page that was approved."""
    ctx = current()
    if by_path:
        content = ctx.artifact_path(page).read_bytes()
    else:
        with ctx.open_artifact(page) as file:
            content = file.read()
    Path(folder, "printed.html").write_bytes(content)
    return "printed"


def paper() -> Bench:
    graph = Graph("paper", Paper)

    @graph.node(then="show")
    def write(state: Paper, ctx: Context) -> dict[str, Any]:
        def draw() -> dict[str, Any]:
            return ctx.artifact("page.html", b"pay 10 to Ann", "text/html")

        return {"page": ctx.activity(draw)}

    @graph.node(then=END, gate=True)
    def show(state: Paper, ctx: Context) -> dict[str, Any]:
        args = {"page": state.page, "folder": state.folder, "by_path": state.by_path}
        ctx.effect(print_paper, args, gate=Gate("Print it?"))
        return {}

    module = type("module", (), {"__name__": "paper", "__file__": __file__})
    module.graph, module.TOOLS = graph, {print_paper.name: print_paper}  # type: ignore[attr-defined]
    return bench_of(module)


@pytest.mark.parametrize("by_path", [False, True])
def test_what_was_approved_is_what_is_published_or_nothing(
    cast: Cast, tmp_path: Path, by_path: bool
) -> None:
    """The file is altered between the reviewer's look and the effect, at the same size."""
    bench = paper()
    thread = bench.start(folder=str(tmp_path), by_path=by_path)
    assert bench.advance(thread).status is Status.WAITING
    sha = bench.state(thread)["page"]["$artifact"]
    path = Path(default_storage.path(queries.artifact(sha, workspace=bench.workspace).path))
    path.write_bytes(b"pay 99 to Bob")
    bench.decide(thread, "approve", "fine")
    row = bench.advance(thread)
    assert row.status in (Status.FAILED, Status.ATTENTION)
    assert "do not match their hash" in row.status_reason
    assert not (tmp_path / "printed.html").exists()
    assert bench.state(thread)["page"]["$artifact"] == sha
    store.put_artifact(
        bench.workspace, name="page.html", media_type="text/html", chunks=[b"pay 10 to Ann"]
    )
    assert path.read_bytes() == b"pay 10 to Ann", "the same bytes once more mend it"


def test_a_large_download_breaks_off_before_its_end(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dashboard.threads.artifact_pages.PROVED_BEFORE", 0)
    content = os.urandom(700_000)
    ref = store.put_artifact(
        cast.workspace, name="a.bin", media_type="text/plain", chunks=[content]
    )
    client = cast.client("viewer")
    address = f"/artifacts/{ref['$artifact']}/"
    assert b"".join(client.get(address).streaming_content) == content
    path = queries.artifact(ref["$artifact"], workspace=cast.workspace).path
    Path(default_storage.path(path)).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    got = []
    with pytest.raises(CorruptHistory):
        got.extend(client.get(address).streaming_content)
    assert len(b"".join(got)) < len(content)
