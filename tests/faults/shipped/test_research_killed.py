"""kill -9 in the middle of a long reading: no note is lost and no source is read twice.

What was read before the kill is deleted before the next worker goes on, so reading it again would
be seen.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from checkpoints import queries, store
from checkpoints.views import ActivityRow
from tests.faults.bench import LEASE, SWEEP, Field, Worker, wait_until

pytestmark = [pytest.mark.hazard, pytest.mark.slow]
GOES_ON = LEASE + SWEEP + 60
PACKAGE, SOURCES, STRUCK = "teahouse", 240, 60
# Long enough that a kill falls between two sources.
FILLER = "\n".join(f"cup_{n} = {n}  # nothing to see" for n in range(400))


@pytest.fixture
def package(ground: Path) -> Iterator[Path]:
    """An installed package of many sources, each with one passage of its own."""
    folder, about = ground / PACKAGE, ground / f"{PACKAGE}-1.0.dist-info"
    folder.mkdir()
    about.mkdir()
    names = [f"{PACKAGE}/leaf_{n:03}.py" for n in range(SOURCES)]
    for n, name in enumerate(names):
        text = f"{FILLER}\n\ndef steep_{n}():\n    '''Steep green leaves for {n} minutes.'''\n"
        (ground / name).write_text(text)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: 1.0\n")
    (about / "RECORD").write_text("".join(f"{name},,\n" for name in names))
    yield ground
    for path in (*folder.iterdir(), *about.iterdir()):
        path.unlink()
    folder.rmdir()
    about.rmdir()


def read(thread: UUID, *states: str) -> dict[str, ActivityRow]:
    """The reading of each source in one of the states, by its file."""
    return {
        a.args["args"][0]["file"]: a
        for a in queries.activities(thread, limit=10 * SOURCES)
        if a.tool == "read_source" and a.state in states
    }


@pytest.mark.requirement("A41")
def test_killed_in_the_middle_every_note_stays_and_no_source_is_read_twice(
    field: Field, worker: Worker, package: Path, tmp_path: Path
) -> None:
    thread = store.start(
        queries.agent("deep-research").id,
        input={"question": "How long do green leaves steep?", "packages": [PACKAGE]},
        workspace=field.workspace,
        actor="user:1",
        title="Tea",
    )
    case = field.adopt(thread, tmp_path)
    wait_until(lambda: len(read(thread, "done")) >= STRUCK, seconds=60, what=case.summary)
    os.kill(case.holder(), signal.SIGKILL)
    before = read(thread, "done")
    assert STRUCK <= len(before) < SOURCES, "the kill was to fall in the middle"
    texts = {name: (package / name).read_text() for name in before}
    for name in before:
        (package / name).unlink()
    case.wait_status("waiting", seconds=GOES_ON)

    assert case.kinds().count("lease.taken_over") == 1
    done = read(thread, "done")
    assert len(done) == SOURCES
    again = [name for name, activity in done.items() if activity.attempts > 1]
    assert len(again) <= 1, "only the source that was being read may be begun again"
    assert not set(again) & set(before)
    state: dict[str, Any] = case.state()
    assert state["skipped"] == []
    noted = Counter(note["file"] for note in state["notes"])
    assert noted == {f"{PACKAGE}/leaf_{n:03}.py": 1 for n in range(SOURCES)}
    for note in state["notes"]:
        text = texts.get(note["file"]) or (package / note["file"]).read_text()
        assert text.split("\n")[note["line"] - 1 : note["end"]] == note["text"].split("\n")
    assert len(state["citations"]) == 12
