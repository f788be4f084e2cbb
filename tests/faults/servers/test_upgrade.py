"""An upgrade while threads work: processes of an earlier version beside those of this one."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path
from uuid import UUID

import pytest
from django.core.management import call_command
from pytest_django import DjangoDbBlocker

from tests.faults.bench import ROOT, wait_until
from tests.faults.embedded.helpers import clean_environment
from tests.faults.web import PASSWORD, Person

from .errands import Errands
from .hosts import Host, Hosts, in_folder, own_hosts

pytestmark = [pytest.mark.hazard, pytest.mark.requirement("F13")]
# Before hot and ephemeral threads, memory, and ten migrations.
EARLIER = "c4bcc0bb"
SLOTS = 2
# Not those of the test run, whose form of passwords the earlier version does not know.
OF_PRODUCT = {"DJANGO_SETTINGS_MODULE": "dashboard.settings"}
PEOPLE = """
from django.contrib.auth import get_user_model
from checkpoints import store
place = store.create_workspace("upgraded", actor="user:0")
for web in ("web-1", "web-2"):
    for role in ("operator", "reviewer"):
        user = get_user_model().objects.create_user(f"{role}-{web}", password=%r)
        store.grant(place, user.pk, role, actor="user:0")
print(place)
"""


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tree of the earlier version."""
    git = ["git", "-C", str(ROOT), "archive", EARLIER]
    try:
        done = subprocess.run(git, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip(f"NOT PROVED: the history has no commit {EARLIER} here (a shallow clone?)")
    folder = tmp_path_factory.mktemp("earlier")
    with tarfile.open(fileobj=BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.fixture
def hosts(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path: Path, earlier: Path
) -> Iterator[Hosts]:
    """Tables and people as the earlier version makes them."""
    environment = clean_environment() | {
        "GATEPOST_DATA": str(tmp_path / "earlier"),
        "GATEPOST_SECRET_KEY": "unused here, but of some length" * 2,
        "PYTHONPATH": f"{earlier}{os.pathsep}{earlier / 'agents'}",
    }

    def manage(url: str, *command: str) -> str:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "manage.py", *command],
            env=environment | {"DATABASE_URL": url},
            cwd=earlier,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def set_up(url: str) -> UUID:
        manage(url, "migrate", "--no-input", "--verbosity", "0", "--skip-checks")
        return UUID(manage(url, "shell", "--command", PEOPLE % PASSWORD).split()[-1])

    with own_hosts(django_db_blocker, tmp_path, files=in_folder, set_up=set_up) as made:
        yield made


def test_every_thread_ends_right_beside_processes_of_an_earlier_version(
    hosts: Hosts, earlier: Path
) -> None:
    counter = hosts.counter
    counter.hold("deliver", "charge")

    def of_earlier(name: str) -> dict[str, str]:
        paths = (earlier, earlier / "agents", hosts.folder / name)
        return OF_PRODUCT | {"PYTHONPATH": os.pathsep.join(map(str, paths))}

    def ready(worker: Host) -> Host:
        worker.process.wait_ready()
        return worker

    with ExitStack() as stack:
        former_web = hosts.start_web("web-1", **of_earlier("web-1"))
        former = hosts.start_worker("worker-1", slots=SLOTS, **of_earlier("worker-1"))
        assert former_web.web is not None
        former_web.web.wait_ready()
        ready(former)
        # While the earlier version works, the tables are migrated.
        begun = [Person(former_web.web, f"{role}-web-1") for role in ("operator", "reviewer")]
        errands = Errands(hosts, begun[:1], begun[1:])
        errands.begin(6)
        errands.wait_held(former, slots=SLOTS)
        call_command("migrate", verbosity=0)
        web = hosts.start_web("web-2", **OF_PRODUCT)
        newer = hosts.start_worker("worker-2", slots=SLOTS)
        assert web.web is not None
        web.web.wait_ready()
        ready(newer)
        errands.operators.append(Person(web.web, "operator-web-2"))
        errands.reviewers.append(Person(web.web, "reviewer-web-2"))
        for person in (*errands.operators, *errands.reviewers):
            stack.callback(person.http.close)
        errands.begin(12)
        errands.wait_held(former, newer, slots=SLOTS)

        # A new process is gone: the earlier version continues with its threads.
        forth = errands.wait_held(newer, slots=SLOTS)
        newer.lose()
        counter.release()
        errands.wait_taken_over(forth)
        wait_until(lambda: errands.past_carry(forth), what=errands.summary)
        wait_until(lambda: errands.decide(*errands.reviewers), what=errands.summary)
        assert errands.codes[409] >= 1, "nobody decided at both versions at the same moment"

        # The earlier version is gone: new processes continue with its threads.
        last = ready(hosts.start_worker("worker-3", slots=SLOTS))
        counter.hold("deliver", "charge")
        errands.begin(12)
        errands.wait_held(former, last, slots=SLOTS)
        back = errands.wait_held(former, slots=SLOTS)
        former.lose()
        former_web.lose()
        counter.release()
        errands.wait_taken_over(back)
        del errands.operators[0], errands.reviewers[0]
        errands.end()
        errands.judge()
    code = {call.host: call.code for call in counter.calls}
    assert code == {"worker-1": str(earlier), "worker-2": str(ROOT), "worker-3": str(ROOT)}
