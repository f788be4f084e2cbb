"""A storage that misbehaves under threads of an agent on `file`: none is lost or stuck by it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Barrier, Thread
from typing import Any
from uuid import uuid4

import pytest
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from checkpoints import payloads, queries, store
from checkpoints.errors import ContentAway
from checkpoints.payloads import disk
from checkpoints.states import EventKind, Status
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import expire
from tests.unit.workers.conftest import bench_of
from workers.code.registry import load
from workers.slot import loop

from . import agents
from .agents import LARGE, text_of
from .conftest import Storage
from .lease import work_on
from .test_contract import at_the_gate, sha_of
from .test_killed import MODULE, Case

pytestmark = [pytest.mark.requirement("B12"), pytest.mark.requirement("B14")]

FULL = Path("/dev/full")


@pytest.fixture
def fill(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], Callable[[], None]]:
    """Makes the disk full, or read-only; what it answers makes room again."""

    def make(how: str) -> Callable[[], None]:
        real = disk.tempfile.mkstemp

        def full(**_: Any) -> tuple[int, str]:
            return os.open(FULL, os.O_WRONLY), str(tmp_path / "no such scratch")

        def refused(**_: Any) -> tuple[int, str]:
            raise OSError(30, "Read-only file system", "/somewhere/of/this/machine")

        monkeypatch.setattr(disk.tempfile, "mkstemp", full if how == "full" else refused)
        return lambda: monkeypatch.setattr(disk.tempfile, "mkstemp", real)

    return make


MESSAGES = {"full": "No space left on device", "read-only": "Read-only file system"}


@pytest.mark.parametrize("kind", ["file", "elsewhere", "bucket"])
def test_a_content_that_was_altered_is_written_anew_when_it_is_set_again(
    storage_of: Callable[[str], Storage], tmp_path: Path, kind: str
) -> None:
    """The damaged file has the very size of the whole one."""
    bench = (storage := storage_of(kind)).bench
    thread = at_the_gate(storage, tmp_path)
    storage.spoil(thread, sha_of(text_of(3)), lambda raw: raw.replace(b"odd", b"ODD", 1))
    bench.pause(thread)
    bench.resume(thread)
    assert bench.advance(thread).status is Status.WAITING
    assert bench.kinds(thread).count(EventKind.CHECKPOINT_SKIPPED) == 1
    assert bench.state(thread)["text"] == text_of(3), "the step that was worked again wrote it"
    bench.decide(thread, "approve")
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert bench.kinds(thread).count(EventKind.CHECKPOINT_SKIPPED) == 1, "it is met once"
    assert bench.intact(thread)


def test_a_link_in_the_place_of_a_content_is_damage_and_is_not_written_through(
    storage_of: Callable[[str], Storage], tmp_path: Path
) -> None:
    bench = (storage := storage_of("file")).bench
    thread = at_the_gate(storage, tmp_path)
    victim = tmp_path / "victim.txt"
    victim.write_text("mine")
    content = Path(default_storage.path(f"threads/{thread}/contents/{sha_of(text_of(3))}.json"))
    content.unlink()
    content.symlink_to(victim)
    bench.pause(thread)
    bench.resume(thread)
    assert bench.advance(thread).status is Status.WAITING
    assert bench.kinds(thread).count(EventKind.CHECKPOINT_SKIPPED) == 1
    assert bench.state(thread)["text"] == text_of(3)
    assert victim.read_text() == "mine"
    assert not content.is_symlink()


def test_a_drive_that_is_away_is_no_damage_though_others_began_below_its_mount(
    storage_of: Callable[[str], Storage], tmp_path: Path, settings: Any
) -> None:
    settings.GATEPOST_LEASE_SECONDS = 1  # a server younger than a lease lets nobody take over
    bench = (storage := storage_of("file")).bench
    thread = at_the_gate(storage, tmp_path)
    fork = bench.fork(thread, 4, {})
    bench.decide(thread, "approve")
    mount = Path(default_storage.path("threads"))
    mount.rename(tmp_path / "unmounted")
    other = at_the_gate(storage, tmp_path)
    assert bench.state(other)["text"] == text_of(3), "the bare folder takes what is new"
    for one in (thread, fork):
        with pytest.raises(ContentAway, match="is its drive mounted"):
            bench.state(one)
        with pytest.raises(ContentAway, match="is its drive mounted"):
            bench.advance(one)
        assert EventKind.CHECKPOINT_SKIPPED not in bench.kinds(one)
    (mount / str(other)).rename(tmp_path / "unmounted" / str(other))
    mount.rmdir()
    (tmp_path / "unmounted").rename(mount)
    expire(thread)
    assert bench.advance(thread).status is Status.SUCCEEDED
    expire(fork)
    assert bench.advance(fork).status is Status.WAITING
    assert all(bench.intact(one) for one in (thread, fork, other))


def test_a_thread_whose_folder_is_gone_for_good_can_be_rolled_back_to_where_it_needs_none(
    storage_of: Callable[[str], Storage], tmp_path: Path
) -> None:
    bench = (storage := storage_of("file")).bench
    thread = at_the_gate(storage, tmp_path)
    calls = list(agents.calls)
    shutil.rmtree(default_storage.path(f"threads/{thread}"))
    assert bench.roll_back(thread, 0).status is Status.PAUSED
    bench.resume(thread)
    assert bench.advance(thread).status is Status.WAITING
    assert bench.state(thread)["text"] == text_of(3)
    assert agents.calls == calls, "what was looked up stands in the record"


@pytest.mark.slow
@pytest.mark.parametrize("how", MESSAGES)
@pytest.mark.parametrize("where", ["content", "artifact"])
def test_a_disk_that_takes_nothing_fails_the_step_and_a_retry_goes_on(
    real_db: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fill: Callable[[str], Callable[[], None]],
    how: str,
    where: str,
) -> None:
    monkeypatch.setattr(loop, "agents", lambda: load([MODULE]))
    case = Case(tmp_path)
    if where == "content":
        real = store.put_artifact
        room: list[Callable[[], None]] = []

        def then_full(*args: Any, **kwargs: Any) -> Any:
            saved = real(*args, **kwargs)
            room.append(fill(how))
            return saved

        monkeypatch.setattr(store, "put_artifact", then_full)
        assert work_on(case.id)
        monkeypatch.setattr(store, "put_artifact", real)
    else:
        room = [fill(how)]
        assert work_on(case.id)
    row = case.row()
    assert row.status is Status.FAILED
    assert f"The storage takes no files: {MESSAGES[how]}." in row.status_reason
    assert "/" not in row.status_reason.replace("engine failed", ""), "no path of this machine"
    assert row.number == 0
    # The next thread on the same worker works, where it needs no file.
    other = bench_of(agents.module_of("database"))
    assert other.advance(other.start(folder=str(tmp_path))).status is Status.WAITING
    room[0]()
    store.retry(case.id, actor="user:1")
    assert work_on(case.id)
    case.check_whole(3)
    assert case.row().status is Status.WAITING
    calls = (tmp_path / "calls.txt").read_text().split()
    assert calls == (["0", "1", "2"] if where == "content" else ["0", "0", "1", "2"])
    incoming = Path(default_storage.path("artifacts/incoming"))
    assert not any(p.name.startswith("no such") for p in incoming.iterdir())


@pytest.mark.parametrize("how", MESSAGES)
def test_at_the_entries_a_disk_that_takes_nothing_is_503(
    cast: Cast, tmp_path: Path, fill: Callable[[str], Callable[[], None]], how: str
) -> None:
    bench = replace(bench_of(agents.module_of("file")), workspace=cast.workspace)
    thread = bench.start(folder=str(tmp_path), rounds=1)
    assert bench.advance(thread).status is Status.WAITING
    client: Client = cast.client("operator")
    before = bench.row(thread)
    large = {"text": "z" * LARGE}
    requests: list[tuple[str, dict[str, Any]]] = [
        (f"threads/{thread}/edit/", {"changes": large, "reason": "Longer."}),
        (
            f"threads/{thread}/fork/",
            {"checkpoint": str(before.head), "changes": large, "title": "Longer"},
        ),
        ("threads/", {"agent": "books-file", "input": {"folder": str(tmp_path), **large}}),
    ]
    room = fill(how)
    for call, body in requests:
        answer = client.post(f"/api/v1/{call}", body, content_type="application/json")
        assert answer.status_code == 503, (call, answer.content)
        payload = answer.json()
        assert payload["type"] == "urn:gatepost:problem:storage-away"
        assert payload["detail"] == f"The storage takes no files: {MESSAGES[how]}."
        assert answer.headers["Retry-After"]
    sent = client.post("/api/v1/artifacts/", {"file": SimpleUploadedFile("a.csv", b"1,2\n" * 9)})
    assert sent.status_code == 503
    after = bench.row(thread)
    assert (after.head, after.last_seq) == (before.head, before.last_seq), "nothing is written"
    assert client.get(f"/threads/{thread}/").status_code == 200
    room()
    for call, body in requests:
        answer = client.post(f"/api/v1/{call}", body, content_type="application/json")
        assert answer.status_code in (200, 201), (call, answer.content)


def test_many_who_write_the_same_content_at_once_leave_it_whole(
    storage_of: Callable[[str], Storage], tmp_path: Path
) -> None:
    storage_of("file")
    saved, thread, raw = payloads.of_kind("file"), uuid4(), text_of(1).encode() * 20
    sha, start, wrong = sha_of("any"), Barrier(8), []

    def write() -> None:
        start.wait()
        for _ in range(20):
            saved.put(thread, {sha: raw})
            if saved.get([thread], [sha]) != {sha: raw}:
                wrong.append(1)

    crowd = [Thread(target=write) for _ in range(8)]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()
    assert not wrong
    assert default_storage.listdir(f"threads/{thread}/contents")[1] == [f"{sha}.json"]
    assert list(Path(default_storage.path("artifacts/incoming")).iterdir()) == []


def test_an_artifact_whose_bytes_are_gone_or_cannot_be_read(cast: Cast) -> None:
    client: Client = cast.client("operator")

    def stored_file(content: bytes) -> tuple[str, Path]:
        ref = store.put_artifact(
            cast.workspace, name="list.csv", media_type="text/csv", chunks=[content]
        )
        path = queries.artifact(ref["$artifact"], workspace=cast.workspace).path
        return ref["$artifact"], Path(default_storage.path(path))

    sha, gone = stored_file(os.urandom(9))
    gone.unlink()
    answer = client.get(f"/artifacts/{sha}/")
    assert answer.status_code == 409
    assert "are gone from the storage" in answer.content.decode()
    sha, altered = stored_file(os.urandom(9))
    altered.write_bytes(b"123456789")
    answer = client.get(f"/artifacts/{sha}/")
    assert answer.status_code == 409
    assert "do not match their hash" in answer.content.decode()
    sha, loop_of_links = stored_file(os.urandom(9))
    loop_of_links.unlink()
    loop_of_links.symlink_to(loop_of_links)
    answer = client.get(f"/artifacts/{sha}/")
    assert answer.status_code == 503
    assert str(loop_of_links) not in answer.content.decode()
    # Whoever sends the same bytes again mends it.
    content = os.urandom(9)
    sha, gone = stored_file(content)
    gone.unlink()
    assert stored_file(content) == (sha, gone)
    assert b"".join(client.get(f"/artifacts/{sha}/").streaming_content) == content  # type: ignore[attr-defined]


def test_an_upload_that_finds_no_room_on_its_way_is_503(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Django keeps a large upload in a temporary file before anybody of ours sees it."""

    def full(*_: Any, **__: Any) -> Any:
        raise OSError(28, "No space left on device", "/somewhere/of/this/machine")

    client: Client = cast.client("operator", raise_request_exception=False)
    monkeypatch.setattr("django.core.files.uploadedfile.tempfile.NamedTemporaryFile", full)
    large = b"1,2\n" * 1_000_000
    sent = client.post("/api/v1/artifacts/", {"file": SimpleUploadedFile("a.csv", large)})
    assert sent.status_code == 503
    assert sent.json()["detail"] == "The server takes no files: No space left on device."
    assert sent.headers["Retry-After"]
    page = client.post("/threads/new/", {"agent": "x", "f-file": SimpleUploadedFile("a", large)})
    assert page.status_code == 503
    assert b"somewhere" not in page.content
    assert b"The server takes no files: No space left on device." in page.content
