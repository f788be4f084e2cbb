"""`watch FOLDER`: files of agents that know nothing of Gatepost are threads, and followed."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from approvals.verification.proof import verify
from checkpoints import queries
from checkpoints.states import Status
from checkpoints.views import ThreadRow
from dashboard.errors import Conflict
from dashboard.external import observed_threads
from dashboard.identity.permissions import THREAD_ACTIONS, allowed_actions
from dashboard.kit.shapes.requests import Nothing
from dashboard.operate.agents.watched_files import Folder, Seen
from dashboard.threads.cancel import cancel
from dashboard.threads.edit import edit
from dashboard.threads.fork import fork
from dashboard.threads.input import INPUT, SendInput
from dashboard.threads.pause import PAUSE, RESUME, Pause, Resume
from dashboard.threads.retry import RETRY
from dashboard.threads.roll_back import roll_back
from dashboard.threads.signal import SIGNAL, SendSignal
from dashboard.threads.skip import SKIP, Skip
from tests.faults.bench import wait_until
from tests.support.cast import Cast, make_cast
from tests.support.settled import settle
from tests.unit.dashboard.terminals import argv, environment, manage

FIRST = {"session_id": "s-1", "step": "researching", "status": "running", "artifacts": []}


def write(path: Path, state: Any) -> None:
    """As agents should: whole, under another name first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}")
    scratch.write_text(state if isinstance(state, str) else json.dumps(state))
    scratch.replace(path)


def row_of(thread: UUID) -> ThreadRow:
    return queries.thread(thread, workspace=queries.default_workspace())


@pytest.fixture
def folder(cast: Cast, tmp_path: Path) -> Folder:
    return Folder(tmp_path, "researcher", cast.actor("operator"))


def look(folder: Folder, *, patient: bool = False) -> dict[str, Seen]:
    return {seen.file: seen for seen in folder.look(patient=patient)}


@pytest.mark.django_db
@pytest.mark.requirement("B45")
def test_each_file_is_a_thread_and_each_change_a_checkpoint(folder: Folder) -> None:
    file = folder.path / "a" / "state.json"
    write(file, FIRST)
    write(folder.path / "b" / "state.json", {"n": 1})
    seen = look(folder)
    assert {name: one.result for name, one in seen.items()} == {
        "a/state.json": "kept",
        "b/state.json": "kept",
    }
    thread = seen["a/state.json"].thread
    assert thread is not None
    row = row_of(thread)
    assert (row.agent, row.name, row.title) == ("researcher", "a/state.json", "s-1")
    assert (row.status, row.number) == (Status.PAUSED, 0)
    assert look(folder) == {}
    states = [FIRST]
    for change in ({"step": "writing"}, {"artifacts": ["draft.md"]}, {"summary": "done soon"}):
        states.append(states[-1] | change)
        write(file, states[-1])
        assert look(folder)["a/state.json"].result == "kept"
    past = [queries.checkpoint_by_number(thread, n) for n in range(4)]
    assert [queries.state_at(thread, point.id) for point in past] == states
    assert [point.source for point in past] == ["input", "step", "step", "step"]
    assert verify(thread).intact


@pytest.mark.django_db
def test_looked_at_from_the_beginning_nothing_is_kept_twice(folder: Folder) -> None:
    write(folder.path / "state.json", FIRST)
    first = look(folder)["state.json"]
    again = look(Folder(folder.path, folder.agent, folder.actor))["state.json"]
    assert (again.result, again.thread) == ("unchanged", first.thread)
    assert first.thread is not None
    before = row_of(first.thread).last_seq
    write(folder.path / "state.json", dict(reversed(FIRST.items())))  # the same in another order
    assert look(folder)["state.json"].result == "unchanged"
    assert row_of(first.thread).last_seq == before


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"step": "wri', "$"),
        ("", "$"),
        ("[1, 2]", "must be an object"),
        ('{"a": NaN}', "$"),
        ('{"a": 1, "a": 2}', "$"),
        ('{"a": 9007199254740993}', "$.a"),
        ('{"a": "\\u0000"}', "$.a"),
        ("\ud800", "$"),
    ],
)
def test_what_cannot_be_read_is_reported_and_the_rest_goes_on(
    folder: Folder, text: str, why: str
) -> None:
    bad = folder.path / "bad.json"
    bad.write_bytes(text.encode("utf-8", "surrogatepass"))
    write(folder.path / "good.json", FIRST)
    assert {n: s.result for n, s in look(folder, patient=True).items()} == {"good.json": "kept"}
    refused = look(folder, patient=True)["bad.json"]
    assert refused.result == "refused"
    assert why in refused.why
    assert look(folder, patient=True) == {}
    write(bad, FIRST)
    assert look(folder, patient=True)["bad.json"].result == "kept"


