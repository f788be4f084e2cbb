"""Every number that the board shows is known, and equals one computed another way by plain SQL.

A page is read as text with the place where it stands. A rule names a place and gives what has to
stand there; a number that no rule names fails the test, so that a new one needs a second source.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any
from uuid import UUID

import pytest

from checkpoints import store
from checkpoints.states import EventKind, Status
from tests.cast import Cast
from tests.checkpoints.builders import bring_to, one, rows

from . import scene

# Not counted: drawings, what people type, ids and hashes, times (times.js writes them anew), values
# of agents, keys to press.
SKIPPED = {"svg", "script", "style", "time", "kbd", "select", "textarea", "title"}
SKIPPED_CLASSES = {"mono", "tree", "hash", "crumb"}
VOID = {"input", "img", "br", "hr", "meta", "link", "use", "path", "circle", "rect"}


class _Reader(HTMLParser):
    """The texts of a page with the elements around each, outermost first."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in VOID:
            return
        given = {name: value or "" for name, value in attrs}
        place = tag + (f"#{given['id']}" if "id" in given else "")
        self.open.append(place + "".join(f".{name}" for name in given.get("class", "").split()))

    def handle_endtag(self, tag: str) -> None:
        while self.open and tag not in VOID:
            if re.split(r"[#.]", self.open.pop())[0] == tag:
                break

    def handle_data(self, data: str) -> None:
        if data.strip() and self.open and ".chip" in self.open[-1]:
            self.open[-1] += f"<{data.split()[0]}>"  # the word that its number belongs to
        if data.strip() and not any(map(_skipped, self.open)):
            self.found.append((" ".join(self.open), " ".join(data.split())))


def _skipped(place: str) -> bool:
    tag, *rest = re.split(r"[#.]", place)
    return tag in SKIPPED or bool(SKIPPED_CLASSES & set(rest))


def numbers(html: str) -> Iterator[tuple[str, str]]:
    """(place, text) of everything in the main part of a page that holds a digit."""
    reader = _Reader()
    reader.feed(html[html.index('<main id="main"') : html.index("</main>")])
    for place, words in reader.found:
        if re.search(r"\d", words):
            yield place, words


@dataclass(frozen=True)
class Rule:
    """Where a number stands, and the text that has to stand there."""

    place: str
    text: Callable[..., str]


def problem(place: str, words: str, rules: list[Rule], *context: Any) -> str:
    """What is wrong with one number: another value than by SQL, or no rule names its place."""
    for rule in rules:
        if match := re.search(rule.place, place):
            wanted = rule.text(*context, *match.groups())
            return "" if words == wanted else f"{place}: {words!r}, by SQL {wanted!r}"
    return f"nobody computes this a second way: {words!r} at {place}"


def quoted(html: str, cast: Cast) -> list[tuple[str, str]]:
    """The numbers of a page outside of its sentences; those in them are looked for in the log."""
    log = " ".join(
        str(row)
        for row in rows(
            "SELECT e.data, t.status_reason, t.waiting_on, t.wake_at FROM gp_event e "
            "JOIN gp_thread t ON t.id = e.thread_id WHERE t.workspace_id = %s", (cast.workspace,),
        )
    )  # fmt: skip
    found = []
    for place, words in numbers(html):
        if not QUOTED.search(place):
            found.append((place, words))
            continue
        for number in re.findall(r"\d+", words.replace(",", "")):
            assert number in log, f"{place}: {words!r} names {number}, the log does not"
    return found


# Sentences quote the log: each number in them is one of an event or a reason.
QUOTED = re.compile(r"li#feed-|tr#event-\d+.* td\.what|td\.c-act|#thread-note|#open-")


# --- a population ---------------------------------------------------------------------------------


def _lived(cast: Cast, agent: UUID, dice: random.Random) -> UUID:
    """A thread of some steps with effects, an edit, perhaps a rollback and a fork."""
    work = scene.lease(scene.start(cast.workspace, agent, by=cast.actor("operator").id))
    scene.effect(work)
    for n in range(dice.randrange(1, 4)):
        scene.step(work, report="x" * dice.randrange(200), findings=["tea"] * n)
    if dice.random() < 0.5:
        scene.gate(work, deadline=None) if dice.random() < 0.3 else scene.gate(work)
    else:
        store.leave(work, EventKind.THREAD_PAUSED)
        for _ in range(dice.randrange(3)):
            values = {"goal": "g" * dice.randrange(3, 30)}
            store.edit(work.thread, changes=values, reason="typo", actor="user:1")
    if dice.random() < 0.5:
        first = one(
            "SELECT id FROM gp_checkpoint WHERE thread_id = %s AND number = 1", (work.thread,)
        )
        store.fork(work.thread, checkpoint=first, changes={"goal": "weather"}, actor="user:1")
    return work.thread


@pytest.fixture(params=[1, 2, 3])
def population(request: pytest.FixtureRequest, cast: Cast) -> list[UUID]:
    """Threads in all statuses, with forks, edits, requests and effects; different each time."""
    dice = random.Random(request.param)
    agents = [scene.make_agent("research"), scene.make_agent("payments")]
    scene.alive(*agents)
    threads = []
    for status in Status:
        for _ in range(dice.randrange(1, 4)):
            thread = scene.start(cast.workspace, dice.choice(agents))
            bring_to(thread, status)
            threads.append(thread)
    threads += [_lived(cast, dice.choice(agents), dice) for _ in range(6)]
    rows("UPDATE gp_thread SET title = 'Delays in winter'")
    return threads


# --- the board ------------------------------------------------------------------------------------


def _of_status(cast: Cast, status: str) -> str:
    return str(
        one(
            "SELECT count(*) FROM gp_thread WHERE workspace_id = %s AND status = %s",
            (cast.workspace, status),
        )
    )


def _step(cast: Cast, thread: str) -> str:
    """The newest checkpoint on the thread's branch says how many steps were merged."""
    return "step " + str(
        one(
            "SELECT c.step FROM gp_checkpoint c JOIN gp_thread t ON t.id = c.thread_id "
            "AND t.head = c.id WHERE t.id = %s",
            (thread,),
        )
    )


BOARD = [
    Rule(r"li#count-(\w+) .*span\.v$", _of_status),
    Rule(r"tr#lane-head-(\w+)\.?.* span\.num", _of_status),
    Rule(r"tr#thread-([0-9a-f-]{36}) td\.c-node span", _step),
    Rule(
        r"#board-feed\S* header span",
        lambda cast: "newest " + str(min(20, one(
            "SELECT count(*) FROM (SELECT 1 FROM gp_event e JOIN "
            "(SELECT id, last_seq FROM gp_thread WHERE workspace_id = %s "
            "ORDER BY status_since DESC, id DESC LIMIT 50) t "
            "ON t.id = e.thread_id AND e.seq > t.last_seq - 10) x", (cast.workspace,),
        ))),
    ),
]  # fmt: skip


def test_every_number_of_the_board(cast: Cast, population: list[UUID]) -> None:
    for role in ("operator", "manager", "auditor"):
        client = cast.client(role)
        for query in ("", "?status=failed,waiting", "?status=succeeded"):
            found = quoted(client.get(f"/{query}").content.decode(), cast)
            assert len(found) > len(Status)
            wrong = [problem(place, words, BOARD, cast) for place, words in found]
            assert not [*filter(None, wrong)]
