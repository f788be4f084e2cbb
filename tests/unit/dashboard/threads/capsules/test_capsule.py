"""Capsules: what leaves an installation comes in elsewhere as the same thread and goes on."""

from __future__ import annotations

import json
import tracemalloc
import zipfile
from hashlib import sha256
from pathlib import Path
from uuid import UUID

import pytest
import yaml
from django.core.files.storage import default_storage
from uuid_utils.compat import uuid7

from approvals import queries as approval_queries
from approvals.columns import APPROVAL, DECISION
from approvals.verification.proof import verify
from checkpoints import queries, store
from checkpoints.capsules.rows import CURSOR
from checkpoints.records import NewActivity, Position
from checkpoints.tables.columns import ACTIVITY, CHECKPOINT, EVENT, THREAD
from checkpoints.verdicts import Verdict
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import drive, make_thread, rows
from tests.unit.dashboard.carried import another_workspace, brought, empty, everything, export, run
from tests.unit.dashboard.records.integrity.altered_columns import columns_of
from tests.unit.workers.conftest import Bench
from tests.unit.workers.graphs import samples
from workers.code.registry import announce

pytestmark = pytest.mark.django_db

# Columns that stay behind, each with the reason.
BEHIND = {
    "gp_thread": {
        **dict.fromkeys(("lease_owner", "lease_token", "lease_until"), "is of workers there"),
        **dict.fromkeys(("wake_at", "wake_seq", "crash_count"), "starts over with a pause"),
        "moved_up_at": "is a place in a queue, and it is in none",
        **dict.fromkeys(("wish", "wish_by", "pause_at"), "was asked of workers there"),
        **dict.fromkeys(("branch_start", "next_nodes"), "is that of the head"),
        **dict.fromkeys(("imported_seq", "imported_number"), "is said of all that comes in"),
        "prev_hash": "is of the last write alone",
        "queue": "is the agent's here",
        "effects": "ask first here",
        "automatic_title": "an imported title stays",
        "searchable": "follows from the state",
        "erasure": "is of this installation; what it took can be in no capsule",
    },
    "gp_event": {
        "thread_id": "is the folder",
        "workspace_id": "is the importing one",
        "xid8": "is of this database",
    },
    "gp_checkpoint": {
        "thread_id": "is the folder",
        "workspace_id": "is the importing one",
        "digests": "follow from the deltas",
    },
    "gp_activity": {
        "thread_id": "is the folder",
        "workspace_id": "is the importing one",
        "progress": "is not a history",
    },
    "gp_approval": {
        "thread_id": "is the folder",
        "workspace_id": "is the importing one",
        "imported": "is said of all that comes in",
        "reminded": "is not a history",
        **dict.fromkeys(("tally", "due_seats", "due_except"), "follow from terms and decisions"),
    },
    "gp_decision": {"workspace_id": "is the importing one"},
}


def test_every_column_travels_or_stays_for_a_reason(db: None) -> None:
    travels = {
        "gp_thread": THREAD.exported,
        "gp_event": EVENT.exported,
        "gp_checkpoint": CHECKPOINT.exported,
        "gp_activity": {*ACTIVITY.exported, *CURSOR},
        "gp_approval": APPROVAL.exported,
        "gp_decision": DECISION.exported,
    }
    for table, behind in BEHIND.items():
        assert {name for name, _ in columns_of(table)} == {*travels[table], *behind}, table
        assert set(travels[table]).isdisjoint(behind)


