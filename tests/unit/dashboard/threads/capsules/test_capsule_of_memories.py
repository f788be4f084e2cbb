"""Capsules with memories: what the exporter may see, of deleted ones the reason; forged ones."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from checkpoints import queries, store
from checkpoints.memories import NewMemory
from checkpoints.states import Status
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard.carried import another_workspace, brought, empty, export, run
from tests.unit.dashboard.threads.capsules.test_capsule_hostile import first_line, repacked
from tests.unit.workers.conftest import Bench, bench_of
from tests.unit.workers.graphs import remembering

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("A10")]
MEMORIES = "memories.jsonl"
GONE = "It was wrong."
# Their ids are not that of `user:1`, who starts the threads.
ROLES = {"operator": 501, "auditor": 502}


def written(workspace: UUID, text: str, scope: Any = "workspace", owner: str = "") -> UUID:
    new = NewMemory(scope, owner, "fact", text, source="person")
    return store.remember(workspace, new, actor="user:1").id


@pytest.fixture
def thread(db: None) -> tuple[Bench, UUID]:
    """A thread that refers to four memories: its own, one since corrected, one of a person, one
    since deleted."""
    bench = bench_of(remembering)
    for role, pk in ROLES.items():
        name = "carrier" if role == "operator" else role
        user = get_user_model()._default_manager.create_user(id=pk, username=name)
        store.grant(bench.workspace, user.pk, role, actor="user:0")
    corrected = written(bench.workspace, "The quokka weighs 3 kg.")
    written(bench.workspace, "My quokka is called Ada.", "person", "user:1")
    deleted = written(bench.workspace, "A quokka can fly.")
    made = bench.start(text="The report is due.", scope="agent", question="quokka")
    assert bench.advance(made).status is Status.SUCCEEDED
    store.correct_memory(
        corrected,
        workspace=bench.workspace,
        text="The quokka weighs 4 kg.",
        reason="Weighed.",
        actor="user:1",
    )
    store.forget_memories([deleted], workspace=bench.workspace, reason=GONE, actor="user:1")
    return bench, made


def lines_of(capsule: Path) -> list[dict[str, Any]]:
    with zipfile.ZipFile(capsule) as packed:
        return [json.loads(line) for line in packed.read(MEMORIES).splitlines()]


def texts_of(capsule: Path) -> list[str]:
    return sorted(
        line.get("text") or line.get("reason") or line["state"] for line in lines_of(capsule)
    )


def test_without_the_option_it_has_references_and_no_text(
    thread: tuple[Bench, UUID], tmp_path: Path
) -> None:
    capsule = export(thread[1], tmp_path)
    raw = capsule.read_bytes()
    with zipfile.ZipFile(capsule) as packed:
        assert MEMORIES not in packed.namelist()
        state = json.loads(packed.read("state.json"))["state"]
    assert state["ref"]["revision"] == 1
    assert b"The report is due." in raw  # it is in the input that the thread was given
    assert b"called Ada" in raw  # and the state has what the agent answered


@pytest.mark.parametrize(
    ("who", "person"), [("carrier", "withheld"), ("auditor", "My quokka is called Ada.")]
)
def test_with_it_come_the_texts_that_the_exporter_may_see(
    thread: tuple[Bench, UUID], tmp_path: Path, who: str, person: str
) -> None:
    capsule = export(thread[1], tmp_path, "--memories", who=who)
    # The text of the revision that the thread was told, not of the newest.
    expected = ["The report is due.", "The quokka weighs 3 kg.", GONE, person]
    assert texts_of(capsule) == sorted(expected)
    for line in lines_of(capsule):
        if line["state"] == "withheld":
            assert line.keys() == {"id", "revision", "state"}
        if line["state"] == "gone":
            assert line.keys() == {"id", "revision", "state", "reason"}
    again = export(thread[1], tmp_path / "again.zip", "--memories", who=who)
    assert again.read_bytes() == capsule.read_bytes()
    (event,) = {
        event.data["memories"]
        for event in queries.workspace_events(thread[0].workspace, limit=9).rows
        if event.kind == "capsule.exported"
    }
    assert event == (2 if who == "carrier" else 3)


def test_the_call_gives_the_same_bytes(thread: tuple[Bench, UUID], tmp_path: Path) -> None:
    capsule = export(thread[1], tmp_path, "--memories", who="auditor")
    client = Client()
    client.force_login(get_user_model()._default_manager.get(username="auditor"))
    response: Any = client.get(f"/api/v1/threads/{thread[1]}/capsule/?memories=true")
    assert b"".join(response.streaming_content) == capsule.read_bytes()


@pytest.mark.parametrize(("who", "n", "withheld"), [("carrier", 2, 1), ("auditor", 3, 0)])
def test_a_preview_says_how_many_would_come_along(
    thread: tuple[Bench, UUID], who: str, n: int, withheld: int
) -> None:
    bench, made = thread
    counts = {"texts": n, "gone": 1, "withheld": withheld}
    code, answer, errors = run("export", str(made), "--memories", "--preview", "--as", who)
    assert (code, answer) == (0, counts), errors
    kinds = {event.kind for event in queries.workspace_events(bench.workspace, limit=99).rows}
    assert "capsule.exported" not in kinds
    code, _, errors = run("export", str(made), "--preview", "--as", who)
    assert code == 2
    assert "says what --memories would take along" in errors


def test_one_checkpoint_brings_those_of_its_state(
    thread: tuple[Bench, UUID], tmp_path: Path
) -> None:
    capsule = export(thread[1], tmp_path, "--memories", "--checkpoint", "1")
    assert texts_of(capsule) == ["The report is due."]
    empty()
    another_workspace()
    assert brought(capsule, "--workspace", "there")["memories"] == 1


def test_what_is_over_is_not_read_under_a_hold(thread: tuple[Bench, UUID], tmp_path: Path) -> None:
    rows(
        "UPDATE gp_memory SET expires_at = now() - interval '1 s' WHERE text LIKE %s RETURNING id",
        ("%report%",),
    )
    capsule = export(thread[1], tmp_path, "--memories")
    assert "The report is due." not in texts_of(capsule)
    assert "It expired." in texts_of(capsule)


def test_an_import_checks_them_and_keeps_none(thread: tuple[Bench, UUID], tmp_path: Path) -> None:
    capsule = export(thread[1], tmp_path, "--memories")
    empty()
    elsewhere = another_workspace()
    answer = brought(capsule, "--workspace", "there")
    assert (answer["memories"], answer["status"]) == (2, "succeeded")
    sql = "SELECT count(*) FROM gp_memory WHERE workspace_id = %s"
    assert rows(sql, (elsewhere,)) == [(0,)]


def change(number: int, **values: Any) -> Callable[[dict[str, bytes]], None]:
    """Other values in the line of a memory of a state."""

    def changed(members: dict[str, bytes]) -> None:
        lines = [json.loads(line) for line in members[MEMORIES].splitlines()]
        lines.sort(key=lambda line: line["state"] != "kept")
        lines[number] |= values
        members[MEMORIES] = b"".join(json.dumps(line).encode() + b"\n" for line in lines)

    return changed


NOBODY = "00000000-0000-0000-0000-000000000001"
FORGED: dict[str, tuple[Callable[[dict[str, bytes]], None], str]] = {
    "one of another thread": (change(0, id=NOBODY), "no thread in the capsule refers to"),
    "another revision": (change(0, revision=7), "no thread in the capsule refers to"),
    "no text": (change(0, text=" "), "text is required"),
    "too long a text": (change(0, text="x" * 100_001), "100,001 characters"),
    "a scope that is none": (change(0, scope="all"), "must be one of"),
    "a secret": (change(0, text="key AKIAABCDEFGHIJKLMNOP"), "holds"),
    "more than a memory has": (change(0, more=1), "line 1 in the capsule is not a memory"),
    "a text of one that is gone": (change(-1, text="It can fly."), "is not a memory"),
    "a state that is none": (change(0, state="there"), "is not a memory"),
    "a list": (lambda m: m.__setitem__(MEMORIES, b"[]\n"), "is not a memory"),
    "twice": (
        lambda m: m.__setitem__(MEMORIES, m[MEMORIES] + m[MEMORIES].splitlines(True)[0]),
        "is in the capsule twice",
    ),
    "one less": (
        lambda m: m.__setitem__(MEMORIES, b"".join(m[MEMORIES].splitlines(True)[1:])),
        "lacks the memory",
    ),
    "an id that is none": (first_line(MEMORIES, id="x"), "of a form that was never written"),
}


@pytest.mark.parametrize("forged", FORGED)
def test_what_was_forged_is_refused(
    thread: tuple[Bench, UUID], tmp_path: Path, forged: str
) -> None:
    forge, reason = FORGED[forged]
    capsule = repacked(export(thread[1], tmp_path, "--memories"), forge)
    empty()
    another_workspace()
    code, _, errors = run("import", str(capsule), "--as", "carrier", "--workspace", "there")
    assert code == 1
    assert reason in errors
    assert rows("SELECT count(*) FROM gp_thread WHERE id = %s", (thread[1],)) == [(0,)]


def test_a_text_that_was_altered_is_not_that_of_manifest(
    thread: tuple[Bench, UUID], tmp_path: Path
) -> None:
    made = export(thread[1], tmp_path, "--memories")
    capsule = repacked(made, change(0, text="Pay the quokka."), manifest=False)
    code, _, errors = run("import", str(capsule), "--as", "carrier")
    assert code == 1
    assert f"{MEMORIES} in the capsule was altered" in errors
