"""Capsules: what leaves an installation comes in elsewhere as the same thread, or not at all."""

from __future__ import annotations

import io
import json
import tracemalloc
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import yaml
from django.contrib.auth import get_user_model
from django.core.files.storage import default_storage
from django.core.management import call_command
from django.db import connection
from uuid_utils.compat import uuid7

from approvals import capsules as requests
from approvals import queries as approval_queries
from checkpoints import queries, store
from checkpoints.capsules import columns
from checkpoints.records import NewActivity, Position
from checkpoints.verdicts import Verdict
from dashboard.proof import verify
from tests.cast import Cast
from tests.checkpoints.builders import drive, make_thread, rows
from tests.dashboard.test_proof import columns_of, lived  # noqa: F401
from tests.workers import samples
from tests.workers.conftest import Bench
from workers.registry import announce

pytestmark = pytest.mark.django_db

# Columns that stay behind, each with the reason.
BEHIND = {
    "gp_event": {
        "thread_id": "is the folder",
        "workspace_id": "is the importing one",
        "xid8": "is of this database",
    },
    "gp_checkpoint": {"thread_id": "is the folder", "workspace_id": "is the importing one"},
    "gp_activity": {
        "thread_id": "is the folder",
        "workspace_id": "is the importing one",
        "progress": "is no history",
        "cursor": "is no history",
    },
    "gp_approval": {
        "thread_id": "is the folder",
        "workspace_id": "is the importing one",
        "imported": "is said of all that comes in",
        "reminded": "is no history",
    },
    "gp_decision": {"workspace_id": "is the importing one"},
}


def run(name: str, *arguments: str) -> tuple[int, dict[str, Any], str]:
    """(exit code, JSON answer, what was said beside it)."""
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command(name, *arguments, "--json", stdout=out, stderr=err)
        code = 0
    except SystemExit as stop:
        code = int(stop.code or 0)
    return code, json.loads(out.getvalue() or "{}"), err.getvalue()


def export(thread: UUID, to: Path, *more: str, who: str = "carrier") -> Path:
    code, told, said = run("export", str(thread), "--to", str(to), "--as", who, *more)
    assert code == 0, said
    return Path(told["file"])


def brought(capsule: Path, *more: str, who: str = "carrier") -> dict[str, Any]:
    code, told, said = run("import", str(capsule), "--as", who, *more)
    assert code == 0, said
    return told


TABLES = (
    *("gp_event", "gp_checkpoint", "gp_content", "gp_activity", "gp_approval", "gp_decision"),
    "gp_artifact",
)


def empty(*, agents: bool = True) -> None:
    """An installation without any of this: everything is taken out, past all guards."""
    gone = (*TABLES, "gp_keyframe", "gp_wake", "gp_verification", "gp_thread")
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        for table in (*gone, *(("gp_agent_version",) if agents else ())):
            cursor.execute(f"DELETE FROM {table}")
        cursor.execute("SET session_replication_role = DEFAULT")


def another_workspace(name: str = "there") -> UUID:
    place = store.create_workspace(name, actor="user:0")
    user = get_user_model()._default_manager.get(username="carrier")
    store.grant(place, user.pk, "operator", actor="user:0")
    # People act where they belong longest: leave the former ones.
    for former, _, role in queries.memberships(user.pk):
        if former != place:
            store.withdraw(former, user.pk, role, actor="user:0")
    return place


def everything(thread: UUID) -> dict[str, list[Any]]:
    """All history rows of a thread, without the workspace."""
    return {
        "events": list(queries.event_rows(thread)),
        "checkpoints": list(queries.checkpoint_rows(thread)),
        "contents": rows(
            "SELECT sha256, body FROM gp_content WHERE thread_id = %s ORDER BY 1", [thread]
        ),
        "activities": list(queries.activity_rows(thread)),
        "approvals": list(requests.approval_rows(thread)),
        "decisions": list(requests.decision_rows(thread)),
    }


@pytest.fixture
def lived_here(lived: tuple[Bench, UUID]) -> tuple[Bench, UUID]:  # noqa: F811
    """The thread with everything, and somebody who may carry it: `carrier`."""
    bench, thread = lived
    user = get_user_model()._default_manager.create_user(username="carrier")
    store.grant(bench.workspace, user.pk, "operator", actor="user:0")
    return bench, thread