@pytest.mark.requirement("B10")
@pytest.mark.requirement("B18")
def test_a_thread_with_everything_comes_back_as_it_was(
    lived_here: tuple[Bench, UUID], tmp_path: Path
) -> None:
    bench, thread = lived_here
    before, past, state = bench.row(thread), everything(thread), bench.state(thread)
    open_ones = [a.id for a in approval_queries.for_thread(thread, open_only=True)]
    assert open_ones, "the thread waits at a gate"
    capsule = export(thread, tmp_path)
    again = export(thread, tmp_path / "again.zip")
    assert capsule.read_bytes() == again.read_bytes(), "the same thread gives the same bytes"

    empty()
    elsewhere = another_workspace()
    payload = brought(capsule, "--workspace", "there")
    assert (payload["status"], payload["withdrawn"]) == ("paused", len(open_ones))
    row = queries.thread(thread, workspace=elsewhere)
    assert (row.head, row.number, row.step, row.branch) == (
        before.head,
        before.number,
        before.step,
        before.branch,
    )
    assert (row.title, row.totals, row.next_nodes) == (
        before.title,
        before.totals,
        before.next_nodes,
    )
    assert queries.state_at(thread, row.head) == state
    now = everything(thread)
    assert now["events"][: len(past["events"])] == past["events"]
    kinds = [event["kind"] for event in now["events"][len(past["events"]) :]]
    assert kinds == ["approval.withdrawn"] * len(open_ones) + ["thread.imported"]
    assert now["events"][-1]["data"]["hash"] == past["events"][-1]["hash"]
    for what in ("checkpoints", "contents", "activities", "decisions"):
        assert now[what] == past[what], what
    assert verify(thread).intact, verify(thread).what

    # The figures of its days are added up again, however old they are.
    noted = "SELECT DISTINCT unit FROM gp_figure_change WHERE workspace_id = %s ORDER BY unit"
    assert rows(noted, (elsewhere,)) == [("day",), ("hour",)]

    code, _, errors = run("import", str(capsule), "--as", "carrier", "--workspace", "there")
    assert code == 1
    assert "is here already" in errors
    assert verify(thread).intact


def test_a_capsule_can_be_read_by_hand(lived_here: tuple[Bench, UUID], tmp_path: Path) -> None:
    bench, thread = lived_here
    capsule = export(thread, tmp_path)
    with zipfile.ZipFile(capsule) as packed:
        assert packed.testzip() is None
        names = packed.namelist()
        assert names[:4] == ["MANIFEST", "thread.json", "state.json", "state.yaml"]
        listed = dict(
            reversed(line.split("  ")) for line in packed.read("MANIFEST").decode().splitlines()
        )
        assert set(listed) == set(names) - {"MANIFEST"}
        for name, sha in listed.items():
            assert sha256(packed.read(name)).hexdigest() == sha
        state = json.loads(packed.read("state.json"))
        assert list(state) == [
            *("name", "session_id", "version", "step", "status", "thread_status"),
            *("created_at", "updated_at", "context", "artifacts", "state"),
        ]
        assert (state["status"], state["thread_status"]) == ("paused", "waiting")
        steps = [one["number"] for one in state["context"]["history"]]
        assert steps[0] == 0
        assert steps[-1] == state["context"]["number"]
        assert state["context"]["n_earlier"] == 0
        assert state["state"] == bench.state(thread)
        assert yaml.safe_load(packed.read("state.yaml"))["state"] == state["state"]
        number = bench.row(thread).number
        assert json.loads(packed.read(f"checkpoints/{number:06}.json"))["number"] == number
        files = [n for n in names if n.startswith("artifacts/")]
        assert [packed.read(name) for name in files] == [b"a,b\n1,2\n"]


@pytest.mark.requirement("B18")
def test_an_imported_thread_goes_on_asks_anew_and_repeats_nothing(
    lived_here: tuple[Bench, UUID], tmp_path: Path
) -> None:
    bench, thread = lived_here
    capsule = export(thread, tmp_path)
    empty()
    bench.agent = announce(samples.graph, samples.TOOLS, (samples,))
    bench.workspace = another_workspace()
    brought(capsule, "--workspace", "there")
    n_placed = samples.counter.count("place")
    store.resume(thread, actor="user:1")
    assert bench.advance(thread).status == "waiting"
    request = bench.open(thread)
    assert request.workspace == bench.workspace
    assert samples.counter.count("place") == n_placed
    fork = store.fork(thread, checkpoint=bench.row(thread).head, changes={}, actor="user:1")
    bench.decide(thread, "approve", "here as well")
    assert bench.advance(thread).status == "succeeded"
    assert samples.counter.count("place") == n_placed + 1
    bench.roll_back(thread, 1)
    assert bench.row(thread).status == "paused"
    for one in (thread, fork):
        assert verify(one).intact, verify(one).what
    # And on to a third place: what was asked in each of the two workspaces still holds.
    second = export(thread, tmp_path / "second.zip")
    empty()
    third = another_workspace("third")
    brought(second, "--workspace", "third")
    assert verify(thread).intact, verify(thread).what
    assert queries.thread(thread, workspace=third).status == "paused"


