"""A thread with a word of its own in every room that holds content, and a search for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection
from uuid_utils.compat import uuid7

from approvals import queries as gates
from checkpoints import queries, store
from checkpoints.memories import NewMemory, Where
from checkpoints.records import NewActivity, Position
from checkpoints.states import EventKind
from dashboard.administration.endpoints import MAKE, MakeEndpoint
from dashboard.threads.capsule import export
from dashboard.wire import hints, progress
from tests.contract.secrets.grep import forms
from tests.support.cast import Cast
from tests.unit.dashboard import scene


class Words:
    """Words that stand nowhere else; `planted` are those that were handed out."""

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self.planted: list[str] = []

    def __call__(self, room: str) -> str:
        word = f"{self._mark}-{room}-7f3a"
        if word not in self.planted:
            self.planted.append(word)
        return word


def post(cast: Cast, who: str, path: str, body: Any, **headers: str) -> Any:
    answer = cast.client(who).post(
        f"/api/v1{path}", json.dumps(body), content_type="application/json", headers=headers
    )
    assert answer.status_code < 300, answer.content
    return answer.json()


def plant(cast: Cast, word: Words) -> tuple[UUID, UUID]:
    """(a finished thread with a word in each room, its fork)."""
    scene.make_agent(inbox="inbox")
    admin = cast.actor("admin")
    events = ("approval.requested", "approval.decided", "thread.cancelled")
    endpoint = MakeEndpoint(
        kind="email", name=f"all {word('x')[:6]}", target="ops@example.org", events=[*events]
    )
    MAKE.run(admin, endpoint)
    made = post(
        cast,
        "operator",
        "/threads/",
        {
            "agent": "research",
            "input": {"goal": word("input")},
            "name": word("name"),
            "title": word("title"),
            "labels": {"customer": word("label")},
        },
        **{"Idempotency-Key": word("key")},
    )
    thread = UUID(made["id"])
    post(cast, "operator", f"/threads/{thread}/input/", {"message": word("message")})
    work = scene.lease(thread)
    scene.step(work, report=word("state"))
    scene.step(work, report=word("large") + "x" * 20_000)
    store.keep_state(thread, work.head, work.number)
    store.record(work, [store.NewEvent(EventKind.THOUGHT_RECORDED, {"text": word("thought")}, "w")])
    for room, more in {
        "done": {"result": {"text": word("result")}},
        "lost": {"error": word("error"), "result": None},
    }.items():
        store.record_activity(
            work,
            NewActivity(
                id=uuid7(),
                position=Position(work.branch, work.step + 1, "analyse", 0, f"{room}:0"),
                kind="activity",
                tool="look_up",
                args={"who": word(f"args{room}")},
                idempotency_key=f"k-{thread}-{room}",
            ),
            **more,
        )
    where = Where(thread, work.branch, work.step, "analyse")
    note = {"note": word("metadata")}
    new = NewMemory("workspace", "", "fact", word("memory"), note, source="agent", where=where)
    memory = store.remember(cast.workspace, new, actor="agent:research", lease=work.token)
    store.correct_memory(
        memory.id, workspace=cast.workspace, text=word("memory2"), reason="new", actor="user:1"
    )
    scene.effect(work, sentence=word("sentence"), result={"path": word("effect")})
    ref = store.put_artifact(
        cast.workspace, name=word("file"), media_type="text/plain", chunks=[word("bytes").encode()]
    )
    stored = {"node": "a", "name": ref["name"], "sha256": ref["$artifact"], "size": ref["size"]}
    stored["media_type"] = "text/plain"
    store.record(work, [store.NewEvent(EventKind.ARTIFACT_STORED, stored, "worker:1")])
    progress.publish_progress(thread, cast.workspace, {"text": word("progress"), "done": 1})
    row = scene.gate(
        work,
        args={"report": word("proposal")},
        title=f"Publish {word('request')}?",
        description=word("description"),
        position=Position(work.branch, work.step + 1, "publish", 0, "publish:1"),
    )
    post(
        cast,
        "manager",
        f"/approvals/{row.id}/decide/",
        {
            "verdict": "reject",
            "proposal_hash": row.proposal_hash,
            "comment": word("comment"),
        },
        **{"Idempotency-Key": f"decide {thread}"},
    )
    question = {"question": f"Who did {word('asked')}?", "thread": str(thread)}
    post(cast, "operator", "/records/questions/", question)
    export(cast.actor("operator"), thread).close()
    fork = UUID(
        post(
            cast,
            "operator",
            f"/threads/{thread}/fork/",
            {
                "checkpoint": str(queries.thread(thread, workspace=cast.workspace).head),
                "changes": {"report": word("change")},
                "title": word("forktitle"),
                "reason": word("forkreason"),
            },
        )["id"]
    )
    for one in (fork, thread):
        status = queries.thread(one, workspace=cast.workspace).status
        if status not in ("cancelled", "failed", "succeeded"):
            post(cast, "operator", f"/threads/{one}/cancel/", {"reason": word("cancel")})
    assert not gates.for_thread(thread, open_only=True)
    return thread, fork


def places(words: list[str]) -> dict[str, set[str]]:
    """{word: where it stands}, of every row of every table, every key of Valkey and every file."""
    wanted = {word: tuple(forms(word)) for word in words}
    seen: dict[str, set[str]] = {}

    def look(where: str, raw: bytes) -> None:
        for word, shapes in wanted.items():
            if any(shape in raw for shape in shapes):
                seen.setdefault(word, set()).add(where)

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname FROM pg_class c WHERE c.relkind IN ('r', 'm') "
            "AND c.relnamespace = current_schema()::regnamespace ORDER BY 1"
        )
        tables = [name for (name,) in cursor.fetchall()]
        assert len(tables) > 40
        for table in tables:
            cursor.execute(f'SELECT t::text FROM "{table}" t')
            for (text,) in cursor.fetchall():
                look(table, text.encode())
    valkey: Any = hints.client()
    for key in valkey.scan_iter("*"):
        look("valkey", key + (valkey.dump(key) or b""))
        if valkey.type(key) == b"string":
            look("valkey", valkey.get(key))
    for root in {Path(settings.MEDIA_ROOT), Path(settings.DATA)}:
        for path in root.rglob("*"):
            relative = path.relative_to(root)
            look("file name", str(relative).encode())
            # The test's own server keeps its tables and its write-ahead log beside the files.
            if path.is_file() and relative.parts[0] in ("artifacts", "threads", "logs"):
                look(f"file {relative.parts[0]}", path.read_bytes())
    return seen
