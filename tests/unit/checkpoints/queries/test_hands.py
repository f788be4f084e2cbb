"""Whose hands a thread went through, over all its bases and as far as its way goes."""

from __future__ import annotations

import pytest
from django.test.utils import CaptureQueriesContext

from checkpoints import queries, store
from tests.unit.workers.conftest import Bench, bench_of
from tests.unit.workers.graphs.effects import gated

pytestmark = pytest.mark.django_db


def hands(bench: Bench, thread: object) -> tuple[str, ...]:
    from django.db import connection

    row = bench.row(thread)  # type: ignore[arg-type]
    with CaptureQueriesContext(connection) as request:
        result = queries.hands_on(row.id, row.head)
    assert len(request) == 1
    return result


@pytest.mark.slow
def test_whoever_started_forked_or_edited_is_named_once(db: None) -> None:
    bench = bench_of(gated)
    thread = bench.start()
    assert hands(bench, thread) == ("user:1",)
    bench.advance(thread)
    store.edit(thread, changes={"amount": "1.00"}, reason="r", actor="user:7/token:k3x9mq2p")
    assert hands(bench, thread) == ("user:1", "user:7"), "a token's owner is the person"
    store.resume(thread, actor="user:99")
    bench.advance(thread)
    assert hands(bench, thread) == ("user:1", "user:7"), "whoever resumes it changes nothing"
    point = bench.row(thread).head
    fork = store.fork(thread, checkpoint=point, changes={}, actor="user:8/token:zzzzzzzz")
    second = store.fork(fork, checkpoint=bench.row(fork).head, changes={}, actor="user:9")
    assert hands(bench, fork) == ("user:1", "user:7", "user:8")
    assert hands(bench, second) == ("user:1", "user:7", "user:8", "user:9")


def test_what_the_way_does_not_go_through_is_nobodys_hand(db: None) -> None:
    bench = bench_of(gated)
    thread = bench.start()
    bench.advance(thread)
    before = bench.checkpoint(thread, 0).id
    store.edit(thread, changes={"amount": "1.00"}, reason="r", actor="user:7")
    fork = store.fork(thread, checkpoint=before, changes={}, actor="user:8")
    assert hands(bench, fork) == ("user:1", "user:8"), "the edit came after the fork's point"
