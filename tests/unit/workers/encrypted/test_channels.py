"""Encrypted channels at work: nodes see values, the store sees ciphertext."""

from __future__ import annotations

import logging
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from checkpoints import queries, store
from checkpoints.encryption.keys import new_key
from checkpoints.errors import CannotDecrypt, InvalidValue
from checkpoints.state.encrypted import is_envelope
from checkpoints.states import Status
from tests.contract.secrets import grep
from tests.support.cast import Cast
from tests.unit.workers.conftest import Bench
from workers.authoring.graph import END, Graph, State
from workers.code.registry import announce
from workers.node.context import Context

from .agent import NEWER, WORD, Case, graph_of

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("G09")]


@pytest.fixture
def bench(cast: Cast) -> Bench:
    return Bench(announce(graph_of(), {}, []), cast.workspace)


def opened(thread: UUID, channel: str, state: dict[str, Any]) -> Any:
    assert is_envelope(state[channel])
    return store.reading_cipher(thread).open(channel, state[channel])


def n_keys(thread: UUID) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM gp_channel_key WHERE id = %s", (thread,))
        return int(cursor.fetchone()[0])


def test_nodes_see_the_value_and_the_store_its_ciphertext(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    thread = bench.start(patient="Ada", diagnosis=WORD)
    assert grep.everywhere(WORD) == set()
    row = bench.advance(thread)
    assert WORD not in caplog.text
    assert row.status is Status.SUCCEEDED, row.status_reason
    state = bench.state(thread)
    assert opened(thread, "diagnosis", state) == WORD
    assert opened(thread, "findings", state) == {"of": WORD, "n": 1}
    assert state["log"] == [f"{len(WORD)} letters", "beside", "closed"]
    assert state["patient"] == "Ada"
    assert grep.everywhere(WORD) == set()
    assert bench.intact(thread)


def test_an_equal_value_keeps_its_ciphertext(bench: Bench) -> None:
    """The node `read` returns the diagnosis that it was given."""
    thread = bench.start(patient="Ada", diagnosis=WORD)
    bench.advance(thread)
    first = bench.state_at(thread, bench.checkpoint(thread, 0).id)
    assert bench.state(thread)["diagnosis"] == first["diagnosis"]
    assert bench.state(thread)["findings"] != first["findings"]


def test_a_thread_that_was_left_goes_on_under_the_same_key(bench: Bench) -> None:
    thread = bench.start(patient="Ada", diagnosis=WORD)
    bench.advance(thread, slice_seconds=0)
    assert bench.row(thread).status is Status.QUEUED
    while bench.row(thread).live:
        bench.advance(thread, slice_seconds=0)
    assert bench.row(thread).status is Status.SUCCEEDED
    assert n_keys(thread) == 1


def test_a_message_joins_a_state_with_ciphertext(bench: Bench) -> None:
    thread = bench.start(patient="Ada", diagnosis=WORD)
    bench.send(thread, "more")
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert bench.state(thread)["inbox"] == ["more"]


def test_forks_read_what_their_base_wrote_and_write_under_a_key_of_their_own(bench: Bench) -> None:
    thread = bench.start(patient="Ada", diagnosis=WORD)
    bench.advance(thread)
    fork = bench.fork(thread, 0, {})
    assert bench.advance(fork).status is Status.SUCCEEDED
    assert opened(fork, "diagnosis", bench.state(fork)) == WORD
    changed = bench.fork(thread, 0, {"diagnosis": NEWER})
    assert bench.advance(changed).status is Status.SUCCEEDED
    assert opened(changed, "findings", bench.state(changed)) == {"of": NEWER, "n": 1}
    again = bench.fork(changed, 0, {"patient": "Bob"})
    assert opened(again, "diagnosis", bench.state(again)) == NEWER
    assert [n_keys(one) for one in (thread, fork, changed, again)] == [1, 1, 1, 0]
    with pytest.raises(CannotDecrypt, match="key is not here"):
        opened(thread, "diagnosis", bench.state(changed))
    assert grep.everywhere(WORD) | grep.everywhere(NEWER) == set()
    assert all(bench.intact(one) for one in (thread, fork, changed, again))


def test_edit_and_rollback(bench: Bench) -> None:
    thread = bench.start(patient="Ada", diagnosis=WORD)
    bench.pause(thread)
    bench.edit(thread, {"diagnosis": NEWER, "patient": "Bob"}, "wrong file")
    assert opened(thread, "diagnosis", bench.state(thread)) == NEWER
    bench.resume(thread)
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert opened(thread, "findings", bench.state(thread))["of"] == NEWER
    bench.roll_back(thread, 0)
    assert opened(thread, "diagnosis", bench.state(thread)) == WORD
    bench.resume(thread)
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert opened(thread, "findings", bench.state(thread))["of"] == WORD
    assert grep.everywhere(WORD) | grep.everywhere(NEWER) == set()
    assert bench.intact(thread)


def test_a_moved_ciphertext_is_refused(bench: Bench) -> None:
    thread = bench.start(patient="Ada", diagnosis=WORD)
    other = bench.start(patient="Bob", diagnosis=NEWER)
    bench.pause(thread)
    for channel, value in {
        "diagnosis": bench.state(other)["diagnosis"],
        "findings": bench.state(thread)["diagnosis"],
    }.items():
        with pytest.raises(InvalidValue, match="a ciphertext, and not one of this thread"):
            bench.edit(thread, {channel: value}, "moved")
    with pytest.raises(InvalidValue, match=r"\$\.diagnosis"):
        bench.start(patient="Eve", diagnosis=bench.state(other)["diagnosis"])
    # Its own may come back, from any checkpoint.
    before = bench.state(thread)["diagnosis"]
    bench.edit(thread, {"diagnosis": NEWER}, "new")
    bench.edit(thread, {"diagnosis": before}, "back")
    assert opened(thread, "diagnosis", bench.state(thread)) == WORD


def test_a_start_that_is_refused_leaves_no_key(bench: Bench) -> None:
    more: dict[str, Any] = {"workspace": bench.workspace, "actor": "user:1", "name": "case-17"}
    store.start(bench.agent.version_id, input={"patient": "Ada"}, **more)
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM gp_channel_key")
        before = cursor.fetchone()
        with pytest.raises(Exception, match="exists already"):
            store.start(bench.agent.version_id, input={"patient": "Ada"}, **more)
        cursor.execute("SELECT count(*) FROM gp_channel_key")
        assert cursor.fetchone() == before


def test_a_file_is_no_value_of_an_encrypted_channel(bench: Bench) -> None:
    with pytest.raises(InvalidValue, match=r"\$\.findings\.scan: names a file"):
        bench.start(patient="Ada", findings={"scan": {"$artifact": "0" * 64, "name": "a"}})


def test_rotation_wraps_the_data_keys_and_leaves_the_values(bench: Bench, settings: Any) -> None:
    threads = [bench.start(patient=str(n), diagnosis=WORD) for n in range(3)]
    stored = [bench.state(thread)["diagnosis"] for thread in threads]
    old, new = new_key(), new_key()
    for keys in ((old,), (new, old)):
        settings.GATEPOST_ENCRYPTION_KEYS = keys
        assert store.reencrypt(actor="command") == 3
        assert store.reencrypt(actor="command") == 0
    settings.GATEPOST_ENCRYPTION_KEYS = (new,)
    settings.SECRET_KEY = "another" * 10
    assert store.stored_secrets().newest == 3
    assert [bench.state(thread)["diagnosis"] for thread in threads] == stored
    assert opened(threads[0], "diagnosis", bench.state(threads[0])) == WORD
    assert bench.advance(threads[0]).status is Status.SUCCEEDED
    events = queries.workspace_events(bench.workspace, limit=10).rows
    rotated = [e.data for e in events if e.kind == "secrets.encrypted"]
    assert [(d["of"], d["texts"]) for d in rotated] == [("gp_channel_key.key", 3)] * 2


def test_without_the_key_of_the_installation_a_thread_fails_and_goes_on_later(
    bench: Bench, settings: Any
) -> None:
    thread = bench.start(patient="Ada", diagnosis=WORD)
    other = announce(plain_graph(), {}, [])
    known, settings.SECRET_KEY = settings.SECRET_KEY, "another" * 10
    row = bench.advance(thread)
    assert row.status is Status.FAILED
    assert "The channel 'diagnosis' cannot be decrypted. The key" in row.status_reason
    assert "GATEPOST_ENCRYPTION_KEYS" in row.status_reason
    # Nothing else breaks.
    beside = Bench(other, bench.workspace)
    assert beside.advance(beside.start(patient="Bob")).status is Status.SUCCEEDED
    assert is_envelope(bench.state(thread)["diagnosis"])
    assert bench.intact(thread)
    fork = bench.fork(thread, 0, {"diagnosis": NEWER, "findings": {}})
    assert bench.advance(fork).status is Status.SUCCEEDED
    settings.SECRET_KEY = known
    bench.retry(thread)
    assert bench.advance(thread).status is Status.SUCCEEDED


def test_a_lost_data_key_fails_the_thread_until_the_channel_has_another_value(
    bench: Bench,
) -> None:
    thread = bench.start(patient="Ada", diagnosis=WORD)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM gp_channel_key WHERE id = %s", (thread,))
    row = bench.advance(thread)
    assert row.status is Status.FAILED
    assert "Its key is not here: it was erased or lost" in row.status_reason
    assert row.status_reason.endswith("Bring the key back and retry, or fork with other values.")
    fork = bench.fork(thread, 0, {"diagnosis": NEWER, "findings": {}})
    assert bench.advance(fork).status is Status.SUCCEEDED
    bench.edit(thread, {"diagnosis": NEWER, "findings": {}}, "asked again")
    bench.retry(thread)
    assert bench.advance(thread).status is Status.SUCCEEDED
    assert opened(thread, "diagnosis", bench.state(thread)) == NEWER


def test_verification_finds_a_ciphertext_that_was_altered(bench: Bench) -> None:
    thread = bench.start(patient="Ada", diagnosis=WORD)
    bench.advance(thread)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE gp_checkpoint DISABLE TRIGGER USER")
        cursor.execute(
            "UPDATE gp_checkpoint SET delta = jsonb_set(delta, '{set,diagnosis,$encrypted}', "
            "'\"ch1.0123456789ab.AAAA\"') WHERE thread_id = %s AND number = 0",
            (thread,),
        )
        assert cursor.rowcount == 1
    assert not bench.intact(thread)
    with connection.cursor() as cursor:  # the test's own end verifies all threads again
        cursor.execute("DELETE FROM gp_keyframe WHERE thread_id = %s", (thread,))


class Plain(State):
    patient: str


def plain_graph() -> Graph:
    graph = Graph("plain", Plain)

    @graph.node(then=END)
    def end(state: Plain, ctx: Context) -> dict[str, Any]:
        return {"patient": "well"}

    return graph


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("validator", "is not a diagnosis"),
        ("exception", "RuntimeError: cannot treat"),
        ("way", "ValueError: no way for"),
        ("type", "$.diagnosis: Input should be a valid string"),
        ("input", "$.diagnosis: Value error"),
    ],
)
def test_no_refusal_quotes_a_value(
    cast: Cast, how: str, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    graph = Graph("clumsy", Case)

    def choose(state: Case) -> str:
        raise ValueError(f"no way for {state.diagnosis}")

    @graph.node(then=choose if how == "way" else END, ways=[END])
    def fail(state: Case, ctx: Context) -> dict[str, Any]:
        if how == "exception":
            raise RuntimeError(f"cannot treat {state.diagnosis}")
        if how == "way":
            return {"log": ["x"]}
        return {"diagnosis": f"wrong {NEWER}" if how == "validator" else {"text": NEWER}}

    bench = Bench(announce(graph, {}, []), cast.workspace)
    thread = bench.start(patient="Ada", diagnosis=f"wrong {NEWER}" if how == "input" else WORD)
    with caplog.at_level(logging.DEBUG):
        row = bench.advance(thread)
    assert row.status is Status.FAILED
    assert reason in row.status_reason
    assert grep.everywhere(WORD) | grep.everywhere(NEWER) == set()
    assert WORD not in caplog.text
    assert NEWER not in caplog.text
