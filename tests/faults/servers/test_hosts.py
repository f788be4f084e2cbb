"""Four worker hosts and two web hosts without a shared folder, struck one after the other."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from pytest_django import DjangoDbBlocker

from tests.faults.bench import wait_until
from tests.faults.web import Person, people
from tests.support.disturbed_server import Disturbed

from .errands import Errands
from .hosts import Hosts, own_hosts

pytestmark = [
    pytest.mark.hazard,
    pytest.mark.requirement("F13"),
    pytest.mark.requirement("B30"),
]
SLOTS = 2
OFF = 7 * 60  # seconds by which the clock of one host is ahead


@pytest.fixture
def hosts(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path: Path
) -> Iterator[Hosts]:
    with own_hosts(django_db_blocker, tmp_path) as made:
        yield made


def test_every_thread_ends_right_and_none_twice(hosts: Hosts) -> None:
    counter = hosts.counter
    counter.hold("deliver", "charge")
    with ExitStack() as stack:
        clock = Disturbed()
        stack.callback(clock.remove)
        clock.shift(OFF)
        webs = [hosts.start_web(f"web-{number}") for number in (1, 2)]
        killed, frozen, parted = (
            hosts.start_worker(f"worker-{number}", slots=SLOTS) for number in (1, 2, 3)
        )
        early = hosts.start_worker("worker-4", slots=SLOTS, **clock.environment)
        first = [killed, frozen, parted, early]
        for host in first:
            host.process.wait_ready()
        staff: dict[str, list[Person]] = {"operator": [], "reviewer": []}
        for web in webs:
            assert web.web is not None
            web.web.wait_ready()
            for role, members in staff.items():
                names = people(web.web, hosts.workspace, role, f"{role}-{web.name}")
                members += stack.enter_context(names)
        errands = Errands(hosts, staff["operator"], staff["reviewer"])

        # First: one host is gone, one stands still, one reaches neither server.
        errands.begin(30)
        errands.wait_held(*first, slots=SLOTS)
        struck = errands.wait_held(killed, frozen, parted, slots=SLOTS)
        killed.lose()
        frozen.process.signal(signal.SIGSTOP)
        parted.part()
        counter.release()
        errands.wait_taken_over(struck)
        assert killed.process.process.returncode == -signal.SIGKILL
        assert Path(f"/proc/{frozen.process.pid}/stat").read_text().rpartition(") ")[2][0] == "T"
        wait_until(lambda: parted.postgres.parted and parted.valkey.parted, what=errands.summary)

        # They come back, the lost one with other folders, and all work again.
        frozen.process.signal(signal.SIGCONT)
        parted.join()
        again = hosts.start_worker("worker-5", slots=SLOTS)
        again.process.wait_ready()
        counter.hold("deliver", "charge")
        errands.begin(16)
        errands.wait_held(frozen, parted, again, early, slots=SLOTS)

        # Second: one host reaches PostgreSQL alone, the one with another clock is gone, and a web
        # host reaches no PostgreSQL.
        late = errands.wait_held(parted, slots=SLOTS)
        left = errands.wait_held(early, slots=SLOTS)
        parted.valkey.part()
        early.lose()
        webs[1].postgres.part()
        counter.release()
        wait_until(lambda: errands.past_carry(late), what=errands.summary)
        assert parted.valkey.parted
        errands.wait_taken_over(left)
        wait_until(
            lambda: hosts.ready(webs[1]).get("database") == "down",
            what=lambda: hosts.ready(webs[1]),
        )
        assert hosts.ready(webs[0])["database"] == "ok"
        wait_until(lambda: errands.decide(staff["reviewer"][0]), what=errands.summary)
        parted.valkey.join()
        webs[1].postgres.join()
        wait_until(lambda: hosts.ready(webs[1]).get("ready"), what=lambda: hosts.ready(webs[1]))

        errands.end()
        assert len(struck | left) == 4 * SLOTS
        errands.judge()
        ahead = {call.host: call.ahead for call in counter.calls}
        assert {host: shift > OFF / 2 for host, shift in ahead.items()} == {
            f"worker-{number}": number == 4 for number in range(1, 6)
        }
        for host in (frozen, parted, again, *webs):
            data = host.home / "data"
            assert not [path for path in data.rglob("*") if path.is_file()], "it kept a file"
    assert errands.codes[409] >= 1, "nobody decided at both web hosts at the same moment"
