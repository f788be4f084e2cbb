"""What a thread that keeps nothing promises of the contract: its state, turn by turn, in memory."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Annotated, Any
from uuid import UUID

import pytest

from checkpoints.durabilities import EPHEMERAL, FORGOTTEN
from checkpoints.ephemeral import copies
from checkpoints.errors import NotAllowedNow
from checkpoints.states import Status
from tests.faults.embedded.helpers import ROOT
from tests.unit.checkpoints.builders import rows
from tests.unit.workers.conftest import Bench, bench_of
from workers.authoring.graph import END, Append, Graph, Merge, State, Sum
from workers.node.context import Context
from workers.slot import loop
from workers.slot.claims import take

from .agents import LARGE, text_of

pytestmark = pytest.mark.requirement("B15")


class Book(State):
    text: str = ""
    pages: Annotated[list[str], Append()] = []
    index: Annotated[dict[str, Any], Merge()] = {}
    done: Annotated[int, Sum()] = 0
    messages: Annotated[list[dict[str, Any]], Append()] = []


graph = Graph("book-of-turns", Book, message_channel="messages", durability=EPHEMERAL, ttl=600)


@graph.node(then=END)
def write(state: Book, ctx: Context) -> dict[str, Any]:
    if state.messages and state.messages[-1]["content"] == "fail":
        raise ValueError("on demand")
    number = ctx.activity(lambda number: number, state.done)
    return {
        "text": text_of(number),
        "pages": [f"page {number}"],
        "index": {f"page {number}": number},
        "done": 1,
    }


@pytest.fixture
def bench(db: None, monkeypatch: pytest.MonkeyPatch) -> Bench:
    made = bench_of(SimpleNamespace(__name__="book.turns", __file__=__file__, graph=graph))
    monkeypatch.setattr(loop, "agents", lambda: {graph.name: made.agent})
    return made


def turn(bench: Bench, thread: UUID) -> Status:
    work = take(thread, owner="worker:test", agents={graph.name: bench.agent})
    assert work is not None
    loop.work_on(work)
    return bench.row(thread).status


def next_turn(bench: Bench, thread: UUID, text: str = "more") -> Status:
    message = {"role": "user", "content": text}
    copies.send(thread, queue="gatepost", message=message, actor="user:1", ttl=600)
    return turn(bench, thread)


def state_of(thread: UUID) -> dict[str, Any]:
    copy = copies.load(thread)
    assert copy is not None
    return {name: value for name, value in copy.state.items() if name != "messages"}


def after(turns: int) -> dict[str, Any]:
    """The state after so many turns."""
    return {
        "text": text_of(turns - 1),
        "pages": [f"page {number}" for number in range(turns)],
        "index": {f"page {number}": number for number in range(turns)},
        "done": turns,
    }


def test_each_turn_has_its_state(bench: Bench) -> None:
    thread = bench.start()
    assert turn(bench, thread) is Status.SUCCEEDED
    for turns in range(1, 6):
        assert state_of(thread) == after(turns)
        assert next_turn(bench, thread) is Status.SUCCEEDED
    assert bench.intact(thread)
    assert bench.checkpoints(thread) == []
    assert rows("SELECT count(*) FROM gp_content WHERE thread_id = %s", [thread]) == [(0,)]


def test_what_is_added_to_a_large_value_of_the_input(bench: Bench) -> None:
    pages, index = ["p" * LARGE, "q"], {"p": "r" * LARGE, "q": 7}
    thread = bench.start(pages=pages, index=index)
    assert turn(bench, thread) is Status.SUCCEEDED
    assert next_turn(bench, thread) is Status.SUCCEEDED
    state = state_of(thread)
    assert state["pages"] == [*pages, "page 0", "page 1"]
    assert state["index"] == index | {"page 0": 0, "page 1": 1}


def test_a_value_never_becomes_a_reference(bench: Bench) -> None:
    index = {"put": {"text": {"sha256": "0" * 64, "size": 3}}, "$content": "0" * 64}
    thread = bench.start(index=index)
    assert turn(bench, thread) is Status.SUCCEEDED
    assert state_of(thread)["index"] == index | {"page 0": 0}


def test_a_turn_that_fails_leaves_the_state_before_it(bench: Bench) -> None:
    thread = bench.start()
    turn(bench, thread)
    assert next_turn(bench, thread, "fail") is Status.FAILED
    assert state_of(thread) == after(1)
    assert next_turn(bench, thread) is Status.SUCCEEDED
    assert state_of(thread) == after(2)


@pytest.mark.parametrize("part", [(), ("list", "pages")], ids=["document", "list"])
def test_a_lost_copy_is_said_and_never_made_up(bench: Bench, part: tuple[str, ...]) -> None:
    thread = bench.start()
    turn(bench, thread)
    message = {"role": "user", "content": "more"}
    copies.send(thread, queue="gatepost", message=message, actor="user:1", ttl=600)
    with copies._valkey() as valkey:
        assert valkey.delete(copies._key(thread, *part)) == 1
    assert turn(bench, thread) is Status.FAILED
    assert bench.row(thread).status_reason == FORGOTTEN
    assert copies.load(thread) is None
    if not part:
        with pytest.raises(NotAllowedNow, match="Start a new thread"):
            copies.send(thread, queue="gatepost", message=message, actor="user:1", ttl=600)


@pytest.mark.slow
def test_another_process_reads_the_state(bench: Bench) -> None:
    thread = bench.start()
    turn(bench, thread)
    program = (
        "import django; django.setup()\n"
        "from uuid import UUID\n"
        "from checkpoints.ephemeral import copies\n"
        f"copy = copies.load(UUID({str(thread)!r}))\n"
        "print(copy.state['pages'], copy.state['done'], len(copy.state['text']))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split("\n")[0] == f"['page 0'] 1 {len(text_of(0))}", done.stderr
