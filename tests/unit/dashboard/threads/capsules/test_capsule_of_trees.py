"""Capsules with a whole family tree: each thread is proved, and no thread of others is touched."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth import get_user_model
from django.db import connection, transaction

from approvals import gates
from approvals import queries as approval_queries
from approvals.verification.proof import verify
from checkpoints import queries, store
from checkpoints.capsules import layout
from tests.support.reviewers import reviewer_in
from tests.unit.dashboard.carried import (
    TABLES,
    another_workspace,
    brought,
    empty,
    everything,
    export,
)
from tests.unit.dashboard.carried import run as command
from tests.unit.dashboard.threads.capsules.test_capsule_hostile import in_thread, repacked
from tests.unit.workers.tree import agents
from tests.unit.workers.tree.agents import GRAPHS, editor, lead
from tests.unit.workers.tree.conftest import Fleet
from workers.code.registry import announce
from workers.testing.harness import Harness, NotOnTape

FILES = [f"file-{n}" for n in range(4)]


@pytest.fixture
def fleet(real_db: str) -> Fleet:
    known = {graph.name: announce(graph, {}, ()) for graph in GRAPHS}
    here = Fleet(known, store.create_workspace("family", actor="user:1"))
    user = get_user_model().objects.create_user("carrier")
    store.grant(here.workspace, user.pk, "operator", actor="user:0")
    return here


@pytest.fixture
def tree(fleet: Fleet) -> UUID:
    """An editor whose researchers handed over to writers; one of them failed."""
    thread = fleet.start("editor", goals=["tea", "bad", "ore"])
    fleet.work()
    assert fleet.row(thread).status == "succeeded"
    return thread


def family(thread: UUID) -> list[UUID]:
    return [thread, *queries.threads_below(thread)]


def lineage(threads: list[UUID]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, parent, root, depth, base FROM gp_thread WHERE id = ANY(%s) ORDER BY id",
            (threads,),
        )
        return cursor.fetchall()


def children_known(parent: UUID) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT child_id, outcome, successor FROM gp_child WHERE parent = %s ORDER BY 1",
            (parent,),
        )
        return cursor.fetchall()


def gone() -> None:
    """The installation without any thread."""
    empty()
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM gp_child")


@pytest.mark.altered
@pytest.mark.requirement("B10")
def test_a_whole_tree_comes_in_as_it_was_and_is_proved(
    fleet: Fleet, tree: UUID, tmp_path: Path
) -> None:
    line = family(tree)
    assert len(line) == 7, "an editor, three researchers, three writers"
    before, past, known = lineage(line), [everything(one) for one in line], children_known(tree)
    capsule = export(tree, tmp_path, "--children")
    again = export(tree, tmp_path / "again.zip", "--children")
    assert capsule.read_bytes() == again.read_bytes()
    gone()
    elsewhere = another_workspace()
    payload = brought(capsule, "--workspace", "there")
    assert [UUID(one) for one in payload["children"]] == line[1:]
    assert (payload["status"], payload["left_out"]) == ("succeeded", 0)
    assert lineage(line) == before
    assert children_known(tree) == known
    for one, then in zip(line, past, strict=True):
        assert everything(one)["events"][: len(then["events"])] == then["events"]
        assert everything(one)["checkpoints"] == then["checkpoints"]
        assert verify(one).intact, verify(one).what
        assert queries.thread(one, workspace=elsewhere).id == one
    # What is altered in a child afterwards is found by its parent's log as well.
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        cursor.execute(
            "UPDATE gp_event SET hash = sha256('x') WHERE thread_id = %s AND kind = "
            "'thread.succeeded'",
            (line[-1],),
        )
        cursor.execute("SET session_replication_role = DEFAULT")
    assert "a child it names is not as it was then" in verify(tree).what


def test_without_children_they_are_named_as_left_out(
    fleet: Fleet, tree: UUID, tmp_path: Path
) -> None:
    capsule = export(tree, tmp_path)
    with zipfile.ZipFile(capsule) as packed:
        about = json.loads(packed.read("thread.json"))
    assert about["children"] == []
    # Three researchers and the three who took over from them.
    assert sorted(about["left_out"]) == sorted(str(one) for one in family(tree)[1:])
    gone()
    another_workspace()
    payload = brought(capsule, "--workspace", "there")
    assert (payload["children"], payload["left_out"]) == ([], 6)
    assert verify(tree).intact


def test_a_tree_that_waited_goes_on_where_it_came_to(fleet: Fleet, tmp_path: Path) -> None:
    """Two generations wait for a payment: paused here, resumed there, joined there."""
    thread = fleet.start("clerk", to="Ada", depth=2)
    fleet.work()
    line = family(thread)
    assert [str(fleet.row(one).status) for one in line] == ["waiting"] * 3
    capsule = export(thread, tmp_path, "--children")
    gone()
    agents.paid.clear()
    fleet.workspace = another_workspace()
    for graph in GRAPHS:
        fleet.agents[graph.name] = announce(graph, {}, ())
    brought(capsule, "--workspace", "there")
    assert [str(fleet.row(one).status) for one in line] == ["paused"] * 3
    for one in line:
        store.resume(one, actor="user:1")
    fleet.work()
    assert [str(fleet.row(one).status) for one in line] == ["waiting"] * 3
    (request,) = approval_queries.for_thread(line[-1], open_only=True)
    assert agents.paid == []
    gates.decide(
        request.id,
        workspace=fleet.workspace,
        reviewer=reviewer_in(fleet.workspace),
        verdict="approve",
        proposal_hash=request.proposal_hash,
    )
    fleet.work()
    assert [str(fleet.row(one).status) for one in line] == ["succeeded"] * 3
    assert (fleet.state(thread)["receipt"], len(agents.paid)) == ("paid Ada", 1)
    for one in line:
        assert verify(one).intact, verify(one).what


def test_a_child_or_its_base_comes_alone_and_then_its_parent(
    fleet: Fleet, tree: UUID, tmp_path: Path
) -> None:
    """The child that came by itself is nobody's here, and stays as it is."""
    child = family(tree)[-1]
    one, parent = export(child, tmp_path / "child.zip"), export(tree, tmp_path / "parent.zip")
    whole = export(tree, tmp_path / "whole.zip", "--children")
    gone()
    another_workspace()
    brought(one, "--workspace", "there")
    # Its parent and the root of its tree are not here.
    assert [row[:4] for row in lineage([child])] == [(child, None, None, 0)]
    before = everything(child)
    code, _, errors = command("import", str(whole), "--as", "carrier", "--workspace", "there")
    assert code == 1
    assert "is here already; it is not imported twice" in errors
    assert queries.head("thread", tree, 0) is None, "nothing of it came in"
    brought(parent, "--workspace", "there")
    assert everything(child) == before
    for thread in (child, tree):
        assert verify(thread).intact, verify(thread).what


