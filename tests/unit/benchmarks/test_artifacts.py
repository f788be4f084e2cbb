"""Loading a checkpoint reads the same to the last block, however large the files beside it are."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.files.storage import default_storage

from benchmarks import artifacts
from benchmarks.report import dumped

pytestmark = pytest.mark.usefixtures("real_db")


@pytest.mark.slow
@pytest.mark.hazard
@pytest.mark.requirement("B24")
def test_a_gigabyte_beside_a_checkpoint_is_not_read(capfd: pytest.CaptureFixture[str]) -> None:
    # The disk of a test flushes a gigabyte once; where it lies otherwise makes no difference.
    result = artifacts.measure(reads=60)
    with capfd.disabled():
        print(f"\n{dumped(result)}")
    assert list(result["read"]) == ["1 KB", "10 MB", "1 GiB"]
    assert result["read_is_the_same"], result["read"]
    read = result["read"]["1 GiB"]
    assert read["statements"] == 2  # the thread's row and its state
    assert 0 < read["blocks"] < 60
    if Path("/proc/self/io").exists():
        assert read["file_kb"] <= 0
    # The clock of a shared machine says little: a gigabyte would take a hundred times as long.
    assert result["value"] < 5


@pytest.mark.requirement("B24")
def test_the_figure_would_tell_of_a_file_that_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    saved = artifacts.load
    paths: dict[object, str] = {}

    def thread_with(size: int) -> tuple[object, str]:
        thread, path = made(size)
        paths[thread] = path
        return thread, path

    def reading(thread: object, workspace_id: object) -> object:
        with default_storage.open(paths[thread], "rb") as file:
            file.read()
        return saved(thread, workspace_id)  # type: ignore[arg-type]

    made = artifacts.thread_with
    monkeypatch.setattr(artifacts, "thread_with", thread_with)
    monkeypatch.setattr(artifacts, "load", reading)
    result = artifacts.measure({"1 KB": artifacts.KB, "10 MB": 10 * artifacts.MB}, reads=5)
    assert result["ok"] is False
    if Path("/proc/self/io").exists():
        assert result["read"]["10 MB"]["file_kb"] >= 10_000
        assert not result["read_is_the_same"]
