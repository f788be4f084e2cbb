"""Commands as people and scripts meet them: terminal or pipe, exit codes, Ctrl-C, servers away."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from checkpoints import queries, store
from checkpoints.states import EventKind, Status
from dashboard.operate.embedded.process.lock import DataLock
from tests.support.cast import Cast, make_cast
from tests.unit.dashboard import scene
from tests.unit.dashboard.command_list import command_named
from tests.unit.dashboard.terminals import argv, environment, manage, on_terminal

AWAY = environment(DATABASE_URL="postgresql://gatepost@127.0.0.1:1/gatepost")
COLOUR = re.compile(r"\x1b\[[0-9;]*3[0-7]")


def parser_of(name: str) -> Any:
    return command_named(name).create_parser("./manage.py", name)


def help_of(name: str) -> str:
    return str(parser_of(name).format_help())


def verbs_of(name: str) -> list[str]:
    return [verb.name for verb in command_named(name).verbs]


@pytest.fixture
def people(real_db: str) -> Cast:
    return make_cast()


@pytest.fixture
def thread(people: Cast) -> UUID:
    """A thread with two steps and an effect that can be undone, paused."""
    work = scene.lease(scene.start(people.workspace, scene.make_agent()))
    scene.step(work, report="one")
    scene.effect(work)
    scene.step(work, report="two", leave_by=EventKind.THREAD_PAUSED)
    return work.thread


@pytest.mark.nightly
def test_a_table_for_eyes_and_tabs_for_pipes(thread: UUID, people: Cast) -> None:
    scene.waiting(people.workspace, scene.make_agent())
    code, shown = on_terminal("threads", "list")
    assert code == 0
    assert "status" in shown
    assert "title" in shown
    assert COLOUR.search(shown)
    assert str(thread) in shown
    _, plain = on_terminal("threads", "list", NO_COLOR="1")
    assert not COLOUR.search(plain)
    piped = manage("threads", "list", "--status", "paused")
    assert (piped.returncode, piped.stderr) == (0, "")
    (line,) = piped.stdout.splitlines()
    cells = line.split("\t")
    assert (cells[0], cells[1], len(cells)) == (str(thread), "paused", 6)
    assert "\x1b" not in manage("threads", "show", thread).stdout


@pytest.mark.slow
def test_json_is_one_document_and_notes_go_elsewhere(thread: UUID) -> None:
    done = manage("threads", "start", "research", "--set", "goal=weather", "--json")
    assert json.loads(done.stdout)["status"] == "queued"
    assert done.stderr == "Started.\n"


@pytest.mark.nightly
def test_a_reader_that_goes_away_is_no_error(thread: UUID) -> None:
    for words in (("threads", "events", thread), ("doctor",)):
        reading, writing = os.pipe()
        os.close(reading)
        done = manage(*words, capture_output=False, stdout=writing, stderr=subprocess.PIPE)
        os.close(writing)
        assert done.returncode == 141
        assert "Traceback" not in done.stderr
        assert "Broken" not in done.stderr


@contextlib.contextmanager
def following(thread: UUID, *words: str) -> Iterator[subprocess.Popen[str]]:
    """`threads events --follow` in a process of its own, as a terminal would start it."""
    # Where the tests themselves were started in the background, Ctrl-C is ignored and inherited so.
    heard = (
        "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); "
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    with subprocess.Popen(
        [sys.executable, "-c", heard, *argv("threads", "events", thread, "--follow", *words)],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.nightly
def test_following_shows_each_event_once_and_ends_with_the_thread(thread: UUID) -> None:
    with following(thread, "--json") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        lines = [process.stdout.readline()]
        store.cancel(thread, actor="user:1", reason="enough")
        lines += process.stdout  # ends with the process
        assert (process.wait(30), process.stderr.read()) == (0, "")
    messages = [json.loads(line) for line in lines]
    assert [e["seq"] for e in messages] == [e.seq for e in queries.events_after(thread, 0)]
    assert messages[-1]["kind"] == "thread.cancelled"


@pytest.mark.nightly
def test_following_survives_a_database_that_goes_away_for_a_moment(thread: UUID) -> None:
    with following(thread, "--json") as process:
        assert process.stdout is not None
        lines = [process.stdout.readline()]
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                "WHERE application_name = 'gatepost-command' AND datname = current_database()"
            )
            assert cursor.fetchone()[0] == 1
        store.cancel(thread, actor="user:1", reason="enough")
        lines += process.stdout
        assert process.wait(30) == 0
    assert [json.loads(line)["seq"] for line in lines] == [
        e.seq for e in queries.events_after(thread, 0)
    ]


@pytest.mark.slow
def test_ctrl_c_is_quiet(thread: UUID) -> None:
    with following(thread) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=30)
    assert (process.returncode, complaint) == (130, "")


@pytest.mark.nightly
def test_a_rollback_shows_its_plan_and_asks(thread: UUID, people: Cast) -> None:
    words = ("threads", "rollback", thread, "1", "--reason", "wrong data")
    unasked = manage(*words)
    assert unasked.returncode == 2
    assert unasked.stderr.splitlines()[-1] == "--yes is needed where nobody can be asked."
    code, shown = on_terminal(*words, typed="n\n")
    assert code == 0
    assert "1 of 1 effects" in shown
    assert "Nothing was done." in shown
    assert queries.thread(thread, workspace=people.workspace).status is Status.PAUSED
    code, shown = on_terminal(*words, typed="y\n")
    assert code == 0
    assert queries.thread(thread, workspace=people.workspace).status is Status.ROLLING_BACK


@pytest.mark.nightly
@pytest.mark.parametrize(
    "words",
    [
        ("threads", "look"),
        ("threads", "list", "--limit", "0"),
        ("threads", "list", "--lim", "3"),  # options are never guessed
        ("agent",),
    ],
)
def test_called_wrongly(words: tuple[str, ...]) -> None:
    done = manage(*words)
    assert done.returncode == 2
    assert "usage:" in done.stderr
    assert done.stdout == ""


@pytest.mark.nightly
@pytest.mark.parametrize(
    "words",
    [
        ("threads", "events", "0199abcd", "--follow"),
        ("login_link",),
        ("doctor", "0199abcd"),
    ],
)
def test_the_database_is_away(words: tuple[str, ...]) -> None:
    done = manage(*words, env=AWAY)
    assert done.returncode == 4
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("The database does not answer; is Gatepost up?")


@pytest.mark.parametrize(
    "command", ["threads", "approve", "agent", "doctor", "login_link", "reset", "token"]
)
def test_help_has_examples_and_exit_codes(command: str) -> None:
    message = help_of(command)
    assert "examples:\n  ./manage.py " in message
    assert "exit codes: 0 done, 1 refused" in message
    assert "--pythonpath" not in message


def test_each_verb_has_help_and_json() -> None:
    for command in ("threads", "agent", "token"):
        for verb in verbs_of(command):
            string_io = io.StringIO()
            with pytest.raises(SystemExit) as ended, contextlib.redirect_stdout(string_io):
                parser_of(command).parse_args([verb, "--help"])
            assert ended.value.code == 0
            assert "--json" in string_io.getvalue(), f"{command} {verb}"


@pytest.mark.nightly
def test_the_data_folder_can_be_named(tmp_path: Path, people: Cast) -> None:
    elsewhere = tmp_path / "elsewhere"
    env = environment()
    for name in ("GATEPOST_DATABASE", "GATEPOST_DATA"):
        env.pop(name, None)
    for form in (("--data-dir", str(elsewhere)), (f"--data-dir={elsewhere}",)):
        done = manage("threads", "list", *form, env=env)
        assert done.returncode == 4
        assert "does not answer" in done.stderr
    here = manage("threads", "list", "--data-dir", os.environ["GATEPOST_DATA"])
    assert here.returncode == 0


@pytest.mark.nightly
def test_login_link(people: Cast) -> None:
    link = manage("login_link", "manager", "--base", "https://gate.example/").stdout.strip()
    assert re.fullmatch(r"https://gate\.example/welcome/\?sesame=[\w-]+", link)
    payload = json.loads(manage("login_link", "--json").stdout)
    assert (payload["user"], payload["valid_seconds"]) == ("operator", 600)
    ghost = manage("login_link", "ghost")
    assert (ghost.returncode, ghost.stderr) == (3, "There is no active user ghost.\n")


@pytest.mark.nightly
def test_reset_says_what_goes_asks_and_deletes(tmp_path: Path) -> None:
    data = tmp_path / "data"
    missing = manage("reset", "--yes", "--data-dir", data)
    assert missing.returncode == 3
    assert "nothing was deleted" in missing.stderr
    assert not data.exists(), "asking about a folder does not make it"
    data.mkdir()
    (data / "gatepost.lock").touch()
    (data / "artifacts").write_bytes(b"x" * 2_000)
    held = DataLock(data).take()
    try:
        busy = manage("reset", "--yes", "--data-dir", data)
    finally:
        held.release()
    assert busy.returncode == 1
    assert "already uses" in busy.stderr
    unasked = manage("reset", "--data-dir", data)
    assert unasked.returncode == 2
    assert "2.0 kB" in unasked.stderr
    code, shown = on_terminal("reset", "--data-dir", data, typed="n\n")
    assert code == 0
    assert "threads, events" in shown
    assert (data / "artifacts").exists()
    payload = json.loads(manage("reset", "--yes", "--json", "--data-dir", data).stdout)
    assert payload["deleted"] is True
    assert not data.exists()
