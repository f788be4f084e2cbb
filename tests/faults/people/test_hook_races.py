"""The same delivery at two web processes at the same moment: one decision, one execution.

Counted over 100 rounds, with a Valkey that forgets everything in between, and over deliveries that
say different things under one id.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from uuid import UUID

import httpx
import pytest
import redis
from django.conf import settings
from django.contrib.auth import get_user_model

from approvals.hooks import changes as hooks
from checkpoints import store
from tests.faults.bench import Case, Field, Worker, ask
from tests.faults.web import Web
from tests.unit.dashboard import hooking

from .deciding import all_are, events, meet, type_of
from .test_decision_races import executed

pytestmark = [pytest.mark.hazard, pytest.mark.requirement("C35")]
ROUNDS = 100
TOGETHER = 0.8


@pytest.fixture(scope="module")
def webs(ground: Path) -> Iterator[tuple[Web, Web]]:
    folders = [ground / name for name in ("hook-web-1", "hook-web-2")]
    for folder in folders:
        folder.mkdir(exist_ok=True)
    started = [Web(folder) for folder in folders]
    try:
        first, second = (web.wait_ready() for web in started)
        yield first, second
    finally:
        for web in started:
            web.kill()


class Sender:
    """A service outside with one hook, and a connection to each web process."""

    def __init__(self, webs: tuple[Web, Web], workspace: UUID, name: str) -> None:
        row, self.secret = hooks.add(workspace, name, actor="user:0")
        self.path = f"{hooking.PATH}?hook={row.id}"
        user = get_user_model().objects.create_user(f"{name}-person")
        store.grant(workspace, user.pk, "reviewer", actor="user:0")
        mapped = hooks.map_identity(row.id, "U1", user.pk, workspace=workspace, actor="user:0")
        hooks.confirm_identity(mapped.id, workspace=workspace, user=user.pk, actor="user:0")
        self.person = f"user:{user.pk}/hook:{name}"
        self.http = [httpx.Client(base_url=web.address, timeout=20) for web in webs]

    def send(self, at: int, ident: str, body: bytes) -> httpx.Response:
        """Deliver at one of the web processes."""
        headers = hooking.signed(self.secret, body, ident=ident)
        return self.http[at].post(self.path, content=body, headers=headers)

    def close(self) -> None:
        for one in self.http:
            one.close()


def forget() -> None:
    """FLUSHALL."""
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        client.flushall()


def body_of(case: Case, verdict: str = "approve") -> bytes:
    return json.dumps(hooking.verdict(case.open(), verdict=verdict, comment="elsewhere")).encode()


def test_two_deliveries_at_once_resume_once(
    field: Field, worker: Worker, webs: tuple[Web, Web]
) -> None:
    cases = [field.play("ask parcel") for _ in range(ROUNDS)]
    all_are(cases, "waiting")
    sender = Sender(webs, field.workspace, "courier")
    bodies = [body_of(case) for case in cases]
    firsts = Counter[int]()
    met = 0
    with ThreadPoolExecutor(2) as pool:
        for number, body in enumerate(bodies):
            if number % 10 == 5:
                forget()
            meeting = meet(
                pool, [partial(sender.send, at, f"msg_{number}", body) for at in range(2)]
            )
            assert meeting.codes == [200, 200], meeting.summary
            one, other = meeting.answers
            assert one.content == other.content
            replayed = ["webhook-replayed" in answer.headers for answer in meeting.answers]
            assert sorted(replayed) == [False, True]
            firsts[replayed.index(False)] += 1
            met += meeting.met
    assert firsts.total() == ROUNDS
    assert met > ROUNDS * TOGETHER
    assert len(firsts) == 2, "one web process was always first"
    all_are(cases, "succeeded")
    assert Counter(executed(case) for case in cases) == {1: ROUNDS}
    decided = events(cases, "approval.decided")
    assert (len(decided), decided.total()) == (ROUNDS, ROUNDS)
    ids = [case.id for case in cases]
    assert ask(
        "SELECT count(*), count(DISTINCT a.id), min(d.reviewer), max(d.reviewer) "
        "FROM gp_decision d JOIN gp_approval a ON a.id = d.approval_id WHERE a.thread_id = ANY(%s)",
        ids,
    ) == [(ROUNDS, ROUNDS, sender.person, sender.person)]

    # Whatever was kept in Valkey: the answers are in PostgreSQL.
    forget()
    heads = ask("SELECT id, version, last_seq FROM gp_thread WHERE id = ANY(%s) ORDER BY id", ids)
    for number, body in enumerate(bodies):
        again = sender.send(number % 2, f"msg_{number}", body)
        assert (again.status_code, again.headers["webhook-replayed"]) == (200, "true")
        assert again.json()["outcome"] == "approve"
    assert (
        ask("SELECT id, version, last_seq FROM gp_thread WHERE id = ANY(%s) ORDER BY id", ids)
        == heads
    )
    assert Counter(executed(case) for case in cases) == {1: ROUNDS}
    sender.close()


def test_of_two_bodies_under_one_id_one_is_carried_out(
    field: Field, worker: Worker, webs: tuple[Web, Web]
) -> None:
    """Approve and reject under the same id at the same moment: the other one is refused."""
    cases = [field.play("ask parcel") for _ in range(ROUNDS)]
    all_are(cases, "waiting")
    sender = Sender(webs, field.workspace, "double")
    outcomes: dict[UUID, str] = {}
    met = 0
    with ThreadPoolExecutor(2) as pool:
        for number, case in enumerate(cases):
            verdicts = ("approve", "reject")
            meeting = meet(
                pool,
                [
                    partial(sender.send, at, f"one_{number}", body_of(case, verdict))
                    for at, verdict in enumerate(verdicts)
                ],
            )
            assert sorted(meeting.codes) == [200, 422], meeting.summary
            winner = meeting.codes.index(200)
            assert type_of(meeting.answers[1 - winner]) == "key-reused"
            outcomes[case.id] = verdicts[winner]
            met += meeting.met
    assert met > ROUNDS * TOGETHER
    all_are(cases, "succeeded")
    for case in cases:
        assert executed(case) == (outcomes[case.id] == "approve")
    assert events(cases, "approval.decided").total() == ROUNDS
    sender.close()


def test_deliveries_under_two_ids_decide_once(
    field: Field, worker: Worker, webs: tuple[Web, Web]
) -> None:
    """A sender that forgets its id is told what stands, and keeps being told so."""
    cases = [field.play("ask parcel") for _ in range(ROUNDS)]
    all_are(cases, "waiting")
    sender = Sender(webs, field.workspace, "forgetful")
    with ThreadPoolExecutor(2) as pool:
        for number, case in enumerate(cases):
            body = body_of(case)
            meeting = meet(
                pool,
                [partial(sender.send, at, f"id_{number}_{at}", body) for at in range(2)],
            )
            assert sorted(meeting.codes) == [200, 409], meeting.summary
            late = meeting.codes.index(409)
            again = sender.send(1 - late, f"id_{number}_{late}", body)
            assert (again.status_code, again.content) == (409, meeting.answers[late].content)
    all_are(cases, "succeeded")
    assert Counter(executed(case) for case in cases) == {1: ROUNDS}
    assert events(cases, "approval.decided").total() == ROUNDS
    sender.close()
