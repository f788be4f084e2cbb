"""A gigabyte goes in and out as a stream, and a save that is cut off leaves nothing half."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from django.core.files.storage import default_storage

from checkpoints import queries, store
from tests.faults.agents.own_agents import pieces
from tests.faults.bench import ROOT, Field, Worker, wait_until
from tests.faults.web import Person, Web, people

pytestmark = pytest.mark.hazard
GIB = 1024**3
MAY_GROW = 64 * 1024**2


def memory(pid: int) -> tuple[int, int]:
    """(what a process holds, the most it ever held) in bytes."""
    text = Path(f"/proc/{pid}/status").read_text()
    now, most = (int(re.findall(rf"{name}:\s+(\d+) kB", text)[0]) for name in ("VmRSS", "VmHWM"))
    return now * 1024, most * 1024


def forget_peak(pid: int) -> int:
    """Let the peak begin anew; what the process holds."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")
    return memory(pid)[0]


@pytest.fixture(scope="module")
def web(ground: Path) -> Iterator[Web]:
    made = Web(ground).wait_ready()
    yield made
    made.kill()


@pytest.fixture(scope="module")
def operator(web: Web, workspace: UUID) -> Iterator[Person]:
    # Another module borrows this fixture on the same database.
    with people(web, workspace, "operator", f"streamer-{uuid4().hex[:8]}") as (person,):
        yield person


def digest_of(size: int) -> str:
    result = hashlib.sha256()
    for piece in pieces(size):
        result.update(piece)
    return result.hexdigest()


def download(operator: Person, sha256: str) -> tuple[str, int]:
    """(sha256, size) of what comes, read piece by piece; it is an attachment."""
    result, n = hashlib.sha256(), 0
    with operator.http.stream("GET", f"/artifacts/{sha256}/", timeout=120) as answer:
        assert answer.status_code == 200
        assert answer.headers["Content-Disposition"].startswith("attachment;")
        for piece in answer.iter_raw(1 << 20):
            result.update(piece)
            n += len(piece)
    return result.hexdigest(), n


@pytest.mark.requirement("B44")
@pytest.mark.requirement("B23")
def test_a_gigabyte_is_made_resumed_and_downloaded_as_a_stream(
    field: Field, worker: Worker, web: Web, operator: Person
) -> None:
    pids = [worker.pid, *worker.slots(), web.process.pid]
    before = {pid: forget_peak(pid) for pid in pids}
    case = field.start("large", size=GIB)
    row = case.wait_status("succeeded", seconds=120)
    expected = digest_of(GIB)
    assert (case.state()["read"], case.state()["sha256"]) == (GIB, expected)
    reference = case.state()["made"]
    assert reference == {
        "$artifact": expected,
        "name": "large.bin",
        "media_type": "application/octet-stream",
        "size": GIB,
    }
    assert row.state_bytes < 1_000, "a reference, not the bytes"
    assert download(operator, expected) == (expected, GIB)
    grown = {pid: memory(pid)[1] - held for pid, held in before.items()}
    assert max(grown.values()) < MAY_GROW, grown
    default_storage.delete(stored(row.workspace, expected))


def stored(workspace: UUID, sha256: str) -> str:
    """Where the bytes lie in storage."""
    return queries.artifact(sha256, workspace=workspace).path


@pytest.mark.requirement("B44")
def test_a_gigabyte_is_uploaded_as_a_stream(
    web: Web, operator: Person, workspace: UUID, tmp_path: Path
) -> None:
    size = GIB + 1
    path = tmp_path / "upload.bin"
    with path.open("wb") as file:
        file.writelines(pieces(size))
    before = forget_peak(web.process.pid)
    with path.open("rb") as file:
        answer = operator.http.post(
            "/api/v1/artifacts/", files={"file": ("upload.bin", file)}, timeout=120
        )
    assert answer.status_code == 201, answer.text
    grown = memory(web.process.pid)[1] - before
    assert grown < MAY_GROW, grown
    sha256 = answer.json()["$artifact"]
    assert (sha256, answer.json()["size"]) == (digest_of(size), size)
    default_storage.delete(stored(workspace, sha256))


SAVE = """
import os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "dashboard.settings"
import django
django.setup()
from uuid import UUID
from checkpoints import queries, store

def endless():
    for number in range(100_000):
        print(number, flush=True)
        yield b"x" * 1_000_000

store.put_artifact(UUID(sys.argv[1]), name="cut.bin", media_type="text/plain", chunks=endless())
"""


@pytest.mark.nightly
def test_a_save_that_is_killed_leaves_nothing_under_a_name(ground: Path, workspace: UUID) -> None:
    root = Path(default_storage.path("artifacts"))
    before = {path for path in root.rglob("*") if path.is_file()}
    cut = subprocess.Popen(
        [sys.executable, "-c", SAVE, str(workspace)],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        text=True,
    )
    assert cut.stdout is not None
    wait_until(lambda: cut.stdout.readline().strip() == "20", seconds=60)
    cut.send_signal(signal.SIGKILL)
    cut.communicate()
    left = {path for path in root.rglob("*") if path.is_file()} - before
    assert left, "it was cut while it wrote"
    assert {path.parent.name for path in left} == {"incoming"}
    for path in left:
        os.utime(path, (1, 1))
    saved = store.put_artifact(workspace, name="a", media_type="text/plain", chunks=[b"whole"])
    assert not any(path.exists() for path in left), "what is old is cleared away"
    with default_storage.open(stored(workspace, saved["$artifact"])) as f:
        assert f.read() == b"whole"


@pytest.mark.nightly
def test_a_file_that_was_half_there_is_made_whole(ground: Path, workspace: UUID) -> None:
    saved = store.put_artifact(workspace, name="a", media_type="text/plain", chunks=[b"1234"])
    path = Path(default_storage.path(stored(workspace, saved["$artifact"])))
    path.write_bytes(b"12")
    assert (
        store.put_artifact(workspace, name="a", media_type="text/plain", chunks=[b"1234"]) == saved
    )
    assert path.read_bytes() == b"1234"