# ---- what a capsule may not reach ----------------------------------------------------------------


def in_child(number: int, **values: Any) -> Callable[[dict[str, bytes]], None]:
    def change(members: dict[str, bytes]) -> None:
        names = sorted(n for n in members if n.startswith("children/") and "thread.json" in n)
        payload = json.loads(members[names[number]])
        payload["thread"] |= values
        members[names[number]] = json.dumps(payload).encode()

    return change


def rows_of_all() -> dict[str, list[Any]]:
    results = {}
    with connection.cursor() as cursor:
        for table in (*TABLES, "gp_thread", "gp_child", "gp_wake"):
            cursor.execute(f"SELECT md5(x::text) FROM {table} x ORDER BY 1")
            results[table] = [value for (value,) in cursor.fetchall()]
    return results


@pytest.mark.nightly
def test_no_id_of_a_foreign_thread_gets_in_or_is_touched(
    fleet: Fleet, tree: UUID, tmp_path: Path
) -> None:
    """Each id in each thread.json of the capsule becomes that of a thread which is here."""
    capsule = export(tree, tmp_path, "--children")
    gone()
    fleet.workspace = another_workspace()
    for graph in GRAPHS:
        fleet.agents[graph.name] = announce(graph, {}, ())
    foreign = fleet.start("editor", goals=["gold"])
    fleet.work()
    here = rows_of_all()
    refused: list[str] = []
    for name in ("id", "chain_id", "parent", "root", "base", "forked_from", "head"):
        for member in (in_thread, *(partial(in_child, number) for number in range(6))):
            forged = repacked(capsule, member(**{name: str(foreign)}))
            with transaction.atomic():
                code, _, errors = command("import", str(forged), "--as", "carrier")
                now = rows_of_all()
                if code == 0:
                    # Parents and roots from outside are not taken over.
                    assert name in ("parent", "root"), (name, member)
                    line = family(tree)
                    assert [row for row in lineage(line) if foreign in row[1:]] == []
                    for one in line:
                        assert verify(one).intact, verify(one).what
                else:
                    refused.append(name)
                    assert now == here, (name, member, errors)
                for table, rows in here.items():
                    assert set(rows) <= set(now[table]), (name, member, table)
                transaction.set_rollback(True)
    assert len(refused) > 30