def test_an_approval_from_elsewhere_opens_no_gate(
    lived_here: tuple[Bench, UUID], tmp_path: Path
) -> None:
    bench, thread = lived_here
    bench.decide(thread, "approve", "there")
    capsule = export(thread, tmp_path)
    workspace = bench.workspace
    empty()
    # Back into the very workspace that the hash names: only the database could vouch for it.
    code, _, errors = run("import", str(capsule), "--as", "carrier")
    assert code == 1
    assert "no effect has used yet" in errors
    assert queries.head("thread", thread, 0) is None
    bench.agent = announce(samples.graph, samples.TOOLS, (samples,))
    bench.workspace = another_workspace()
    assert bench.workspace != workspace
    brought(capsule, "--workspace", "there")
    n_placed = samples.counter.count("place")
    store.resume(thread, actor="user:1")
    assert bench.advance(thread).status == "waiting", "it asks again"
    assert samples.counter.count("place") == n_placed


def test_an_effect_that_was_at_work_is_unknown_not_repeated(
    lived_here: tuple[Bench, UUID], tmp_path: Path
) -> None:
    bench, thread = lived_here
    bench.decide(thread, "approve", "there")
    work = bench.lease(thread)
    position = Position(work.branch, work.step + 1, "buy", 0, "order.place#0")
    effect = NewActivity(
        id=uuid7(),
        position=position,
        kind="effect",
        tool="order.place",
        args={"folder": bench.state(thread)["folder"], "goal": bench.state(thread)["goal"]},
        idempotency_key="k",
    )
    store.start_activity(work, effect)
    capsule = export(thread, tmp_path)
    empty()
    bench.agent = announce(samples.graph, samples.TOOLS, (samples,))
    bench.workspace = another_workspace()
    brought(capsule, "--workspace", "there")
    assert queries.activity(effect.id).state == "unknown"
    assert verify(thread).intact, verify(thread).what
    n_placed = samples.counter.count("place")
    store.resume(thread, actor="user:1")
    row = bench.advance(thread)
    assert (row.status, samples.counter.count("place")) == ("attention", n_placed)
    assert "unknown" in row.status_reason
    # What a person says of it there travels on with the next capsule.
    happened = {"activity": effect.id, "verdict": Verdict.HAPPENED, "result": {"receipt": "R"}}
    store.settle(thread, actor="user:1", **happened)
    settled = export(thread, tmp_path / "settled.zip")
    empty()
    bench.agent = announce(samples.graph, samples.TOOLS, (samples,))
    bench.workspace = another_workspace("further")
    brought(settled, "--workspace", "further")
    assert queries.activity(effect.id).result == {"receipt": "R"}
    assert verify(thread).intact, verify(thread).what
    store.resume(thread, actor="user:1")
    bench.advance(thread)
    assert samples.counter.count("place") == n_placed


@pytest.mark.requirement("B18")
def test_one_checkpoint_is_enough_to_go_on(lived_here: tuple[Bench, UUID], tmp_path: Path) -> None:
    bench, thread = lived_here
    point = bench.checkpoint(thread, 2)
    state = bench.state_at(thread, point.id)
    capsule = export(thread, tmp_path, "--checkpoint", "2")
    with zipfile.ZipFile(capsule) as packed:
        assert "checkpoints/000002.json" in packed.namelist()
        assert "events.jsonl" not in packed.namelist()
    empty()
    bench.agent = announce(samples.graph, samples.TOOLS, (samples,))
    bench.workspace = another_workspace()
    new = UUID(brought(capsule, "--workspace", "there")["thread"])
    row = bench.row(new)
    assert (row.status, row.step, row.next_nodes) == ("paused", point.step, point.next_nodes)
    assert bench.state(new) == state
    assert bench.checkpoint(new, 0).source == "import"
    assert verify(new).intact, verify(new).what
    store.resume(new, actor="user:1")
    assert bench.advance(new).status == "waiting"
    payload = next(e for e in bench.events(new) if e.kind == "thread.imported")
    assert payload.data["checkpoint"] == str(point.id)


def test_forks_of_forks_bring_their_bases(lived_here: tuple[Bench, UUID], tmp_path: Path) -> None:
    bench, thread = lived_here
    line = [thread]
    for n in range(5):
        head = bench.row(line[-1]).head
        fork = store.fork(line[-1], checkpoint=head, changes={"goal": f"f{n}"}, actor="user:1")
        line.append(fork)
    state, past = bench.state(line[-1]), [everything(one) for one in line]
    capsule = export(line[-1], tmp_path)
    short = export(line[2], tmp_path)
    empty()
    bench.workspace = another_workspace()
    # A base that came before is the same one; the rest is added.
    assert brought(short, "--workspace", "there")["bases"] == [str(one) for one in line[:2]]
    code, _, errors = run("import", str(capsule), "--as", "carrier", "--workspace", "there")
    assert code == 0, errors
    payload = json.loads(json.dumps(run("verify", "--as", "carrier")[1]))
    assert payload["intact"], payload
    assert bench.state(line[-1]) == state
    for one, before in zip(line, past, strict=True):
        assert everything(one)["checkpoints"] == before["checkpoints"]
        assert bench.row(one).status in ("paused", "attention")


