"""The index of the history is made anew by a command while people ask the record."""

from __future__ import annotations

import html
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest

from checkpoints import store
from dashboard.identity.permissions import actor_of
from dashboard.kit.action import read
from dashboard.questions.ask import ASK_RECORD, AskRecord, RecordAnswer
from tests.faults.embedded.helpers import wait_until
from tests.support.cast import Cast, make_cast
from tests.unit.benchmarks.test_flat_in_threads import connected
from tests.unit.checkpoints.builders import one
from tests.unit.dashboard import scene
from tests.unit.dashboard.questions.test_asking import tell

pytestmark = [
    pytest.mark.hazard,
    pytest.mark.usefixtures("real_db"),
    pytest.mark.requirement("B40"),
]
ROOT: Final = Path(__file__).resolve().parents[3]
# Numbers of ships: none is also a number of hours.
FIRST, SHIPS = 100, 1_200
HELD: Final = 4711
# Whoever adds words to the index waits here, as behind a slow disk.
SLOW: Final = f"""
CREATE FUNCTION slow_disk() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_advisory_xact_lock_shared({HELD}); RETURN NULL; END $$;
CREATE TRIGGER slow_disk AFTER INSERT ON gp_indexed_event
FOR EACH STATEMENT EXECUTE FUNCTION slow_disk();
"""


@pytest.fixture
def cast() -> Cast:
    """People, and a thread of many events that are all in the index."""
    made = make_cast()
    work = scene.lease(scene.start(made.workspace, scene.make_agent()))
    for begin in range(FIRST, FIRST + SHIPS, 400):
        tell(work, *(f"Ship {n} was late by {n % 37} hours." for n in range(begin, begin + 400)))
    fill()
    return made


def fill() -> None:
    while store.index_history():
        pass


@contextmanager
def rebuild() -> Iterator[subprocess.Popen[str]]:
    """The command, in a process of its own."""
    command = [sys.executable, "-W", "ignore", str(ROOT / "manage.py"), "index", "--rebuild"]
    with subprocess.Popen(
        [*command, "--json"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def ended_well(process: subprocess.Popen[str]) -> int:
    """The number of events that it added."""
    printed, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    return int(json.loads(printed)["events"])


def ask(cast: Cast, number: int) -> RecordAnswer:
    """The answer about a ship: the right one, or it says that the index is being made."""
    wanted = read(AskRecord, {"question": f"How many hours was ship {number} late?"})
    answer: RecordAnswer = ASK_RECORD.run(actor_of(cast.users["viewer"]), wanted)
    texts = [sentence.text for sentence in answer.sentences]
    if texts or answer.complete:
        assert texts == [f"Ship {number} was late by {number % 37} hours."], answer
    return answer


@contextmanager
def slow_disk() -> Iterator[psycopg.Connection[Any]]:
    """Nobody adds words to the index until the lock is given back."""
    with connected() as holder:
        holder.execute(SLOW, prepare=False)
        holder.execute("SELECT pg_advisory_lock(%s)", (HELD,))
        yield holder


def test_each_answer_is_right_or_says_that_the_index_is_being_made(cast: Cast) -> None:
    number = 0
    with rebuild() as process:
        while process.poll() is None or number < 20:
            ask(cast, FIRST + number * 7 % SHIPS)
            number += 1
        ended_well(process)
    fill()
    assert ask(cast, FIRST).complete


def test_while_words_are_missing_nothing_is_called_not_in_the_record(cast: Cast) -> None:
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with slow_disk() as holder, rebuild() as process:
        wait_until(lambda: one(waiting) == 1, seconds=60, what="the command that adds words")
        assert one("SELECT count(*) FROM gp_indexed_event") == 0
        early = ask(cast, FIRST)
        assert (early.in_record, early.complete) == (False, False)
        late = ask(cast, FIRST + SHIPS - 1)  # one of the newest, which are read without an index
        assert (late.in_record, late.complete) == (True, False)
        client = cast.client("viewer")
        made = client.post("/questions/", {"question": f"How many hours was ship {FIRST} late?"})
        assert made.status_code == 303, made.content
        page = html.unescape(client.get(made["Location"]).content.decode())
        assert "The index is being made" in page
        assert "not in the record" not in page
        holder.execute("SELECT pg_advisory_unlock(%s)", (HELD,))
        added = ended_well(process)
    assert added >= SHIPS
    assert one("SELECT count(*) FROM gp_indexed_event") >= SHIPS
    fill()
    answer = ask(cast, FIRST)
    assert (answer.in_record, answer.complete) == (True, True)
    assert one("SELECT count(*) FROM gp_record_question") == 4