@pytest.mark.django_db
def test_how_the_agent_says_it_stands_is_shown_and_an_end_stays_the_end(folder: Folder) -> None:
    file = folder.path / "state.json"
    write(file, FIRST | {"status": "failed"})
    thread = look(folder)["state.json"].thread
    assert thread is not None
    assert row_of(thread).status is Status.FAILED
    write(file, FIRST | {"status": "running", "step": "again"})
    assert look(folder)["state.json"].thread == thread
    assert row_of(thread).status is Status.PAUSED
    write(file, FIRST | {"status": "Completed"})
    assert look(folder)["state.json"].thread == thread
    assert row_of(thread).status is Status.SUCCEEDED
    write(file, FIRST | {"step": "a second time"})
    second = look(folder)["state.json"].thread
    assert second is not None
    assert second != thread
    assert row_of(second).name == "state.json (2)"
    again = look(Folder(folder.path, folder.agent, folder.actor))["state.json"]
    assert (again.result, again.thread) == ("unchanged", second)


@pytest.mark.django_db
def test_they_are_watched_and_not_controlled_and_say_so(folder: Folder, cast: Cast) -> None:
    write(folder.path / "state.json", FIRST)
    thread = look(folder)["state.json"].thread
    assert thread is not None
    row = row_of(thread)
    possible = allowed_actions(cast.actor("operator"), row)
    assert [name for name in THREAD_ACTIONS if possible[name].allowed] == []
    operator = cast.actor("operator")
    attempts: list[Callable[[], object]] = [
        lambda: PAUSE.run(operator, Pause(), thread),
        lambda: RESUME.run(operator, Resume(), thread),
        lambda: RETRY.run(operator, Nothing(), thread),
        lambda: SKIP.run(operator, Skip(node="work", reason="not needed"), thread),
        lambda: cancel(operator, thread),
        lambda: edit(operator, thread, {"step": "x"}, "why"),
        lambda: fork(operator, thread, row.head),
        lambda: roll_back(operator, thread, row.head, "why"),
        lambda: INPUT.run(operator, SendInput(message="x"), thread),
        lambda: SIGNAL.run(operator, SendSignal(name="x"), thread),
        lambda: settle(operator, thread, UUID(int=1), "happened"),
    ]
    refusals = 0
    for attempt in attempts:
        with pytest.raises(Conflict, match="is watched, not controlled"):
            attempt()
        refusals += 1
    assert refusals == len(THREAD_ACTIONS)
    client = cast.client("operator")
    page = client.get(f"/threads/{thread}/").content.decode()
    assert "Watched, not controlled" in page
    answer = client.get(f"/api/v1/threads/{thread}/").json()
    assert answer["external"] == {"framework": "state.json", "can": [], "watched": True}
    assert answer["why_waiting"]["kind"] == "watched"


@pytest.mark.django_db
def test_somebody_who_may_not_work_watches_nothing(cast: Cast, tmp_path: Path) -> None:
    write(tmp_path / "state.json", FIRST)
    for who in ("auditor", "manager"):
        (seen,) = Folder(tmp_path, "researcher", cast.actor(who)).look(patient=False)
        assert (seen.result, "role" in seen.why) == ("refused", True)
    with pytest.raises(Exception, match="role"):
        observed_threads.keep_state(
            cast.actor("auditor"), agent="x", name="x", state={}, framework="state.json"
        )


@pytest.mark.nightly
def test_the_command_follows_a_folder_until_it_is_stopped(real_db: str, tmp_path: Path) -> None:
    make_cast()
    folder = tmp_path / "sessions"
    write(folder / "one.json", FIRST)
    once = manage("watch", folder, "--once", "--json", "--as", "operator")
    assert once.returncode == 0, once.stderr
    (row,) = json.loads(once.stdout)
    assert (row["file"], row["result"], row["checkpoint"]) == ("one.json", "kept", 0)
    printed = tmp_path / "printed.txt"
    with (
        printed.open("w") as out,
        subprocess.Popen(
            argv("watch", folder, "--json", "--as", "operator"),
            env=environment(PYTHONUNBUFFERED="1"),
            stdout=out,
            stderr=out,
            # A run in the background ignores SIGINT, and its children would inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        ) as process,
    ):
        try:
            wait_until(lambda: '"unchanged"' in printed.read_text(), what=printed.read_text)
            (folder / "half.json").write_text('{"step": "wri')
            wait_until(lambda: "half.json" in printed.read_text(), what=printed.read_text)
            write(folder / "half.json", FIRST)
            write(folder / "one.json", FIRST | {"step": "writing"})
            done = lambda: printed.read_text().count('"kept"') == 2  # noqa: E731
            wait_until(done, what=printed.read_text)
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 130
        finally:
            process.kill()  # or the block would wait for ever
    thread = row_of(UUID(row["thread"]))
    assert (thread.number, thread.status) == (1, Status.PAUSED)
