"""Capsules of threads in the middle of things: a cursor goes on elsewhere, a pin holds there."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any
from uuid import UUID

import pytest
from django.db import connection

from approvals.verification.proof import verify
from checkpoints import leases, queries, store
from checkpoints.records import CURSOR_BYTES
from checkpoints.state import deltas
from checkpoints.states import EventKind
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard.carried import brought, empty, export, run
from tests.unit.dashboard.threads.capsules.test_capsule_hostile import counts, repacked
from tests.unit.workers.conftest import Bench, bench_of
from tests.unit.workers.former import former_version
from workers.authoring.graph import END, Append, Graph, Retry, State
from workers.code.registry import announce
from workers.node.context import Context, cursor, progress

pytestmark = pytest.mark.django_db


class Items(State):
    n: int = 10
    got: Annotated[list[int], Append()] = []


class Killed(BaseException):
    """What kill -9 leaves: nothing is written after it."""


class World:
    """What the activity does in these tests, and which items it was seen to fetch."""

    items: list[int] = []
    at_item: Callable[[int], None] = staticmethod(lambda number: None)
    notes: dict[str, Any] = {}


@pytest.fixture(autouse=True)
def _new_world() -> None:
    World.items, World.at_item, World.notes = [], staticmethod(lambda number: None), {}


def dies_after(number: int, error: BaseException) -> None:
    def at_item(item: int) -> None:
        if item == number + 1:
            World.at_item = staticmethod(lambda item: None)
            raise error

    World.at_item = staticmethod(at_item)


def fetch(n: int) -> list[int]:
    got: list[int] = (cursor() or {"got": []})["got"]
    for number in range(len(got) + 1, n + 1):
        World.at_item(number)
        World.items.append(number)
        got.append(number)
        progress(number, n, cursor={"got": got} | World.notes, every=1)
    return got


graph = Graph("items", Items, retry=Retry(attempts=1))


@graph.node(then=END)
def work(state: Items, ctx: Context) -> dict[str, Any]:
    return {"got": ctx.activity(fetch, state.n)}


MODULE = SimpleNamespace(graph=graph, __name__=__name__, __file__=__file__)


@pytest.fixture
def bench(cast: Cast) -> Bench:
    made = bench_of(MODULE)
    made.workspace = cast.workspace
    return made


def killed(bench: Bench) -> UUID:
    """A thread whose worker died at the seventh of ten items."""
    thread = bench.start()
    dies_after(6, Killed())
    with pytest.raises(Killed):
        bench.advance(thread)
    assert bench.row(thread).status == "running"
    return thread


def elsewhere(bench: Bench, capsule: Path) -> dict[str, Any]:
    """Empty the installation and bring the capsule in."""
    empty()
    bench.agent = announce(graph, {}, (MODULE,))
    return brought(capsule, who="operator")


def members(capsule: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(capsule) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def lines(raw: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in raw.splitlines()]


@pytest.mark.requirement("B47")
@pytest.mark.requirement("B18")
def test_killed_at_60_percent_it_goes_on_from_its_cursor_elsewhere(
    bench: Bench, tmp_path: Path
) -> None:
    thread = killed(bench)
    capsule = export(thread, tmp_path, who="operator")
    assert capsule.read_bytes() == export(thread, tmp_path / "2.zip", who="operator").read_bytes()
    payload = members(capsule)
    (line,) = lines(payload["cursors.jsonl"])
    assert (line["node"], line["cursor"]) == ("work", {"got": [1, 2, 3, 4, 5, 6]})
    assert payload["activities.jsonl"] == b"", "it is not a record yet"

    assert elsewhere(bench, capsule)["status"] == "paused"
    assert verify(thread).intact, verify(thread).what
    (row,) = queries.activities(thread)
    assert (row.state, row.cursor) == ("started", {"got": [1, 2, 3, 4, 5, 6]})
    store.resume(thread, actor="user:1")
    assert bench.advance(thread).status == "succeeded"
    assert World.items == list(range(1, 11)), "no finished item was fetched again"
    assert bench.state(thread)["got"] == list(range(1, 11))
    (row,) = queries.activities(thread)
    assert (row.state, row.attempts, row.cursor) == ("done", 2, None)
    assert verify(thread).intact, verify(thread).what
    assert members(export(thread, tmp_path / "3.zip", who="operator"))["cursors.jsonl"] == b""


def test_what_failed_keeps_its_record_and_its_cursor(bench: Bench, tmp_path: Path) -> None:
    thread = bench.start()
    dies_after(4, ConnectionError("the line is cut"))
    assert bench.advance(thread).status == "failed"
    capsule = export(thread, tmp_path, who="operator")
    assert len(lines(members(capsule)["activities.jsonl"])) == 1
    elsewhere(bench, capsule)
    (row,) = queries.activities(thread)
    assert (row.state, row.cursor) == ("failed", {"got": [1, 2, 3, 4]})
    store.retry(thread, actor="user:1")
    # It had failed once before the worker was lost: event and row name the same activity.
    dies_after(8, Killed())
    with pytest.raises(Killed):
        bench.advance(thread)
    second = export(thread, tmp_path / "2.zip", who="operator")
    elsewhere(bench, second)
    store.resume(thread, actor="user:1")
    assert bench.advance(thread).status == "succeeded"
    assert World.items == list(range(1, 11))
    assert verify(thread).intact, verify(thread).what


def test_files_that_only_a_cursor_names_travel(bench: Bench, tmp_path: Path) -> None:
    ref = store.put_artifact(
        bench.workspace, name="part.csv", media_type="text/csv", chunks=[b"1\n2\n"]
    )
    World.notes = {"file": ref}
    thread = killed(bench)
    capsule = export(thread, tmp_path, who="operator")
    assert members(capsule)[f"artifacts/{ref['$artifact']}"] == b"1\n2\n"
    elsewhere(bench, capsule)
    assert queries.artifact(ref["$artifact"], workspace=bench.workspace).name == "part.csv"


def test_one_checkpoint_brings_no_cursor(bench: Bench, tmp_path: Path) -> None:
    thread = killed(bench)
    capsule = export(thread, tmp_path, "--checkpoint", "0", who="operator")
    assert "cursors.jsonl" not in members(capsule)
    new = UUID(elsewhere(bench, capsule)["thread"])
    store.resume(new, actor="user:1")
    assert bench.advance(new).status == "succeeded"
    assert World.items == [*range(1, 7), *range(1, 11)], "calls happen anew"


# ---- the pin ---------------------------------------------------------------------------------


def pinned(bench: Bench) -> UUID:
    """A thread that is pinned to its code, as people chose when a worker met it with another."""
    thread = bench.start()
    work = bench.lease(thread)
    results = {"choices": ["pin", "accept", "fork"], "version": str(work.agent_version)}
    store.leave(
        work,
        EventKind.THREAD_PARKED,
        reason="Its code is another",
        waiting_on={"kind": "person", **results},
    )
    store.pin(thread, actor="user:1")
    assert bench.row(thread).pinned
    return thread


@pytest.mark.requirement("B18")
def test_a_pinned_thread_stays_pinned(bench: Bench, tmp_path: Path) -> None:
    thread = pinned(bench)
    capsule = export(thread, tmp_path, who="operator")
    assert json.loads(members(capsule)["thread.json"])["thread"]["pinned"] is True
    elsewhere(bench, capsule)
    row = bench.row(thread)
    assert (row.status, row.pinned) == ("paused", True)
    assert verify(thread).intact, verify(thread).what
    store.resume(thread, actor="user:1")
    other = leases.Code([], ("items",), any_other=True)
    assert leases.acquire(thread, owner="worker:other", code=other) is None
    assert bench.advance(thread).status == "succeeded", "its own code takes it"
    store.unpin(thread, actor="user:1")
    third = export(thread, tmp_path / "3.zip", who="operator")
    elsewhere(bench, third)
    assert not bench.row(thread).pinned


def test_one_checkpoint_of_the_code_it_is_pinned_to_is_pinned_as_well(
    bench: Bench, tmp_path: Path
) -> None:
    thread = pinned(bench)
    capsule = export(thread, tmp_path, "--checkpoint", "0", who="operator")
    new = UUID(elsewhere(bench, capsule)["thread"])
    assert bench.row(new).pinned
    assert "code.pinned" in bench.kinds(new)
    assert verify(new).intact, verify(new).what
    store.unpin(new, actor="user:1")
    assert verify(new).intact, verify(new).what


def test_verify_finds_a_pin_that_was_set_or_taken_off_past_the_log(bench: Bench) -> None:
    thread = pinned(bench)
    for item in ("FALSE", "TRUE"):
        rows(f"UPDATE gp_thread SET pinned = {item} WHERE id = %s RETURNING 1", [thread])
        assert verify(thread).intact is (item == "TRUE")


# ---- older capsules, and hostile ones --------------------------------------------------------


def as_format_1(files: dict[str, bytes]) -> None:
    """As the former version wrote it: without cursors, and without a word of the pin."""
    about = json.loads(files["thread.json"])
    del about["thread"]["pinned"]
    files["thread.json"] = deltas.canonical(about | {"format": 1}) + b"\n"
    files.pop("cursors.jsonl", None)
    files.pop("anatomy.json")


def test_an_older_capsule_still_comes_in(bench: Bench, tmp_path: Path) -> None:
    """Its activity begins anew; that it was pinned its log has always told."""
    for made, is_pinned in ((killed, False), (pinned, True)):
        with former_version():
            thread = made(bench)
        old = repacked(export(thread, tmp_path / f"{thread}.zip", who="operator"), as_format_1)
        elsewhere(bench, old)
        assert bench.row(thread).pinned is is_pinned
        assert verify(thread).intact, verify(thread).what
        store.resume(thread, actor="user:1")
        assert bench.advance(thread).status == "succeeded"
    point = export(thread, tmp_path / "point.zip", "--checkpoint", "0", who="operator")
    new = UUID(elsewhere(bench, repacked(point, as_format_1))["thread"])
    assert not bench.row(new).pinned


def in_cursor(**values: Any) -> Callable[[dict[str, bytes]], None]:
    def change(files: dict[str, bytes]) -> None:
        (line,) = lines(files["cursors.jsonl"])
        files["cursors.jsonl"] = json.dumps(line | values).encode() + b"\n"

    return change


def in_thread(**values: Any) -> Callable[[dict[str, bytes]], None]:
    def change(files: dict[str, bytes]) -> None:
        about = json.loads(files["thread.json"])
        files["thread.json"] = json.dumps(about | {"thread": about["thread"] | values}).encode()

    return change


def twice(files: dict[str, bytes]) -> None:
    files["cursors.jsonl"] *= 2


def of_another_id(files: dict[str, bytes]) -> None:
    (line,) = lines(files["cursors.jsonl"])
    more = line | {"id": "00000000-0000-0000-0000-000000000001"}
    files["cursors.jsonl"] += json.dumps(more).encode() + b"\n"


LARGE = {"got": ["x" * CURSOR_BYTES]}
HOSTILE: dict[str, tuple[Callable[[dict[str, bytes]], None], str]] = {
    "another cursor": (
        in_cursor(cursor={"got": [1]}),
        "the cursor of the activity it names was altered",
    ),
    "a cursor left out": (
        lambda files: files.__setitem__("cursors.jsonl", b""),
        "the activity it names is missing",
    ),
    "a cursor of another time": (
        in_cursor(started_at="2026-01-01T00:00:00+00:00"),
        "the call whose cursor it kept was altered",
    ),
    "no cursor": (in_cursor(cursor=None), "is empty or over"),
    "too large": (in_cursor(cursor=LARGE), "is empty or over 1,048,576 bytes"),
    "of an effect": (in_cursor(kind="effect"), "which can have none"),
    "of a kind that is none": (in_cursor(kind="magic"), "refuses a row"),
    "other input": (in_cursor(args={"args": [5]}), "does not match its hash"),
    "no attempt": (in_cursor(attempts=0), "cannot be of attempt 0"),
    "the last attempt": (in_cursor(attempts=2**15 - 1), "cannot be of attempt 32767"),
    "attempts beyond": (in_cursor(attempts=2**15), "attempts must be a whole number"),
    "NaN": (in_cursor(cursor={"at": float("nan")}), "NaN"),
    "NUL": (in_cursor(cursor={"at": "\0"}), "NUL"),
    "another id": (in_cursor(id="x"), "id is not an id"),
    "twice": (twice, "of another activity than its id"),
    "two at one place": (of_another_id, "refuses a row"),
    "strange columns": (in_cursor(state="done"), "state is not known"),
    "no JSON": (lambda files: files.__setitem__("cursors.jsonl", b"{\n"), "not JSON"),
    "a pin that nobody set": (in_thread(pinned=True), "the pin is not what the log records"),
    "a pin that is none": (in_thread(pinned="yes"), "pinned must be true or false"),
    "a pin of 1": (in_thread(pinned=1), "pinned must be true or false"),
    "a later format": (
        lambda files: files.__setitem__(
            "thread.json", files["thread.json"].replace(b'"format":6', b'"format":7')
        ),
        "format 7; this version reads up to 6",
    ),
}


@pytest.mark.nightly
@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_cursors_and_pins_are_refused_and_leave_nothing(
    bench: Bench, tmp_path: Path, what: str
) -> None:
    change, said_so = HOSTILE[what]
    thread = killed(bench)
    forged = repacked(export(thread, tmp_path, who="operator"), change)
    empty(agents=False)
    before = counts()
    code, _, errors = run("import", str(forged), "--as", "operator")
    assert code == 1, errors
    assert said_so in errors, errors
    assert "Traceback" not in errors
    assert counts() == before


def test_a_cursor_lands_in_no_other_thread(bench: Bench, tmp_path: Path) -> None:
    """An activity that is here already, failed and known by its id, is not this capsule's."""
    mine = bench.start()
    dies_after(2, ConnectionError("the line is cut"))
    assert bench.advance(mine).status == "failed"
    (activity,) = queries.activities(mine)
    thread = killed(bench)
    capsule = export(thread, tmp_path, who="operator")
    with connection.cursor() as database:
        database.execute("SET session_replication_role = replica")
        for table in ("gp_activity", "gp_event", "gp_checkpoint", "gp_keyframe"):
            database.execute(f"DELETE FROM {table} WHERE thread_id = %s", [thread])
        database.execute("DELETE FROM gp_thread WHERE id = %s", [thread])
        database.execute("SET session_replication_role = DEFAULT")
    row = rows(
        "SELECT encode(salt, 'hex'), encode(input_hash, 'hex') FROM gp_activity WHERE id = %s",
        [activity.id],
    )[0]
    evil = repacked(
        capsule, in_cursor(id=str(activity.id), salt=row[0], input_hash=row[1], cursor={"got": []})
    )
    code, _, errors = run("import", str(evil), "--as", "operator")
    assert (code, "of another activity than its id" in errors) == (1, True), errors
    assert queries.activity(activity.id).cursor == activity.cursor


def test_the_manifest_names_cursors_by_their_hash(bench: Bench, tmp_path: Path) -> None:
    payload = members(export(killed(bench), tmp_path, who="operator"))
    named = f"{sha256(payload['cursors.jsonl']).hexdigest()}  cursors.jsonl\n"
    assert named.encode() in payload["MANIFEST"]
