"""What stands beside the state, wherever a state is read."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.files.uploadedfile import SimpleUploadedFile

from checkpoints import queries, store
from checkpoints.states import PLAIN, Status
from dashboard.documents.state_document import HISTORY
from dashboard.kit.pages.uploads import upload
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import drive, head_of, make_thread, one, rows
from tests.unit.checkpoints.queries.test_state_plan import nodes, others
from tests.unit.dashboard import scene
from tests.unit.dashboard.carried import export
from tests.unit.dashboard.threads.test_commands import output_of

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("B25")]

MEMBERS = [
    *("name", "session_id", "version", "step", "status", "thread_status"),
    *("created_at", "updated_at", "context", "artifacts", "state"),
]


def reads(cast: Cast, thread: object, tmp_path: Path) -> list[Any]:
    """The state of a thread as each entry point gives it."""
    client = cast.client("operator")
    at = f"/api/v1/threads/{thread}/state/"
    with zipfile.ZipFile(export(thread, tmp_path, who="operator")) as packed:  # type: ignore[arg-type]
        return [
            client.get(at).json(),
            yaml.safe_load(client.get(f"{at}?format=yaml").content),
            json.loads(output_of("threads", "state", str(thread), "--json")),
            yaml.safe_load(output_of("threads", "state", str(thread), "--yaml")),
            json.loads(packed.read("state.json")),
            yaml.safe_load(packed.read("state.yaml")),
        ]


@pytest.mark.slow
@pytest.mark.parametrize("status", Status)
def test_every_read_carries_the_same_members(cast: Cast, tmp_path: Path, status: Status) -> None:
    ref = upload(cast.actor("operator"), SimpleUploadedFile("a.csv", b"1,2"))
    thread = store.start(
        scene.make_agent(),
        input={"goal": "delays", "file": ref},
        workspace=cast.workspace,
        actor="user:1",
        name="report of May",
        title="Delays",
    )
    scene.step(scene.lease(thread), report="draft")
    rows("SET LOCAL session_replication_role = replica")
    rows("UPDATE gp_thread SET status = %s::varchar WHERE id = %s::uuid", (status, thread))
    rows("SET LOCAL session_replication_role = DEFAULT")
    row = queries.thread(thread, workspace=cast.workspace)
    payload = reads(cast, thread, tmp_path)
    for one_read in payload:
        assert one_read == payload[0]
        assert list(one_read) == MEMBERS
    now = payload[0]
    assert (now["name"], now["session_id"]) == ("report of May", "report of May")
    assert (now["status"], now["thread_status"]) == (PLAIN[status], str(status))
    assert (now["version"], now["step"]) == (row.version, 1)
    assert now["updated_at"] > now["created_at"]
    assert now["artifacts"] == [ref]
    assert now["state"]["report"] == "draft"
    told_steps = [(one["number"], one["source"], one["nodes"]) for one in now["context"]["history"]]
    assert told_steps == [(0, "input", []), (1, "step", ["analyse"])]
    assert now["context"]["n_earlier"] == 0


def test_the_history_is_the_way_there_and_no_longer_than_it_says(cast: Cast) -> None:
    base = make_thread(workspace=cast.workspace)
    drive(base, 30)
    at = queries.checkpoint_by_number(base, 25)
    fork = store.fork(base, checkpoint=at.id, changes={"goal": "other"}, actor="user:1")
    read = cast.client("operator").get(f"/api/v1/threads/{fork}/state/").json()["context"]
    assert [(o["thread"], o["number"]) for o in read["history"]] == [
        *((str(base), n) for n in range(7, 26)),
        (str(fork), 0),
    ]
    assert (len(read["history"]), read["n_earlier"]) == (HISTORY, 27 - HISTORY)
    past = queries.checkpoint_by_number(base, 3)
    steps, n_steps = queries.steps_before(base, past.id)
    assert ([s.number for s in steps], n_steps) == ([0, 1, 2, 3], 4)


@pytest.mark.slow
def test_the_history_costs_the_same_at_any_length() -> None:
    from checkpoints.queries.past import _STEPS

    for n_steps in (200, 1_000):
        thread = make_thread()
        drive(thread, n_steps)
        others(thread)
        plan = one(
            f"EXPLAIN (ANALYZE, FORMAT JSON) {_STEPS}",
            (thread, head_of(thread), HISTORY, HISTORY, HISTORY),
        )
        results = [n for n in nodes(plan[0]["Plan"]) if n.get("Relation Name") == "gp_checkpoint"]
        read = sum(n["Actual Rows"] * n["Actual Loops"] for n in results)
        assert HISTORY < read <= HISTORY + 10