def twice(members: dict[str, bytes]) -> None:
    about = json.loads(members["thread.json"])
    about["children"] = about["children"][:1] + about["children"]
    members["thread.json"] = json.dumps(about).encode()


def test_what_is_no_tree_is_refused(fleet: Fleet, tree: UUID, tmp_path: Path) -> None:
    other = fleet.start("lead", files=FILES)
    fleet.work()
    stranger = export(other, tmp_path / "stranger.zip")
    capsule = export(tree, tmp_path / "tree.zip", "--children")

    def also_a_stranger(members: dict[str, bytes]) -> None:
        """A whole thread of somebody else, under a parent that never started it."""
        with zipfile.ZipFile(stranger) as packed:
            for name in packed.namelist():
                raw = packed.read(name)
                if name.startswith("agents/"):
                    members[name] = raw
                elif name.startswith(("events", "activ", "curs", "appr", "deci", "checkpoints/")):
                    members[layout.child_folder(other) + name] = raw
            about = json.loads(packed.read("thread.json"))
        about["thread"]["parent"] = str(tree)
        about |= {"left_out": []}
        members[layout.child_folder(other) + "thread.json"] = json.dumps(about).encode()
        top = json.loads(members["thread.json"])
        top["children"].append(str(other))
        members["thread.json"] = json.dumps(top).encode()

    forged = {
        "a child twice": (twice, "is in the capsule twice"),
        "a stranger": (also_a_stranger, "No thread in the capsule says that it started"),
        "a parent elsewhere": (in_child(1, parent=str(other)), "is not of the tree"),
        "a child's hash": (
            in_child(0, last_hash="00" * 32),
            "does not",
        ),
    }
    gone()
    fleet.workspace = another_workspace()
    here = rows_of_all()
    for name, (change, text) in forged.items():
        code, _, errors = command("import", str(repacked(capsule, change)), "--as", "carrier")
        assert (code, text in errors) == (1, True), (name, errors)
        assert rows_of_all() == here, name


def test_one_checkpoint_comes_without_children(fleet: Fleet, tree: UUID, tmp_path: Path) -> None:
    code, _, errors = command(
        *("export", str(tree), "--to", str(tmp_path), "--as", "carrier"),
        *("--children", "--checkpoint", "0"),
    )
    assert (code, "without children" in errors) == (2, True), errors


# ---- a tree as a tape ----------------------------------------------------------------------------


@pytest.mark.parametrize("agent", ["lead", "editor"])
def test_children_answer_from_the_tape(fleet: Fleet, tmp_path: Path, agent: str) -> None:
    """Spawned one by one or mapped, some of them handed over: nobody works again."""
    graph = {"lead": lead, "editor": editor}[agent]
    input: dict[str, Any] = {"goals": ["tea", "bad"]}
    if agent == "lead":
        input = {"files": FILES, "bad": FILES[:1], "failures": "list"}
    thread = fleet.start(agent, **input)
    fleet.work()
    agents.looked.clear()
    whole = export(thread, tmp_path / "whole.zip", "--children")
    play = Harness(graph).play(tape=whole)
    assert (play.status, play.state) == ("succeeded", fleet.state(thread))
    assert (play.children, agents.looked) == ([], [])
    alone = export(thread, tmp_path / "alone.zip")
    with pytest.raises(NotOnTape, match=r"ctx\.join of node .* is not in the capsule") as refused:
        Harness(graph).play(tape=alone)
    assert refused.value.node in ("combine", "commission")
