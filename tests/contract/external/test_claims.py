"""No claim of an agent elsewhere selects a file, thread or artifact of another workspace.

Each reference to things of another workspace is planted in each field that takes values of the
agent's own; then every page and call about the thread is read, and nothing of the other appears.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from checkpoints import queries, store
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard import scene

from .entry import Agent

pytestmark = pytest.mark.django_db
OURS = "belongs-elsewhere"  # stands in everything of the other workspace


class Elsewhere:
    """A thread of another workspace with a state, an artifact, an effect and a published report."""

    def __init__(self, cast: Cast, published: Path) -> None:
        agent = scene.make_agent()
        self.thread = scene.start(cast.elsewhere, agent, goal=f"{OURS} goal", title=f"{OURS} title")
        work = scene.lease(self.thread)
        file = store.put_artifact(
            cast.elsewhere, name=f"{OURS}.csv", media_type="text/csv", chunks=[OURS.encode()]
        )
        self.artifact = file["$artifact"] if isinstance(file, dict) else file.sha256
        self.result = {"slug": "plans", "files": [{"name": "report.md"}]}
        self.effect = scene.effect(work, result=self.result)
        of_effect = "SELECT idempotency_key FROM gp_activity WHERE id = %s"
        self.key = rows(of_effect, (self.effect,))[0][0]
        for folder in (published / str(cast.elsewhere), published):
            scene.report(folder / "plans", self.effect, {"report.md": OURS})
        self.gate = scene.gate(work, title=f"{OURS} request")
        self.head = queries.thread(self.thread, workspace=cast.elsewhere).head

    def claims(self) -> dict[str, Any]:
        """{what it refers to: a value that does}."""
        return {
            "report": {**self.result, "key": self.key},
            "report by path": {"slug": "../plans", "files": [{"name": "report.md"}]},
            "thread": {"thread": str(self.thread), "parent": str(self.thread)},
            "fork": {"forked_from": str(self.thread), "base": str(self.head)},
            "checkpoint": {"checkpoint": str(self.head), "head": str(self.head)},
            "activity": {"activity": str(self.effect), "idempotency_key": self.key},
            "request": {"approval": str(self.gate.id), "proposal_hash": self.gate.proposal_hash},
            "child": {"child": str(self.thread), "children": [str(self.thread)]},
        }


@pytest.fixture
def elsewhere(cast: Cast, tmp_path: Path, settings: Any) -> Elsewhere:
    settings.GATEPOST_PUBLISHED = tmp_path
    return Elsewhere(cast, tmp_path)


def test_a_state_that_names_a_file_of_another_workspace_is_refused(
    agent: Agent, elsewhere: Elsewhere
) -> None:
    claim = {"$artifact": elsewhere.artifact}
    body = {"agent": agent.agent, "external": {}, "input": {"deep": [{"file": claim}]}}
    assert agent.send("POST", "/threads/", body, {}).status == 422
    assert OURS not in str(agent.send("POST", "/threads/", body, {}).body)


@pytest.mark.slow
def test_no_claim_selects_what_another_workspace_has(
    cast: Cast, agent: Agent, elsewhere: Elsewhere
) -> None:
    claims = elsewhere.claims()
    agent.start(input={"claims": claims}, tools={"charge": {"undo": "refund"}})
    agent.take()
    # Where it is not refused it is recorded as the words that it is, and opens nothing.
    claims |= {"artifact": {"$artifact": elsewhere.artifact, "name": "mine.csv"}}
    for n, (name, claim) in enumerate(claims.items(), 1):
        for kind in ("activity", "effect"):
            agent.begin(f"{name}-{kind}#0", kind=kind, args={"claim": claim})
            agent.settle(f"{name}-{kind}#0", kind=kind, args={"claim": claim}, result=claim)
        agent.commit(n, next_nodes=["work"], delta={"set": {name: claim, "claims": claims}})
    gate = {"title": "Charge", "description": str(claims)}
    agent.begin("asked#0", args={"claims": claims}, gate=gate)
    read = Counter[int]()
    thread = f"/threads/{agent.thread}/"
    (request,) = [row["id"] for row in agent.get("next/")["approvals"]]
    paths = [
        *(f"{thread}?tab={tab}" for tab in ("state", "artifacts", "activities", "events")),
        *(thread, f"{thread}fork/", f"{thread}edit/", f"{thread}compare/", "/", "/approvals/"),
        *(f"/approvals/{request}/", f"/api/v1/approvals/{request}/", f"/api/v1{thread}"),
        *(f"/api/v1{thread}{one}/" for one in ("state", "checkpoints", "events", "activities")),
        *(f"/api/v1{thread}{one}/" for one in ("anatomy", "capsule", "diff")),
        f"{thread}published/plans/report.md",
        f"{thread}published/plans/manifest.json",
        f"/artifacts/{elsewhere.artifact}/",
        f"/artifacts/{elsewhere.artifact}/preview/",
        f"/api/v1/threads/{elsewhere.thread}/",
        f"/api/v1/approvals/{elsewhere.gate.id}/",
        f"/api/v1{thread}diff/?from={elsewhere.head}&to={elsewhere.head}",
        f"/api/v1{thread}state/?checkpoint={elsewhere.head}",
        f"{thread}?cp={elsewhere.head}",
    ]
    for who in ("operator", "manager", "auditor"):
        client = cast.client(who)
        for path in paths:
            answer = client.get(path)
            content = b"".join(answer) if answer.streaming else answer.content
            assert OURS.encode() not in content, (who, path)
            assert answer.status_code < 500, (who, path)
            read[answer.status_code] += 1
    assert read[200] > 30, read
    assert read[404] >= 3 * 5, read


def test_the_other_workspace_still_opens_its_own(
    cast: Cast, elsewhere: Elsewhere, tmp_path: Path
) -> None:
    """Also a report of before, which lies in the folder of all."""
    path = f"/threads/{elsewhere.thread}/published/plans/report.md"
    client = cast.client("stranger")
    assert b"".join(client.get(path)) == OURS.encode()
    (tmp_path / str(cast.elsewhere) / "plans" / "report.md").unlink()
    (tmp_path / str(cast.elsewhere) / "plans" / "manifest.json").unlink()
    assert b"".join(client.get(path)) == OURS.encode()


@pytest.mark.parametrize("column", ["imported_seq"])
def test_what_came_with_a_capsule_opens_no_report_of_before(
    cast: Cast, elsewhere: Elsewhere, tmp_path: Path, column: str
) -> None:
    thread = queries.thread(UUID(str(elsewhere.thread)), workspace=cast.elsewhere)
    from dataclasses import replace

    from dashboard.threads.page import published

    activities = queries.activities(thread.id)
    assert published.files(thread, activities)
    foreign = replace(thread, workspace=cast.workspace)
    assert published.files(foreign, activities), "of before: by the effect's own key"
    assert not published.files(replace(foreign, **{column: 3}), activities)
