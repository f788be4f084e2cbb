"""Erasures that are carried out while an export is sent, and that stop in the middle themselves."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction

from checkpoints import store
from checkpoints.chain import verify_thread
from checkpoints.chain.workspaces import verify_workspace
from checkpoints.errors import ContentErased, NotAllowedNow
from checkpoints.queries.erasures import requests as erasures
from checkpoints.store.erasure import carrying_out
from dashboard.records.export import export_records
from dashboard.records.exports import package
from dashboard.records.exports.rows import FORMS
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import head_of
from tools.verify_export import verify

from .population import populate
from .second_verifier import is_sound

pytestmark = pytest.mark.django_db


def ended(cast: Cast) -> list[UUID]:
    threads = [row.thread for row in populate(cast)]
    for thread in threads:
        store.cancel(thread, actor="user:1")
    return threads


def approved(cast: Cast, thread: UUID, scope: str = "thread") -> UUID:
    row = store.request_erasure(
        thread, workspace=cast.workspace, scope=scope, reason="GDPR", actor="user:7", name="Olga"
    )
    store.decide_erasure(
        row.id, workspace=cast.workspace, approve=True, actor="user:8", name="Adam", comment=""
    )
    return row.id


@pytest.mark.slow
@pytest.mark.requirement("A38")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["all", "approval", "thread"])
def test_wherever_the_content_goes_the_file_is_sound_or_has_no_end(
    cast: Cast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, kind: str
) -> None:
    monkeypatch.setattr(package, "AT_ONCE", 1)
    first, *_ = ended(cast)
    path = tmp_path / "x.zip"
    at, outcomes = 0, set()
    while True:
        with transaction.atomic():
            chunks: Any = export_records(cast.actor("auditor"), {"kind": kind}, form=form).chunks()
            before = list(islice(chunks, at))
            ident = approved(cast, first)
            store.carry_out_erasure(ident, workspace=cast.workspace)
            try:
                after = list(chunks)
                path.write_bytes(b"".join([*before, *after]))
                assert verify(str(path)).problems == [], at
                assert is_sound(path), at
                outcomes.add("sound")
            except ContentErased:
                outcomes.add("broken off")
            transaction.set_rollback(True)
        if len(before) < at:
            break
        at += 1
    assert at > 10
    assert "sound" in outcomes
    assert ("broken off" in outcomes) == (kind != "thread")


@pytest.mark.requirement("A38")
def test_an_erasure_that_stops_between_two_threads_is_carried_on(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, other, *_ = ended(cast)
    fork = store.fork(base, checkpoint=head_of(base), changes={}, actor="user:1")
    store.cancel(fork, actor="user:1")
    ident = approved(cast, base)
    erase, n = carrying_out.erase_thread, 0

    def dies(*args: Any) -> None:
        nonlocal n
        n += 1
        if n == 2:
            raise RuntimeError("power is lost")
        erase(*args)

    monkeypatch.setattr(carrying_out, "erase_thread", dies)
    with pytest.raises(RuntimeError):
        store.carry_out_erasure(ident, workspace=cast.workspace)
    monkeypatch.setattr(carrying_out, "erase_thread", erase)
    # In between: each thread holds, a hold comes too late, and the rest takes no new thread.
    for thread in (base, fork):
        assert verify_thread(thread).intact
        with pytest.raises(NotAllowedNow, match="too late"):
            store.set_hold(thread, workspace=cast.workspace, reason="case", actor="user:1")
    store.set_hold(other, workspace=cast.workspace, reason="case", actor="user:1")
    assert verify_workspace(cast.workspace).intact
    assert erasures.erasure(ident, workspace=cast.workspace).state == "approved"
    assert store.carry_on_erasures() == 1
    row = erasures.erasure(ident, workspace=cast.workspace)
    assert (row.state, row.n_threads) == ("done", 2)
    assert all(verify_thread(thread).erased for thread in (base, fork))
    assert verify_thread(other).erased == ""
    assert verify_workspace(cast.workspace).intact
