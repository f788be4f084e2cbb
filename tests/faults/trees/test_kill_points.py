"""kill -9 of parents, of children, of both at each point of a tree's life; every sum is right.

Families of a lead and twenty counters, many at the same time in one pool of workers. Each is struck
once, by a process that kills itself or others at its very point (agents/tree_strikes.py); in
between the web process, Valkey and its memory are lost. TREES=200 is the whole, for a quiet hour.
"""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from uuid import UUID

import httpx
import pytest
from pytest_django import DjangoDbBlocker
from redis import Redis

from checkpoints import queries
from checkpoints.chain import verify_thread
from tests.faults.agents.tree_strikes import CHILDREN, PARENTS
from tests.faults.bench import AGENTS, Worker, ask, wait_until, workers
from tests.faults.servers.own_servers import Ground, own_ground
from tests.faults.web import Web

pytestmark = pytest.mark.hazard
FAN_OUT = 20
SLOTS = 6  # of each of two workers
TOGETHER = 6  # families at work at the same time
PATIENCE = 60.0  # seconds within which a struck family ends
MATRIX = [(point, who) for point in (*PARENTS, *CHILDREN) for who in ("parent", "child", "both")]
FAMILIES = max(len(MATRIX), int(os.environ.get("TREES", 0)))
DISTURBED_EVERY = 7  # families


@dataclass
class Family:
    """A lead and how it is to be struck."""

    number: int
    point: str
    who: str
    folder: Path
    lead: UUID | None = None
    since: float = field(default_factory=time.monotonic)

    @property
    def input(self) -> dict[str, object]:
        limited = self.point == "release, written" or (self.point in CHILDREN and self.number % 2)
        return {
            "folder": str(self.folder),
            "fan_out": FAN_OUT,
            "point": self.point,
            "who": self.who,
            "at_most": 6 if limited else None,
        }


@dataclass
class Field:
    """Where families live, and what disturbs them."""

    ground: Ground
    arms: Path
    folder: Path
    disturbed: Counter[str] = field(default_factory=Counter)

    def start(self, family: Family) -> UUID:
        """Over HTTP; who gets no answer asks again with the same key."""
        family.folder.mkdir()
        key = {"Idempotency-Key": f"family-{family.number}"}
        body = {"agent": "struck-lead", "input": family.input}
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                with self.ground.http() as http:
                    answer = http.post("/api/v1/threads/", json=body, headers=key)
            except httpx.TransportError:
                continue
            if answer.status_code in (200, 201):
                return UUID(answer.json()["id"])
            assert answer.status_code == 503, answer.text
            time.sleep(0.2)
        raise AssertionError("nobody answers")

    def disturb(self, what: str) -> None:
        """Lose the web process, Valkey, or all that Valkey knows."""
        if what == "web":
            self.ground.web.kill()
            self.ground.web = Web(self.ground.folder).wait_ready()
        elif what == "valkey":
            server = self.ground.valkey
            assert server.process is not None
            server.process.kill()
            server.process.wait()
            server.start()
            server.wait()
        else:
            with Redis(unix_socket_path=str(self.ground.valkey.places.valkey_socket)) as client:
                client.flushall()
        self.disturbed[what] += 1

    def strikes(self) -> Counter[tuple[str, str]]:
        """How often each strike was carried out."""
        path = self.arms / "kills.log"
        lines = path.read_text().splitlines() if path.exists() else []
        return Counter((line.split("|")[0], line.split("|")[1]) for line in lines)

    def unstruck(self, family: Family) -> bool:
        """Whether it ended before the point was reached as it should have been."""
        return any((self.arms / f"{family.lead}{end}").exists() for end in ("", ".next"))


@pytest.fixture(scope="module")
def stand(
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Field]:
    folder, arms = tmp_path_factory.mktemp("struck"), tmp_path_factory.mktemp("arms")
    for name in ("struck_agents", "tree_strikes"):
        shutil.copy(AGENTS / f"{name}.py", folder)
    environment = {
        "GATEPOST_AGENTS": "struck_agents",
        "GATEPOST_GUARD": "false",  # the points look at files, within nodes as well
        "HAZARD_ARMS": str(arms),
    }
    several = {"slots": SLOTS, "connections_max": 100, "environment": environment}
    with own_ground(django_db_blocker, folder, **several) as ground:  # type: ignore[arg-type]
        other = Worker(folder, "other", slots=SLOTS, environment=environment)
        with workers(other):
            yield Field(ground, arms, tmp_path_factory.mktemp("families"))
            ground.web.kill()  # the one that stands now


def statuses(families: list[Family]) -> dict[UUID, str]:
    leads = [family.lead for family in families if family.lead]
    return dict(ask("SELECT id, status FROM gp_thread WHERE id = ANY(%s)", leads))