def test_every_column_travels_or_stays_for_a_reason(db: None) -> None:
    travels = {
        "gp_event": columns.EVENT,
        "gp_checkpoint": columns.CHECKPOINT,
        "gp_activity": columns.ACTIVITY,
        "gp_approval": requests.APPROVAL,
        "gp_decision": requests.DECISION,
    }
    for table, behind in BEHIND.items():
        assert {name for name, _ in columns_of(table)} == {*travels[table], *behind}, table
        assert travels[table].keys().isdisjoint(behind)


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
    told = brought(capsule, "--workspace", "there")
    assert (told["status"], told["withdrawn"]) == ("paused", len(open_ones))
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

    code, _, said = run("import", str(capsule), "--as", "carrier", "--workspace", "there")
    assert code == 1
    assert "is here already" in said
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
    asked = bench.open(thread)
    assert asked.workspace == bench.workspace
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
    code, _, said = run("import", str(capsule), "--as", "carrier")
    assert code == 1
    assert "no effect has used yet" in said
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
    told = next(e for e in bench.events(new) if e.kind == "thread.imported")
    assert told.data["checkpoint"] == str(point.id)


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
    code, _, said = run("import", str(capsule), "--as", "carrier", "--workspace", "there")
    assert code == 0, said
    told = json.loads(json.dumps(run("verify", "--as", "carrier")[1]))
    assert told["intact"], told
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
    code, _, said = run("export", str(thread), "--to", str(tmp_path), "--as", role)
    assert code == 1
    assert "Needs the role operator or auditor" in said
    assert not list(tmp_path.iterdir())


def test_an_export_is_logged_and_nothing_is_written_over(cast: Cast, tmp_path: Path) -> None:
    thread = make_thread(workspace=cast.workspace)
    place = tmp_path / "kept.zip"
    place.write_text("mine")
    code, _, said = run("export", str(thread), "--to", str(place), "--as", "auditor")
    assert (code, place.read_text()) == (2, "mine")
    assert "is there already" in said
    place.unlink()
    export(thread, place, who="auditor")
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


def test_a_large_file_goes_out_and_in_without_memory(cast: Cast, tmp_path: Path) -> None:
    """64 MiB within 16 MiB; a gigabyte through the web server is in tests/hazards."""
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


# ---- hostile ------------------------------------------------------------------------------------


def repacked(
    capsule: Path, change: Callable[[dict[str, bytes]], None], *, manifest: bool = True
) -> Path:
    """The capsule with other members; MANIFEST made to fit them, as whoever forges one would."""
    with zipfile.ZipFile(capsule) as packed:
        members = {name: packed.read(name) for name in packed.namelist()}
    change(members)
    if manifest:
        members["MANIFEST"] = "".join(
            f"{sha256(raw).hexdigest()}  {name}\n"
            for name, raw in members.items()
            if name != "MANIFEST"
        ).encode()
    made = capsule.with_name("forged.zip")
    with zipfile.ZipFile(made, "w") as packed:
        for name, raw in members.items():
            packed.writestr(name, raw)
    return made


def replaced(name: str, old: bytes, new: bytes) -> Callable[[dict[str, bytes]], None]:
    def change(members: dict[str, bytes]) -> None:
        assert old in members[name], (old, name)
        members[name] = members[name].replace(old, new, 1)

    return change


def cut(name: str) -> Callable[[dict[str, bytes]], None]:
    def change(members: dict[str, bytes]) -> None:
        members[name] = b"".join(members[name].splitlines(keepends=True)[:-1])

    return change


def without(name: str) -> Callable[[dict[str, bytes]], None]:
    return lambda members: members.__setitem__("gone", members.pop(name)) or members.pop("gone")


def also(name: str, raw: bytes = b"x") -> Callable[[dict[str, bytes]], None]:
    return lambda members: members.__setitem__(name, raw)


