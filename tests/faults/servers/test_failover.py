"""The primary is lost while threads work, the replica is promoted: work goes on by itself."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock
from uuid import UUID

import httpx
import pytest
from django.core.management import call_command
from django.db import connection
from pytest_django import DjangoDbBlocker

from checkpoints import leases
from dashboard.operate.doctor import primaries
from dashboard.operate.doctor.findings import Finding, Seen
from tests.faults import invariants
from tests.faults.bench import LEASE, SWEEP, Case, wait_until

from .pair import Pair, own_pair

pytestmark = [pytest.mark.hazard, pytest.mark.requirement("A09")]
GOES_ON = 2 * LEASE + SWEEP + 30
COMMITTED = "SELECT count(*) FROM gp_checkpoint WHERE thread_id = %s"
STEPS = ("look a", "deliver parcel", "look b", "deliver second", "look last")


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that stands still is given up after 3 s here, in place of 32."""
    monkeypatch.setenv("GATEPOST_ANSWER_SECONDS", "3")


@pytest.fixture
def pair(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path: Path, patience: None
) -> Iterator[Pair]:
    with own_pair(django_db_blocker, tmp_path) as made:
        yield made


@dataclass
class Starts:
    """Threads that were answered with 201, and all answers there were (0: none)."""

    cases: list[Case] = field(default_factory=list)
    answers: set[int] = field(default_factory=set)

    def reach(self, pair: Pair, count: int) -> None:
        wait_until(
            lambda: len(self.cases) >= count,
            what=lambda: (len(self.cases), self.answers, pair.logs()[-3000:]),
        )


def start(pair: Pair, http: httpx.Client, folder: Path, hold: str = "") -> httpx.Response:
    """Start a thread of STEPS; `hold` names the call that stays until its file is removed."""
    folder.mkdir(exist_ok=True)
    if hold:
        (folder / f"in-{hold}.hold").touch()
    script = [[order.split() for order in step.split(", ")] for step in STEPS]
    body = {"agent": "script", "input": {"folder": str(folder), "script": script}}
    return http.post("/api/v1/threads/", json=body)


def looked(pair: Pair) -> list[Finding]:
    """The findings of `doctor` with the address that the processes have."""
    hosts = {"HOST": "127.0.0.1,127.0.0.1", "PORT": f"{pair.primary.port},{pair.replica.port}"}
    with mock.patch.dict(connection.settings_dict, hosts):
        return list(primaries.one_primary(Seen()))


def begin(pair: Pair, folder: Path, hold: str = "") -> Case:
    """A thread that was answered with 201."""
    with pair.http() as http:
        answer = start(pair, http, folder, hold)
    assert answer.status_code == 201, answer.text
    return Case(UUID(answer.json()["id"]), folder, pair.cast.workspace)


@contextmanager
def starting(pair: Pair, folder: Path) -> Iterator[Starts]:
    """Somebody starts one thread after the other all the time, whatever is answered."""
    made, ended = Starts(), threading.Event()

    def call() -> None:
        with pair.http() as http:
            while not ended.wait(0.05):
                where = folder / f"case-{len(made.cases)}"
                try:
                    answer = start(pair, http, where)
                except httpx.TransportError:
                    made.answers.add(0)
                    continue
                made.answers.add(answer.status_code)
                if answer.status_code == 201:
                    thread = UUID(answer.json()["id"])
                    made.cases.append(Case(thread, where, pair.cast.workspace))

    caller = threading.Thread(target=call)
    caller.start()
    try:
        yield made
    finally:
        ended.set()
        caller.join(60)


def check(*cases: Case) -> None:
    """Every acknowledged thread is there, ends well, is whole, and did each effect by one key."""
    for case in cases:
        case.wait_status("succeeded", seconds=GOES_ON)
    for case in cases:
        invariants.check(case)
        for name in ("parcel", "second"):
            assert len(set(case.calls(name))) == 1
    call_command("verify")  # raises unless intact


