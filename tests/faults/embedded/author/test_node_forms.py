"""A play and a real worker over one table of node forms, where only the wheel is installed.

Each form ends with the same status, reason, state and outcome of its effects.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gatepost import Edit, Reject, Respond, Verdict
from tests.faults.embedded.helpers import free_port, wait_until
from tests.faults.embedded.test_write_an_agent import Person
from tests.unit.workers.graphs import node_forms
from tests.unit.workers.graphs.node_forms import FORMS, Form

from .environments import Author

pytestmark = [pytest.mark.requirement("F05"), pytest.mark.hazard]
REVIEWER = re.compile(r"Rejected by manager.*?:")
STOPPED = {"succeeded", "failed", "attention", "cancelled", "paused"}
PLAYS = """
import json, sys
from gatepost import Harness
from node_forms import FORMS

results = {}
for name, form in FORMS.items():
    others = [other.graph for other in FORMS.values() if other is not form]
    thread = Harness(form.graph, agents=others).play(form.input, decide=list(form.verdicts))
    results[name] = {
        "status": thread.status, "reason": thread.reason, "state": thread.state,
        "effects": [[e.tool, e.state, e.result] for e in thread.effects],
        "tokens": thread.tokens,
    }
json.dump(results, open("plays.json", "w"))
"""


@contextmanager
def started(author: Author, folder: Path, port: int) -> Iterator[None]:
    """`gatepost up` with the agents of the table."""
    output = folder / "up.txt"
    with output.open("wb") as file:
        process = subprocess.Popen(
            [author.python.with_name("gatepost"), "up", "--port", str(port)],
            cwd=folder,
            env=author.variables() | {"GATEPOST_AGENTS": "node_forms"},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def ready() -> bool:
        assert process.poll() is None, output.read_text()
        return "\n  Stop  " in output.read_text()

    try:
        wait_until(ready, seconds=120, what="up")
        yield
    finally:
        os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def body_of(verdict: Verdict) -> dict[str, Any]:
    """A verdict of a play as the API takes it."""
    match verdict:
        case Edit(args=args):
            return {"verdict": "edit", "args": args}
        case Respond(value=value):
            return {"verdict": "respond", "args": value}
        case Reject(comment=comment):
            return {"verdict": "reject", "comment": comment}
    return {"verdict": "approve"}


class Bench:
    """The worker's side: starts threads of the table, answers their requests, reads their ends."""

    def __init__(self, operator: Person, manager: Person) -> None:
        self._operator, self._manager = operator, manager

    def start(self, form: Form) -> str:
        body = {"agent": form.graph.name, "input": form.input}
        thread: str = self._operator("/threads/", body)["id"]
        return thread

    def answer(self, thread: str, verdict: Verdict) -> None:
        """Give an answer as soon as it is asked for; a thread that ended asks nothing."""
        open_ones: list[Any] = []

        def is_open() -> bool:
            open_ones[:] = self._manager(f"/approvals/?thread={thread}")["results"]
            return bool(open_ones) or self._operator(f"/threads/{thread}/")["status"] in STOPPED

        wait_until(is_open, seconds=120, what="a request")
        if not open_ones:
            return
        request = self._manager(f"/approvals/{open_ones[0]['id']}/")
        body = body_of(verdict) | {"proposal_hash": request["standing_hash"]}
        self._manager(f"/approvals/{request['id']}/decide/", body)

    def end_of(self, thread: str) -> dict[str, Any]:
        """What came of a thread, in the form of PLAYS."""
        row: dict[str, Any] = {}

        def stopped() -> bool:
            row.update(self._operator(f"/threads/{thread}/"))
            return row["status"] in STOPPED

        wait_until(stopped, seconds=120, what="the end")
        state = self._operator(f"/threads/{thread}/state/")["state"]
        calls = self._operator(f"/threads/{thread}/activities/")["results"]
        effects = [
            [c["tool"], c["state"], c["result"]] for c in calls[::-1] if c["kind"] == "effect"
        ]
        return {
            "status": row["status"],
            "reason": REVIEWER.sub("Rejected by reviewer:", row["status_reason"]),
            "state": state,
            "effects": effects,
            "tokens": row["totals"]["tokens"],
        }


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks at processes through /proc")
def test_play_and_worker_end_alike(product: Author, data: Path) -> None:
    folder, port = data.parent, free_port()
    shutil.copy(node_forms.__file__, folder)
    product("python", "-c", PLAYS, folder=folder)
    plays = json.loads((folder / "plays.json").read_text())

    def shell(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
        return product.run(*text.split(), folder=folder)

    with started(product, folder, port):
        operator = Person(shell, folder, port, "operator", "read,start")
        bench = Bench(operator, Person(shell, folder, port, "manager", "read,decide"))
        threads = {name: bench.start(form) for name, form in FORMS.items()}
        for name, form in FORMS.items():
            for verdict in form.verdicts:
                bench.answer(threads[name], verdict)
        works = {name: bench.end_of(thread) for name, thread in threads.items()}
    for name, form in FORMS.items():
        if form.ends_on_a_worker:
            assert works[name].pop("status") == form.ends_on_a_worker
            plays[name].pop("status")
    assert len(works) > 40
    assert works == plays
