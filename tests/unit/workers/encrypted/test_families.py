"""Children and successors of threads with encrypted channels: sealed before they are recorded."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

import pytest
from django.db import connection

from checkpoints import queries, store
from checkpoints.state.encrypted import is_envelope
from tests.contract.secrets import grep
from tests.support.cast import Cast
from tests.unit.workers.tree.conftest import Fleet
from workers.authoring.graph import END, Encrypted, Graph, State
from workers.code.registry import announce
from workers.node.context import Context

from .agent import NEWER, WORD

pytestmark = pytest.mark.django_db
SPAWNED: list[str] = []


class Lead(State):
    cases: list[str] = []
    note: Annotated[str, Encrypted(readers=("admin",))] = ""
    children: list[dict[str, str]] = []
    answers: list[int] = []


class Patient(State):
    diagnosis: Annotated[str, Encrypted(readers=("auditor",))] = ""
    answer: Annotated[str, Encrypted(readers=("auditor",))] = ""


class Writer(State):
    note: Annotated[str, Encrypted(readers=("auditor",))] = ""
    letter: Annotated[str, Encrypted(readers=("auditor",))] = "none"
    length: int = 0


class Open(State):
    note: str = ""


patient = Graph("patient", Patient)


@patient.node(then=END)
def treat(state: Patient, ctx: Context) -> dict[str, Any]:
    return {"answer": state.diagnosis.upper()}


lead = Graph("lead", Lead)


@lead.node(then="combine")
def start(state: Lead, ctx: Context) -> dict[str, Any]:
    SPAWNED.append("worked")
    children = [ctx.spawn("patient", {"diagnosis": f"{state.note} {n}"}) for n in state.cases]
    if len(SPAWNED) == 1:
        raise RuntimeError("once")  # worked again from its start: what was spawned is answered
    return {"children": children}


@lead.node(then="leave")
def combine(state: Lead, ctx: Context) -> dict[str, Any]:
    joined = ctx.join(state.children)
    assert all(one["answer"].startswith(state.note.upper()) for one in joined.results)
    return {"answers": [len(one["answer"]) for one in joined.results]}


@lead.node(then=END)
def leave(state: Lead, ctx: Context) -> dict[str, Any]:
    ctx.hand_off("writer", {"letter": NEWER})
    return {"note": state.note}


writer = Graph("writer", Writer)


@writer.node(then=END)
def write(state: Writer, ctx: Context) -> dict[str, Any]:
    assert (state.note, state.letter) == (WORD, NEWER)
    return {"length": len(state.note)}


careless = Graph("careless", Lead)


@careless.node(then=END)
def hand(state: Lead, ctx: Context) -> dict[str, Any]:
    ctx.hand_off("open")
    return {"cases": []}


open_to_all = Graph("open", Open)


@open_to_all.node(then=END)
def end(state: Open, ctx: Context) -> dict[str, Any]:
    return {"note": "never"}


@pytest.fixture
def fleet(cast: Cast) -> Fleet:
    SPAWNED.clear()
    graphs = (patient, lead, writer, careless, open_to_all)
    return Fleet({one.name: announce(one, {}, ()) for one in graphs}, cast.workspace)


def work(fleet: Fleet) -> None:
    for _ in range(50):
        with connection.cursor() as cursor:
            cursor.execute("UPDATE gp_thread SET wake_at = clock_timestamp() WHERE wake_at > now()")
        store.wake_sleepers(owner="sweep")
        store.deliver_due(actor="sweep", older_than_seconds=0)
        if not fleet.queued():
            return
        fleet.work()


def test_children_and_successors_get_values_and_records_get_none(fleet: Fleet) -> None:
    thread = fleet.start("lead", note=WORD, cases=["one", "two"])
    work(fleet)
    assert "RuntimeError: once" in fleet.row(thread).status_reason
    store.retry(thread, actor="user:1")
    work(fleet)
    row = fleet.row(thread)
    assert row.status == "succeeded", row.status_reason
    assert fleet.state(thread)["answers"] == [len(WORD) + 4] * 2
    children = fleet.children(thread)
    assert len(children) == 2, "what was spawned is answered from its record"
    assert len(SPAWNED) == 2
    opened = [store.opened(child, fleet.state(child)) for child in children]
    assert {one["diagnosis"] for one in opened} == {f"{WORD} one", f"{WORD} two"}
    (event,) = [e for e in queries.events_after(thread, 0) if e.kind == "thread.handed_off"]
    heir = UUID(event.data["thread"])
    assert fleet.row(heir).status == "succeeded", fleet.row(heir).status_reason
    state = fleet.state(heir)
    assert state["length"] == len(WORD)
    assert store.reading_cipher(heir).open("letter", state["letter"]) == NEWER
    assert is_envelope(state["note"])
    for text in (WORD, WORD.upper(), NEWER):
        assert grep.everywhere(text) == set()
    fleet.verify()


def test_a_successor_that_would_keep_it_plain_is_refused(fleet: Fleet) -> None:
    thread = fleet.start("careless", note=WORD)
    work(fleet)
    row = fleet.row(thread)
    assert row.status == "failed"
    assert "$.note: is encrypted here and not in 'open'" in row.status_reason
    assert grep.everywhere(WORD) == set()