def in_thread(**values: Any) -> Callable[[dict[str, bytes]], None]:
    def change(members: dict[str, bytes]) -> None:
        told = json.loads(members["thread.json"])
        told["thread"] |= values
        members["thread.json"] = json.dumps(told).encode()

    return change


def in_agent(**values: Any) -> Callable[[dict[str, bytes]], None]:
    def change(members: dict[str, bytes]) -> None:
        for name in [name for name in members if name.startswith("agents/")]:
            members[name] = json.dumps(json.loads(members[name]) | values).encode()

    return change


def first_line(name: str, **values: Any) -> Callable[[dict[str, bytes]], None]:
    def change(members: dict[str, bytes]) -> None:
        lines = members[name].splitlines(keepends=True)
        lines[0] = json.dumps(json.loads(lines[0]) | values).encode() + b"\n"
        members[name] = b"".join(lines)

    return change


DEEP = b"[" * 100_000 + b"]" * 100_000
FORGED: dict[str, tuple[Callable[[dict[str, bytes]], None], str]] = {
    "an event": (
        replaced("events.jsonl", b'"actor":"user:1"', b'"actor":"user:9"'),
        "does not fit",
    ),
    "an event less": (cut("events.jsonl"), "does not hold"),
    "a checkpoint": (
        replaced("checkpoints/000001.json", b'"created_by":"worker', b'"created_by":"worken'),
        "does not hold",
    ),
    "a checkpoint less": (without("checkpoints/000001.json"), "Checkpoint 1 is missing"),
    "an activity": (
        replaced("activities.jsonl", b'"attempts":1', b'"attempts":2'),
        "does not hold",
    ),
    "a decision": (replaced("decisions.jsonl", b'"verdict":"', b'"verdict":"re'), ""),
    "a request": (replaced("approvals.jsonl", b"Place the order", b"Place an order"), "altered"),
    "a file": (without("artifacts.jsonl"), "missing"),
    "a content": (
        lambda m: [
            m.__setitem__(n, raw.replace(b"long", b"lang", 1))
            for n, raw in m.items()
            if n.startswith("contents/")
        ],
        "named after other bytes",
    ),
    "a content less": (
        lambda m: m.pop(next(n for n in m if n.startswith("contents/"))),
        "is missing",
    ),
    "a content more": (
        also(f"contents/{sha256(b'7').hexdigest()}.json", b"7"),
        "no checkpoint names the content",
    ),
    "a content that is no JSON": (also(f"contents/{sha256(b'x').hexdigest()}.json"), "not JSON"),
    "its hash": (in_thread(last_hash="00" * 32), "does not hold"),
    "its number": (in_thread(last_seq=3), "gp_event_pkey"),
    "its head": (in_thread(number=1), "does not hold"),
    "its base": (in_thread(base="00000000-0000-0000-0000-000000000001"), "bases"),
    "its status": (in_thread(status="flying"), "status"),
    "its cost": (in_thread(cost="NaN"), "cost"),
    "its times": (in_thread(created_at="yesterday"), "created_at"),
    "its labels": (in_thread(title=7), "title"),
    "its rollback": (in_thread(rollback={"undo": []}), "rollback"),
    "too long a title": (in_thread(title="x" * 301), "refuses a row"),
    "a circle": (
        lambda m: first_line(
            "checkpoints/000000.json",
            parent_number=0,
            parent=json.loads(m["thread.json"])["thread"]["head"],
            parent_thread=json.loads(m["thread.json"])["thread"]["id"],
        )(m),
        "parent of checkpoint 0",
    ),
    "strange columns": (first_line("events.jsonl", more=1), "more"),
    "huge numbers": (first_line("events.jsonl", seq=2**60), "seq"),
    "NUL": (first_line("events.jsonl", actor="\0"), "NUL"),
    "depth": (lambda m: m.__setitem__("events.jsonl", DEEP + b"\n"), "deep"),
    "NaN": (replaced("events.jsonl", b'"v":1', b'"v":NaN'), "NaN"),
    "twice": (replaced("events.jsonl", b'"v":1', b'"v":1,"v":1'), "twice"),
    "no JSON": (also("events.jsonl", b"\xff\n"), "UTF-8"),
    "no end of line": (also("events.jsonl", b"{}"), "cut off"),
    "a path out": (also("../../etc/passwd"), "does not belong"),
    "an absolute path": (also("/etc/passwd"), "does not belong"),
    "code": (also("agents/evil.py"), "does not belong"),
    "another agent": (
        lambda m: [
            m.__setitem__(n, raw.replace(b'"channels":{', b'"channels":{"x":{},', 1))
            for n, raw in list(m.items())
            if n.startswith("agents/")
        ],
        "otherwise than it is known here",
    ),
    "no graph": (in_agent(graph={"nodes": 1}), "not in order"),
    "no nodes": (in_agent(graph={"entry": [], "nodes": [{"name": 1}]}), "describe an agent"),
    "no schema": (in_agent(schema={"type": 7}), "no JSON Schema"),
    "a later format": (replaced("thread.json", b'"format":1', b'"format":2'), "format 2"),
    "somebody else's": (also("thread.json", b"[]"), "not one of Gatepost's"),
    "unknown message": (
        replaced("thread.json", b'"inputs":[]', b'"inputs":["1"]'),
        "never received",
    ),
}