@pytest.mark.parametrize(
    "threads", [24, pytest.param(200, marks=pytest.mark.nightly)], ids=["24", "200"]
)
def test_the_primary_is_killed(pair: Pair, tmp_path: Path, threads: int) -> None:
    held = [begin(pair, tmp_path / f"held-{n}", hold) for n, hold in enumerate(("b", "parcel"))]
    for case, hold in zip(held, ("b", "parcel"), strict=True):
        case.wait_called(hold)
    with starting(pair, tmp_path) as starts:
        starts.reach(pair, threads // 2)
        pair.primary.kill()
        pair.promote()
        for case, hold in zip(held, ("b", "parcel"), strict=True):
            case.go(f"in-{hold}")
        starts.reach(pair, threads)
    check(*held, *starts.cases)
    assert starts.answers <= {0, 201, 503}, starts.answers


def test_the_former_primary_comes_back(pair: Pair, tmp_path: Path) -> None:
    """It stood still, nobody fenced it, and it is the first host of the address."""
    (finding,) = looked(pair)
    assert (finding.level, "1 replica follows" in finding.value) == ("ok", True)
    with starting(pair, tmp_path) as starts:
        starts.reach(pair, 10)
        pair.primary.signal(signal.SIGSTOP)
        pair.promote()
        starts.reach(pair, 15)
        pair.primary.signal(signal.SIGCONT)
        starts.reach(pair, 30)
    (former,) = looked(pair)
    assert former.level == "wrong"
    assert f":{pair.primary.port} still accepts writes" in former.value
    # Processes that start now find two hosts that accept writes.
    pair.kill()
    pair.start()
    begun = [begin(pair, tmp_path / f"begun-{n}") for n in range(5)]
    check(*starts.cases, *begun)
    assert starts.answers <= {0, 201, 503}, starts.answers
    ids = [case.id for case in (*starts.cases[15:], *begun)]
    assert pair.primary.ask("SELECT 1 FROM gp_thread WHERE id = ANY(%s)", ids) == []


def test_a_former_holder_commits_nothing(pair: Pair, tmp_path: Path) -> None:
    """Worker and primary stand still together, and go on after another took the thread over."""
    case = begin(pair, tmp_path / "held", hold="parcel")
    case.wait_called("parcel")
    row = case.row()
    slot = int(row.lease_owner.split(":")[2])
    (holder,) = [worker for worker in pair.workers if slot in worker.slots()]
    ((token,),) = pair.primary.ask("SELECT lease_token FROM gp_thread WHERE id = %s", case.id)
    ((before,),) = pair.primary.ask(COMMITTED, case.id)
    holder.signal(signal.SIGSTOP)
    pair.primary.signal(signal.SIGSTOP)
    pair.promote()
    case.go("in-parcel")
    case.wait_status("succeeded", seconds=GOES_ON)
    assert "lease.taken_over" in case.kinds()
    assert leases.beat(case.id, token=token) is None
    head = case.row().head
    pair.primary.signal(signal.SIGCONT)
    holder.signal(signal.SIGCONT)
    # It is alive on the promoted server, and did nothing on either.
    seen = "SELECT count(*) FROM gp_worker WHERE stopped_at IS NULL AND seen_at > %s"
    (now,) = pair.replica.ask("SELECT clock_timestamp()")
    wait_until(lambda: pair.replica.ask(seen, *now) == [(2,)], what=pair.logs)
    assert case.row().head == head
    assert pair.primary.ask(COMMITTED, case.id) == [(before,)]
    check(case)


def test_verify_finds_what_asynchronous_replication_lost(
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path: Path,
    patience: None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with own_pair(django_db_blocker, tmp_path, synchronous=False) as pair:
        copied = begin(pair, tmp_path / "copied")
        copied.wait_status("succeeded")
        pair.part()
        lost = begin(pair, tmp_path / "lost")
        lost.wait_status("succeeded")
        anchor = tmp_path / "all.anchor"
        call_command("anchor", to=anchor)
        pair.primary.kill()
        pair.promote()
        check(copied, after := begin(pair, tmp_path / "after"))
        assert after.id != lost.id
        with pytest.raises(SystemExit):
            call_command("verify", anchor=anchor)
        assert str(lost.id) in capsys.readouterr().out