def live(stand: Field, families: list[Family]) -> list[Family]:
    """Let all families live, some at a time; those that ended without having been struck."""
    waiting, working, unstruck = list(reversed(families)), list[Family](), list[Family]()
    starts: dict[Future[UUID], Family] = {}
    losses, ended = cycle(("web", "valkey", "memory")), 0
    with ThreadPoolExecutor(2) as pool:
        while waiting or starts or working:
            while waiting and len(working) + len(starts) < TOGETHER:
                family = waiting.pop()
                starts[pool.submit(stand.start, family)] = family
            for start in [start for start in starts if start.done()]:
                family = starts.pop(start)
                family.lead, family.since = start.result(), time.monotonic()
                working.append(family)
            now = statuses(working)
            for family in list(working):
                status = now[family.lead]  # type: ignore[index]
                if status == "succeeded":
                    working.remove(family)
                    ended += 1
                    if stand.unstruck(family):
                        unstruck.append(family)
                    if ended % DISTURBED_EVERY == 0:
                        stand.disturb(next(losses))
                late = time.monotonic() - family.since > PATIENCE
                wrong = late or status in ("failed", "attention", "cancelled")
                assert not wrong, f"{family} is {status}: {story(family)}"
            time.sleep(0.05)
    return unstruck


def story(family: Family) -> list[tuple[object, ...]]:
    """What its threads stand at, for whoever has to find out."""
    return ask(
        "SELECT id::text, agent, status, status_reason, waiting_on::text, lease_owner, "
        "(SELECT string_agg(kind, ' ' ORDER BY seq) FROM gp_event e WHERE e.thread_id = th.id), "
        "(SELECT data FROM gp_event e WHERE e.thread_id = th.id ORDER BY seq DESC LIMIT 1) "
        "FROM gp_thread th WHERE (id = %s OR root = %s) AND status <> 'succeeded'",
        family.lead,
        family.lead,
    )


def judge(family: Family) -> None:
    """The sum is right, no child is there twice, no number was counted under two keys."""
    lead = family.lead
    assert lead is not None
    state = queries.state_at(lead, ask("SELECT head FROM gp_thread WHERE id = %s", lead)[0][0])
    assert state["total"] == sum(n * n for n in range(FAN_OUT)), family
    log = (family.folder / "counts.log").read_text()
    counted = {tuple(line.split()) for line in log.splitlines()}
    assert sorted(int(number) for number, _ in counted) == list(range(FAN_OUT)), family
    heirs = len(range(0, FAN_OUT, 5))
    members = Counter(
        (agent, status)
        for agent, status in ask("SELECT agent, status FROM gp_thread WHERE root = %s", lead)
    )
    assert members == {
        ("struck-counter", "succeeded"): FAN_OUT,
        ("struck-heir", "succeeded"): heirs,
    }
    # In gp_child heirs stand in the places of their givers.
    places = ask("SELECT fan_out, ordinal, outcome FROM gp_child WHERE parent = %s", lead)
    assert Counter(outcome for *_, outcome in places) == {"succeeded": FAN_OUT, "handed_off": heirs}
    ended = [(fan_out, ordinal) for fan_out, ordinal, outcome in places if outcome == "succeeded"]
    assert len(set(ended)) == FAN_OUT
    # What the lead saw of each child is what the child's own record has.
    ((joined, same),) = ask(
        "SELECT count(*), count(*) FILTER (WHERE c.state_hash = decode(j.state_hash, 'hex') "
        "AND e.hash = decode(j.hash, 'hex')) FROM gp_event w, jsonb_to_recordset("
        "w.data -> 'children') AS j (thread uuid, checkpoint uuid, state_hash text, seq bigint, "
        "hash text, status text) LEFT JOIN gp_checkpoint c ON c.id = j.checkpoint "
        "AND c.thread_id = j.thread LEFT JOIN gp_event e ON e.thread_id = j.thread "
        "AND e.seq = j.seq WHERE w.thread_id = %s AND w.kind = 'child.joined'",
        lead,
    )
    assert joined == same == FAN_OUT * (1 if family.input["at_most"] else 2), family


@pytest.mark.requirement("B34")
@pytest.mark.requirement("B35")
def test_every_sum_is_right_wherever_a_tree_is_struck(stand: Field) -> None:
    families = [Family(n, *MATRIX[n % len(MATRIX)], stand.folder / str(n)) for n in range(FAMILIES)]
    again, everybody = families, list[Family]()
    for _ in range(3):  # some ended before there was anybody to strike: others take their place
        everybody += again
        unstruck = live(stand, again)
        again = [
            Family(len(everybody) + n, f.point, f.who, stand.folder / f"{len(everybody) + n}")
            for n, f in enumerate(unstruck)
        ]
        if not again:
            break
    strikes = stand.strikes()
    wanted = Counter((family.point, family.who) for family in families)
    assert {k: n for k, n in wanted.items() if strikes[k] < n} == {}, strikes
    assert min(stand.disturbed[what] for what in ("web", "valkey", "memory")) >= 1
    for family in everybody:
        judge(family)
    threads = [row[0] for row in ask("SELECT id FROM gp_thread")]
    for thread in threads:
        report = verify_thread(thread)
        assert report.intact, report.what
    # Who was to deliver the last news may have been killed: the next sweep does.
    news = "SELECT kind, count(*) FROM gp_wake WHERE kind <> 'look' GROUP BY kind"
    wait_until(lambda: not ask(news), what=lambda: ask(news))
    assert ask("SELECT count(*) FROM gp_child WHERE hold IN ('held', 'released')") == [(0,)]
    ((taken,),) = ask("SELECT count(*) FROM gp_event WHERE kind = 'lease.taken_over'")
    assert taken >= len(families) // 2
    print(f"{len(everybody)} families, {len(threads)} threads, {taken} taken over: {strikes}")
