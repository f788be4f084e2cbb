"""A rolling deploy: old and new code side by side on one queue, then the new one alone."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from checkpoints import queries, store
from dashboard.threads.page.code_question import open_choices
from tests.faults.bench import AGENTS, SWEEP, Case, Field, Worker, wait_until, workers

pytestmark = [pytest.mark.nightly, pytest.mark.hazard]
RELEASE = """
from typing import Annotated, Any

from own_agents import look, question
from workers.node.context import Context
from workers.authoring.graph import END, Append, Graph, State


class Tale(State):
    folder: str
    notes: Annotated[list[str], Append()] = []


graph = Graph("rolled", Tale, queue="rolled", version={version})


@graph.node(then="middle")
def begin(state: Tale, ctx: Context) -> dict[str, Any]:
    return {{"notes": [ctx.activity(look, state.folder, "begin-{version}")]}}


@graph.node(then="finish", gate=True)
def middle(state: Tale, ctx: Context) -> dict[str, Any]:
    return {{"notes": [question(ctx, {{"folder": state.folder, "name": "parcel"}})]}}


@graph.node(then=END)
def finish(state: Tale, ctx: Context) -> dict[str, Any]:
    return {{"notes": [ctx.activity(look, state.folder, "finish-{version}")]}}
"""


def release(folder: Path, version: int, name: str = "") -> Worker:
    """A worker with this release of the agent, on the one queue."""
    home = folder / f"release-{version}{name}"
    home.mkdir()
    shutil.copy(AGENTS / "own_agents.py", home)
    (home / "rolled.py").write_text(RELEASE.format(version=version))
    os.utime(home / "rolled.py", (1, 1))
    payload = {"GATEPOST_AGENTS": "rolled"}
    return Worker(home, f"rolled-{version}{name}", queues="rolled", environment=payload)


def version_of(case: Case) -> str:
    return case.row().version_label


def done_by(case: Case) -> str:
    """Which release finished it."""
    return "".join(v for v in "12" if case.calls(f"finish-{v}"))


def test_no_thread_meets_code_that_it_did_not_stop_with(field: Field, tmp_path: Path) -> None:
    with workers(release(tmp_path, 1)) as (old,):
        threads = [field.start("rolled") for _ in range(8)]
        for case in threads:
            case.wait_status("waiting")
        both, later = threads[:3], threads[3:]
        with workers(release(tmp_path, 2)) as (new,):
            # Side by side: each takes its own, whoever hears the doorbell.
            wait_until(lambda: queries.agent("rolled").version == 2, what="the new release")
            newer = [field.start("rolled") for _ in range(3)]
            for case in newer:
                case.wait_status("waiting")
                assert (version_of(case), len(case.calls("begin-2"))) == ("2", 1)
            for case in [*both, *newer]:
                case.decide("approve")
            for case in [*both, *newer]:
                case.wait_status("succeeded")
                assert "code.changed" not in case.kinds()
            assert [done_by(case) for case in both] == ["1"] * 3
            assert [done_by(case) for case in newer] == ["2"] * 3

            # The old one is told to stop at work: the rest meets the new code and asks.
            old.stop()
            assert old.process.wait(20) == 0
            for case in later:
                case.decide("approve")
            rows = [case.wait_status("attention") for case in later]
            assert {open_choices(row) for row in rows} == {("pin", "accept", "fork")}
            assert [case.calls("parcel") for case in later] == [[]] * 5
            accepted, forked, pinned, left, _ = later
            installed = queries.agent("rolled")
            store.accept(
                accepted.id, former=accepted.row().agent_version_id, version=installed.id,
                fingerprint=installed.fingerprint, queue=installed.queue, actor="user:1",
            )  # fmt: skip
            # What was approved holds: a person accepted the code, and its proposal is the same.
            accepted.wait_status("succeeded")
            assert accepted.kinds().count("approval.requested") == 1
            assert done_by(accepted) == "2"
            head = forked.row()
            twin_id = store.fork(
                forked.id, checkpoint=head.head, changes={}, actor="user:1", code=installed.id
            )
            twin = field.adopt(twin_id, forked.folder)
            twin.wait_status("waiting")
            assert forked.row() == head

            # Pinned: nobody takes it, nobody turns round it.
            store.pin(pinned.id, actor="user:1")
            before = pinned.row()
            ring = time.monotonic() + 8 * SWEEP
            wait_until(lambda: time.monotonic() > ring)
            assert pinned.row() == before
            with workers(release(tmp_path, 1, "-again")):
                pinned.wait_status("succeeded")
                assert done_by(pinned) == "1"
                # The former code is back: Retry goes on with it.
                store.retry(left.id, actor="user:1")
                left.wait_status("succeeded")
                assert done_by(left) == "1"
            assert new.alive
    for case in (pinned, left):
        assert "code.changed" not in case.kinds()
        assert len(case.calls("begin-1")) == 1
        assert case.calls("begin-2") == []
