"""Erased, carried away, altered: what is left of encrypted channels."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from approvals.verification.proof import verify
from checkpoints import queries, store
from checkpoints.errors import CannotDecrypt, InvalidValue
from checkpoints.states import Status
from dashboard.errors import ActionError, Conflict
from dashboard.threads.reveal import reveal
from tests.contract.secrets import grep
from tests.support.cast import Cast
from tests.unit.dashboard import carried
from tests.unit.dashboard.records.erasure.test_canaries import erase
from tests.unit.workers.conftest import Bench
from tests.unit.workers.encrypted.agent import NEWER, WORD, graph_of
from workers.testing.harness import Harness

pytestmark = pytest.mark.django_db


def keys() -> set[UUID]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM gp_channel_key")
        return {row[0] for row in cursor.fetchall()}


def test_erasure_deletes_the_keys_of_what_it_erases(
    cast: Cast, bench: Bench, thread: UUID, django_capture_on_commit_callbacks: Any
) -> None:
    fork = bench.fork(thread, 0, {"diagnosis": NEWER})
    assert bench.advance(fork).status is Status.SUCCEEDED
    beside = bench.start(patient="Bob", diagnosis=WORD)
    stored = bench.state(fork)["diagnosis"]
    assert keys() == {thread, fork, beside}
    row = erase(cast, fork, django_capture_on_commit_callbacks, "thread")
    assert (row["state"], row["n_threads"]) == ("done", 1)
    assert keys() == {thread, beside}
    # In a capsule the ciphertext may stand for years: nothing opens it any more.
    with pytest.raises(CannotDecrypt, match="erased or lost"):
        store.reading_cipher(fork).open("diagnosis", stored)
    with pytest.raises(ActionError):
        reveal(cast.actor("auditor"), fork, "diagnosis")
    assert reveal(cast.actor("auditor"), thread, "diagnosis").value == WORD
    row = erase(cast, thread, django_capture_on_commit_callbacks)
    assert keys() == {beside}
    assert verify(thread).intact
    assert verify(fork).intact


def test_a_capsule_brings_ciphertext_and_no_key(cast: Cast, thread: UUID, tmp_path: Path) -> None:
    capsule = carried.export(thread, tmp_path / "case.zip", who="operator")
    raw = capsule.read_bytes()
    assert WORD.encode() not in raw
    carried.empty()
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM gp_channel_key")
    carried.brought(capsule, who="operator")
    assert verify(thread).intact
    html = cast.client("auditor").get(f"/threads/{thread}/?tab=state").content.decode()
    assert "(readable by auditor and admin)" in html
    with pytest.raises(Conflict, match="the value is of another thread or installation"):
        reveal(cast.actor("auditor"), thread, "diagnosis")
    with pytest.raises(InvalidValue, match="this tape cannot be played"):
        Harness(graph_of()).play(tape=capsule)
    page = cast.client("auditor").post(f"/threads/{thread}/reveal/", {"channel": "diagnosis"})
    assert page.status_code == 409
    assert "installation" in page.content.decode()
    assert grep.everywhere(WORD) == set()
    assert queries.thread(thread, workspace=cast.workspace).imported_seq
