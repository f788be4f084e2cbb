"""The folder of a thread: opened by hand, written whole, and a way into another installation."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import yaml
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.files.storage import default_storage

from approvals.verification.proof import verify
from checkpoints import queries, store
from checkpoints.capsules import folder as folders
from checkpoints.states import EventKind, Status
from dashboard.threads.capsules.folders import keep
from tests.faults.embedded.helpers import ROOT
from tests.unit.dashboard.carried import another_workspace, empty, run
from tests.unit.workers.conftest import Bench
from workers.code.registry import announce

from . import agents
from .agents import LARGE, text_of
from .conftest import Storage

pytestmark = pytest.mark.requirement("B14")

NOTE = b"a note\n" * 100


def with_a_file(bench: Bench, folder: Path) -> UUID:
    """A thread at the gate whose state refers to a file of an awkward name."""
    ref = store.put_artifact(
        bench.workspace, name="../notes of may.txt", media_type="text/plain", chunks=[NOTE]
    )
    thread = bench.start(folder=str(folder), index={"note": ref})
    assert bench.advance(thread).status is Status.WAITING
    data = {"node": "write", "name": ref["name"], "sha256": ref["$artifact"], "size": ref["size"]}
    new_event = store.NewEvent(
        EventKind.ARTIFACT_STORED, data | {"media_type": "text/plain"}, "user:1"
    )
    store.add_event(thread, new_event)
    return thread


def carrier(workspace: UUID) -> None:
    user = get_user_model()._default_manager.create_user(username="carrier")
    store.grant(workspace, user.pk, "operator", actor="user:0")


def downloaded(thread: UUID, to: Path) -> Path:
    """A copy of the thread's folder, from whatever storage it lies in."""

    def fetch(path: str, target: Path) -> None:
        target.mkdir(parents=True)
        inner, files = default_storage.listdir(path)
        for name in files:
            with default_storage.open(f"{path}/{name}", "rb") as file:
                (target / name).write_bytes(file.read())
        for name in inner:
            fetch(f"{path}/{name}", target / name)

    fetch(f"threads/{thread}", to)
    return to


def test_a_person_can_open_it(storage_of: Callable[[str], Storage], tmp_path: Path) -> None:
    bench: Any = storage_of("file").bench
    thread = with_a_file(bench, tmp_path)
    keep(thread, bench.workspace)
    above = Path(default_storage.path(f"threads/{thread}"))
    assert sorted(path.name for path in above.iterdir()) == ["checkpoint-000004", "contents"]
    newest = above / "checkpoint-000004"
    state = bench.state(thread)
    assert json.loads((newest / "state.json").read_text())["state"] == state
    assert yaml.safe_load((newest / "state.yaml").read_text())["state"] == state
    assert (newest / "files" / "notes of may.txt").read_bytes() == NOTE
    sha = sha256(NOTE).hexdigest()
    twin = newest / "artifacts" / sha
    saved = Path(default_storage.path(queries.artifact(sha, workspace=bench.workspace).path))
    assert twin.samefile(saved), "the bytes lie on the disk once"
    for line in (newest / "MANIFEST").read_text().splitlines():
        digest, name = line.split("  ")
        assert sha256((newest / name).read_bytes()).hexdigest() == digest
    content = above / "contents" / f"{sha256(json.dumps(text_of(1)).encode()).hexdigest()}.json"
    assert json.loads(content.read_text()) == text_of(1)


@pytest.mark.requirement("B17")
@pytest.mark.parametrize("kind", ["file", "elsewhere", "bucket"])
def test_a_copy_goes_on_in_an_empty_installation(
    storage_of: Callable[[str], Storage], tmp_path: Path, kind: str
) -> None:
    bench: Any = storage_of(kind).bench
    thread = with_a_file(bench, tmp_path)
    state = bench.state(thread)
    keep(thread, bench.workspace)
    carrier(bench.workspace)
    copy = downloaded(thread, tmp_path / "copy")
    for path in (default_storage.listdir("threads")[0], default_storage.listdir("artifacts")[0]):
        assert path
    empty()
    if kind == "file":
        shutil.rmtree(default_storage.path(""))
    elsewhere = another_workspace()
    code, output, errors = run("import", str(copy), "--as", "carrier", "--workspace", "there")
    assert code == 0, errors
    new = UUID(output["thread"])
    module = agents.module_of("file")
    bench.agent, bench.workspace = announce(module.graph, module.TOOLS, (module,)), elsewhere
    assert bench.row(new).status is Status.PAUSED
    assert bench.state(new) == state
    bench.resume(new)
    assert bench.advance(new).status is Status.WAITING
    bench.decide(new, "approve")
    assert bench.advance(new).status is Status.SUCCEEDED
    report = verify(new)
    assert report.intact, report.what
    with default_storage.open(
        queries.artifact(state["index"]["note"]["$artifact"], workspace=elsewhere).path
    ) as file:
        assert file.read() == NOTE


PAGE = (ROOT / "docs/howto/payloads.md").read_text()
IMPORTS = re.findall(r"^\./manage\.py (import .+)$", PAGE, re.MULTILINE)


def test_the_page_lists_what_lies_in_the_folder(
    storage_of: Callable[[str], Storage], tmp_path: Path
) -> None:
    bench: Any = storage_of("file").bench
    thread = with_a_file(bench, tmp_path)
    keep(thread, bench.workspace)
    above = Path(default_storage.path(f"threads/{thread}"))
    (listing,) = re.findall(r"^```text\nthreads/<thread id>/\n(.*?)^```", PAGE, re.M | re.S)
    names = {
        name
        for line in listing.splitlines()
        for name in re.split(r"\s+", re.split(r" {3,}", line.strip())[0])
    }
    patterns = {re.sub(r"<[^>]+>", "*", re.sub(r"-\d{6}/$", "-*/", n)).rstrip("/") for n in names}
    lies = {path.relative_to(above) for path in above.rglob("*")}
    for pattern in patterns:
        assert any(path.match(pattern) for path in lies), pattern
    top = {path.name for path in (above / "checkpoint-000004").iterdir()}
    assert top <= {pattern.partition("/")[0] for pattern in patterns}, "all of it is listed"