@pytest.mark.requirement("B25")
def test_honest_values_keep_their_hashes(cast: Cast, tmp_path: Path) -> None:
    values = {"a": 1e16, "b": 1e22, "c": -0.0, "d": 1.5e300, "money": "1000000000000000.00"}
    thread = make_thread(
        workspace=cast.workspace,
        input={
            "facts": values,
            "goal": "ä\u2028\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
        },
    )
    drive(thread, 3)
    queries_row = queries.thread(thread, workspace=cast.workspace)
    store.write_keyframe(
        thread, 2, queries.state_at(thread, queries.checkpoint_by_number(thread, 2).id)
    )
    past, state = everything(thread), queries.state_at(thread, queries_row.head)
    capsule = export(thread, tmp_path, who="operator")
    empty()
    brought(capsule, who="operator")
    assert everything(thread)["checkpoints"] == past["checkpoints"]
    assert queries.state_at(thread, queries_row.head) == state
    assert verify(thread).intact, verify(thread).what


@pytest.mark.parametrize("role", ["viewer", "manager", "admin"])
def test_not_everybody_may_take_it_away(cast: Cast, tmp_path: Path, role: str) -> None:
    thread = make_thread(workspace=cast.workspace)
    code, _, errors = run("export", str(thread), "--to", str(tmp_path), "--as", role)
    assert code == 1
    assert "Needs the role operator or auditor" in errors
    assert not list(tmp_path.iterdir())


def test_an_export_is_logged_and_nothing_is_written_over(cast: Cast, tmp_path: Path) -> None:
    thread = make_thread(workspace=cast.workspace)
    path = tmp_path / "kept.zip"
    path.write_text("mine")
    code, _, errors = run("export", str(thread), "--to", str(path), "--as", "auditor")
    assert (code, path.read_text()) == (2, "mine")
    assert "is there already" in errors
    path.unlink()
    export(thread, path, who="auditor")
    (logged,) = [
        event
        for event in queries.workspace_events(cast.workspace).rows
        if event.kind == "capsule.exported"
    ][:1]
    assert logged.data["thread"] == str(thread)
    assert logged.actor == cast.actor("auditor").id


@pytest.mark.parametrize("path", ["/api/v1/threads/{}/capsule/", "/threads/{}/capsule/"])
def test_browser_and_api_give_the_file_of_the_command(
    cast: Cast, tmp_path: Path, path: str
) -> None:
    thread = make_thread(workspace=cast.workspace)
    drive(thread, 2)
    expected = export(thread, tmp_path, who="operator").read_bytes()
    answer = cast.client("auditor").get(path.format(thread))
    assert answer.status_code == 200
    assert answer["Content-Type"] == "application/zip"
    assert answer["Content-Disposition"] == f'attachment; filename="counting-{thread}.zip"'
    assert b"".join(answer.streaming_content) == expected
    for name, status in (("viewer", 403), ("stranger", 404)):
        assert cast.client(name).get(path.format(thread)).status_code == status
    page = cast.client("auditor").get(f"/threads/{thread}/").content.decode()
    assert f'href="/threads/{thread}/capsule/"' in page
    assert "Download capsule" not in cast.client("viewer").get(f"/threads/{thread}/").text


@pytest.mark.slow
def test_a_large_file_goes_out_and_in_without_memory(cast: Cast, tmp_path: Path) -> None:
    """64 MiB within 16 MiB; a gigabyte through the web server is in tests/faults."""
    block = bytes(range(256)) * 4096
    ref = store.put_artifact(
        cast.workspace,
        name="big.bin",
        media_type="application/x",
        chunks=(block for _ in range(64)),
    )
    thread = make_thread(workspace=cast.workspace, input={"facts": {"big": ref}})
    tracemalloc.start()
    try:
        capsule = export(thread, tmp_path, who="operator")
        empty()
        brought(capsule, who="operator")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert capsule.stat().st_size > 64 * 1024 * 1024
    assert peak < 16 * 1024 * 1024
    row = queries.artifact(ref["$artifact"], workspace=cast.workspace)
    assert default_storage.size(row.path) == 64 * 1024 * 1024