@pytest.mark.parametrize("what", FORGED)
def test_a_forged_capsule_is_refused_and_leaves_nothing(
    lived_here: tuple[Bench, UUID], tmp_path: Path, what: str
) -> None:
    change, said_so = FORGED[what]
    _, thread = lived_here
    forged = repacked(export(thread, tmp_path), change)
    empty(agents=False)
    another_workspace()
    before = counts()
    code, _, said = run("import", str(forged), "--as", "carrier", "--workspace", "there")
    assert code == 1, said
    assert said_so in said, said
    assert counts() == before
    assert "Traceback" not in said


DAMAGED: dict[str, Callable[[Path], bytes]] = {
    "cut": lambda p: p.read_bytes()[:-200],
    "half": lambda p: p.read_bytes()[: p.stat().st_size // 2],
    "empty": lambda p: b"",
    "text": lambda p: b"hello" * 100,
    "a bit": lambda p: p.read_bytes().replace(b"worker:test", b"worker:tesT", 1),
}


@pytest.mark.parametrize("what", DAMAGED)
def test_a_damaged_capsule_is_refused(
    lived_here: tuple[Bench, UUID], tmp_path: Path, what: str
) -> None:
    _, thread = lived_here
    capsule = export(thread, tmp_path)
    capsule.write_bytes(DAMAGED[what](capsule))
    empty()
    another_workspace()
    before = counts()
    code, _, said = run("import", str(capsule), "--as", "carrier", "--workspace", "there")
    assert (code, counts()) == (1, before), said
    assert len(said.strip().splitlines()) == 1


def test_altered_without_manifest_bombs_and_doubles(
    lived_here: tuple[Bench, UUID], tmp_path: Path
) -> None:
    _, thread = lived_here
    capsule = export(thread, tmp_path)
    empty()
    another_workspace()
    altered = repacked(capsule, replaced("events.jsonl", b'"v":1', b'"v":2'), manifest=False)
    assert (
        "was altered" in run("import", str(altered), "--as", "carrier", "--workspace", "there")[2]
    )
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("MANIFEST", b"0" * 50_000_000)
    assert "more than its file" in run("import", str(bomb), "--as", "carrier")[2]
    double = tmp_path / "double.zip"
    with zipfile.ZipFile(double, "w") as packed:
        packed.writestr("MANIFEST", b"")
        with pytest.warns(UserWarning, match="Duplicate"):
            packed.writestr("MANIFEST", b"")
    assert "twice" in run("import", str(double), "--as", "carrier")[2]
    assert "No such file" in run("import", str(tmp_path / "none"), "--as", "carrier")[2]


def counts() -> list[int]:
    tables = (*TABLES, "gp_thread", "gp_agent_version", "gp_wake", "gp_keyframe")
    files = Path(default_storage.path("artifacts"))
    return [rows(f"SELECT count(*) FROM {table}")[0][0] for table in tables] + [
        sum(1 for path in files.rglob("*") if path.is_file() and str(path.parent.parent.name) != "")
    ]