@pytest.mark.parametrize("command", IMPORTS, ids=["whole", "point"])
def test_the_imports_of_the_page_bring_it_in(
    storage_of: Callable[[str], Storage], tmp_path: Path, command: str
) -> None:
    bench: Any = storage_of("file").bench
    thread = with_a_file(bench, tmp_path)
    keep(thread, bench.workspace)
    carrier(bench.workspace)
    copy = downloaded(thread, tmp_path / str(thread))
    _, source, *flags = shlex.split(command)
    target = copy / "checkpoint-000004" if "checkpoint-" in source else copy
    empty()
    elsewhere = another_workspace()
    code, output, errors = run("import", str(target), *flags, "--as", "carrier")
    assert code == 0, errors
    row = queries.thread(UUID(output["thread"]), workspace=elsewhere)
    assert row.status is Status.PAUSED
    assert row.name == (flags[1] if flags else None)


def test_the_limits_of_the_page_are_the_defaults() -> None:
    rows = re.findall(r'^\| `"(\w+)"`.*?\| (\d+) KiB \|', PAGE, re.MULTILINE)
    assert {kind: 1024 * int(size) for kind, size in rows} == {
        "database": settings.GATEPOST_CONTENT_DATABASE_BYTES,
        "file": settings.GATEPOST_CONTENT_FILE_BYTES,
    }


@pytest.mark.parametrize("kind", ["file", "elsewhere", "bucket"])
def test_it_follows_the_head_and_only_the_newest_stays(
    storage_of: Callable[[str], Storage],
    tmp_path: Path,
    kind: str,
    django_capture_on_commit_callbacks: Any,
) -> None:
    bench: Any = storage_of(kind).bench
    thread = with_a_file(bench, tmp_path)
    keep(thread, bench.workspace)
    keep(thread, bench.workspace)
    above = f"threads/{thread}"
    assert set(default_storage.listdir(above)[0]) == {"checkpoint-000004", "contents"}
    with django_capture_on_commit_callbacks(execute=True):
        bench.edit(thread, {"text": "w" * LARGE}, "by hand")
    assert set(default_storage.listdir(above)[0]) == {"checkpoint-000005", "contents"}
    with default_storage.open(f"{above}/checkpoint-000005/state.json") as file:
        assert json.loads(file.read())["state"] == bench.state(thread)


def test_a_folder_that_is_not_whole_is_not_taken(
    storage_of: Callable[[str], Storage], tmp_path: Path
) -> None:
    bench: Any = storage_of("file").bench
    thread = with_a_file(bench, tmp_path)
    keep(thread, bench.workspace)
    carrier(bench.workspace)
    above = Path(default_storage.path(f"threads/{thread}"))

    def refused(change: Callable[[Path], None]) -> str:
        copy = tmp_path / "copy"
        shutil.copytree(above, copy)
        change(copy / "checkpoint-000004")
        code, _, errors = run("import", str(copy), "--as", "carrier")
        assert code == 1, errors
        assert "Traceback" not in errors
        shutil.rmtree(copy)
        return errors

    def link(target: Path) -> None:
        (target / "state.json").rename(target / "elsewhere")
        (target / "state.json").symlink_to("elsewhere")

    def out(target: Path) -> None:
        with (target / "MANIFEST").open("a") as file:
            file.write(f"{'0' * 64}  ../../../etc/passwd\n")

    def altered(target: Path) -> None:
        (target / "state.json").write_text((target / "state.json").read_text() + " ")

    assert "no MANIFEST" in refused(lambda target: (target / "MANIFEST").unlink())
    assert "state.json is missing" in refused(lambda target: (target / "state.json").unlink())
    assert "state.json in the capsule was altered" in refused(altered)
    assert "is a link" in refused(link)
    assert "does not belong" in refused(out)
    assert len(queries.memberships(get_user_model()._default_manager.get().pk)) == 1
    # A later folder that was not finished does not stand in the way of the whole one.
    later = above / "checkpoint-000009"
    later.mkdir()
    (later / "state.json").write_text("{")
    assert folders.newest(above).name == "checkpoint-000004"


READ = """
import json, sys, django; django.setup()
from uuid import UUID
from checkpoints import queries
from approvals.verification.proof import verify
thread, head = UUID(sys.argv[1]), UUID(sys.argv[2])
print(json.dumps([queries.state_at(thread, head), verify(thread).intact]))
"""


@pytest.mark.slow
@pytest.mark.requirement("B15")
@pytest.mark.parametrize("kind", ["database", "file"])
def test_it_survives_the_process(real_db: str, tmp_path: Path, kind: str) -> None:
    """What the stores in database and files can do, and the one in memory cannot."""
    from tests.unit.workers.conftest import bench_of

    bench = bench_of(agents.module_of(kind))
    thread = bench.start(folder=str(tmp_path))
    bench.advance(thread)
    done = subprocess.run(
        [sys.executable, "-c", READ, str(thread), str(bench.row(thread).head)],
        cwd=ROOT,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "tests.support.settings"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == [bench.state(thread), True]


def test_the_harness_has_it_too() -> None:
    from workers.testing.harness import Harness

    played = Harness(agents.module_of("file").graph).play({"folder": "/tmp"})
    assert played.status == "waiting"
    assert played.state["text"] == text_of(3)
