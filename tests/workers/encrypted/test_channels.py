"""Encrypted channels at work: nodes see values, the store sees ciphertext."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from checkpoints import queries, store
from checkpoints.state.encrypted import is_envelope
from checkpoints.states import Status
from tests.cast import Cast
from tests.contract.secrets import grep
from tests.workers.conftest import Bench
from workers.code.registry import announce

from .agent import NEWER, WORD, graph_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def bench(cast: Cast) -> Bench:
    return Bench(announce(graph_of(), {}, []), cast.workspace)


def test_nodes_see_the_value_and_the_store_its_ciphertext(bench: Bench) -> None:
    thread = bench.start(patient="Ada", diagnosis=WORD)
    row = bench.advance(thread)
    assert row.status is Status.SUCCEEDED, row.status_reason
    state = bench.state(thread)
    assert is_envelope(state["diagnosis"])
    assert is_envelope(state["findings"])
    assert state["log"] == [f"{len(WORD)} letters", "beside", "closed"]
    cipher = store.reading_cipher(thread)
    assert cipher.open("diagnosis", state["diagnosis"]) == WORD
    assert cipher.open("findings", state["findings"]) == {"of": WORD, "n": 1}
    assert grep.everywhere(WORD) == set()
    assert bench.intact(thread)
