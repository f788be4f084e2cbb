"""What changed in an agent's code is shown by function; one choice serves many threads."""

from __future__ import annotations

import io
import json
import re
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.core.management import call_command

from checkpoints import queries, store
from checkpoints.code_parts import changes, summary
from checkpoints.states import EventKind, Status
from tests.support.cast import Cast
from tests.unit.dashboard import scene

MANY = 12


def code(*parts: tuple[str, str, str]) -> dict[str, Any]:
    made = [{"file": f, "name": n, "digest": t, "text": t} for f, n, t in parts]
    return {"parts": made, "packages": {}, "former": "0" * 64}


BEFORE = code(
    ("orders.py", "", "1"),
    ("orders.py", "price()", "def price(n):\n    return n * 3"),
    ("helper.py", "", "1"),
    ("helper.py", "rate()", "def rate():\n    return 2"),
    ("prompts/system.txt", "", "Buy <b>tea</b>."),
)
AFTER = code(
    ("orders.py", "", "2"),
    ("orders.py", "price()", "def price(n):\n    return n * 4"),
    ("helper.py", "", "2"),
    ("helper.py", "rate()", "def rate():\n    return 3"),
    ("prompts/system.txt", "", "Buy <b>milk</b>."),
)


def announced(version: int, content: dict[str, Any]) -> UUID:
    return store.announce_version(
        agent="coded",
        version=version,
        fingerprint=f"{version:064x}",
        label="Coded",
        description="",
        schema_version=1,
        schema=scene.SCHEMA,
        channels=scene.CHANNELS,
        graph=scene.GRAPH,
        tools=scene.TOOLS,
        queue="gatepost",
        code=content,
    )


def parked(cast: Cast, many: int = 1) -> list[UUID]:
    """Threads that stopped with version 1 and were offered version 2."""
    old, new = announced(1, BEFORE), announced(2, AFTER)
    query = {
        "kind": "code",
        "version": str(new),
        "fingerprint": f"{2:064x}",
        "choices": ["pin", "accept", "fork"],
    }
    threads = []
    for _ in range(many):
        work = scene.lease(scene.start(cast.workspace, old))
        scene.step(work)
        store.leave(work, EventKind.THREAD_PARKED, reason="The code changed", waiting_on=query)
        threads.append(work.thread)
    return threads


def row(cast: Cast, thread: UUID) -> Any:
    return queries.thread(thread, workspace=cast.workspace)


def test_changes_are_told_by_function() -> None:
    assert summary(changes(BEFORE, AFTER)) == (
        "rate() in helper.py, price() in orders.py, prompts/system.txt"
    )
    assert changes(None, AFTER) == changes(BEFORE, BEFORE) == []
    moved = code(("a.py", "", "2"), ("a.py", "f()", "x"))
    assert summary(changes(code(("a.py", "", "1"), ("a.py", "f()", "x")), moved)) == (
        "the order of its statements in a.py"
    )
    gone = changes(BEFORE, code(*[("orders.py", "price()", "def price(n):\n    return n * 3")]))
    assert "helper.py (removed)" in [str(change) for change in gone]


def test_the_page_shows_old_and_new_side_by_side(cast: Cast) -> None:
    (thread,) = parked(cast)
    client = cast.client("operator")
    assert f'href="/threads/{thread}/code/"' in client.get(f"/threads/{thread}/").content.decode()
    text = client.get(f"/threads/{thread}/code/").content.decode()
    for part in ("return n * 3", "return n * 4", "rate()", "helper.py", "prompts/system.txt"):
        assert part in text
    assert "<b>tea</b>" not in text
    # Sources are for those who may choose; the names of the parts are for all.
    other = cast.client("auditor").get(f"/threads/{thread}/code/").content.decode()
    assert "price()" in other
    assert "return n * 3" not in other


def test_all_that_ask_the_same_are_chosen_for_at_once(cast: Cast) -> None:
    threads = parked(cast, MANY)
    stranger = parked(cast)[0]
    store.cancel(threads[3], actor="user:1")
    client = cast.client("operator")
    text = client.get(f"/threads/{threads[0]}/code/").content.decode()
    assert f"{MANY} threads wait for this choice" in text
    done = client.post(
        f"/threads/{threads[0]}/code/",
        {"choice": "accept", "thread": [str(t) for t in threads]},
    ).content.decode()
    assert "Results" in done
    assert done.count("result-row") == MANY
    accepted = [t for t in threads if row(cast, t).version_label == "2"]
    assert len(accepted) == MANY - 1
    assert row(cast, threads[3]).status is Status.CANCELLED
    assert row(cast, stranger).status is Status.ATTENTION


@pytest.mark.parametrize("choice", ["pin", "accept", "fork"])
def test_by_api_each_by_itself(cast: Cast, choice: str) -> None:
    threads = parked(cast, 3)
    store.cancel(threads[1], actor="user:1")
    unknown = uuid4()
    requests = [str(t) for t in (*threads, unknown)]
    client = cast.client("operator")
    payload = client.get(f"/api/v1/threads/{threads[0]}/code/").json()
    assert [c["name"] for c in payload["changes"]] == ["rate()", "price()", ""]
    assert set(payload["alike"]) == {str(threads[0]), str(threads[2])}
    answer = client.post(
        "/api/v1/threads/code/", {"choice": choice, "threads": requests}, "application/json"
    )
    assert answer.status_code == 200, answer.content
    results = answer.json()["results"]
    good = 201 if choice == "fork" else 200
    assert [r["status"] for r in results] == [good, 409, good, 404]
    assert [r["id"] for r in results] == requests
    if choice == "pin":
        assert row(cast, threads[0]).pinned
    assert cast.client("auditor").post(
        "/api/v1/threads/code/", {"choice": choice, "threads": requests}, "application/json"
    ).status_code == 403  # fmt: skip


def test_by_command(cast: Cast) -> None:
    threads = parked(cast, 3)
    out = io.StringIO()
    call_command("threads", "code", str(threads[0]), "accept", "--alike", "--json", stdout=out)
    assert {r["id"] for r in json.loads(out.getvalue())["results"]} == {str(t) for t in threads}
    assert {row(cast, t).version_label for t in threads} == {"2"}


def test_the_board_leads_to_the_choice_for_all(cast: Cast) -> None:
    client = cast.client("operator")
    scene.start(cast.workspace, scene.make_agent())
    assert "Choose code" not in client.get("/").content.decode()
    threads = parked(cast, MANY)
    for address in ("/", "/?status=attention", "/?agent=coded"):
        board = client.get(address).content.decode()
        assert f"The code of coded changed: {MANY} threads need a choice." in board
        [link] = re.findall(r'(?s)href="([^"]+)">(?:(?!</a>).)*Choose code for 12\s*</a>', board)
        assert link == f"/threads/{threads[0]}/code/", "the longest waiting"
    text = client.get(link).content.decode()
    assert text.count('name="thread"') == MANY
    assert 'value="accept"' in text
    assert "The code of coded changed" not in client.get("/?agent=test").content.decode()
    for thread in threads[1:]:
        store.cancel(thread, actor="user:1")
    board = client.get("/").content.decode()
    assert "The code of coded changed: 1 thread needs a choice." in board
    assert board.count(f'href="/threads/{threads[0]}/code/"') == 2, "its row leads there as well"
