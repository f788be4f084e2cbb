"""Senders killed, senders at once, an emptied Valkey: each news arrives, told once each."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import redis
from django.conf import settings as configured
from django.db import connection

from approvals import gates, outbox
from approvals.notify import endpoints
from approvals.notify.endpoints import Wanted
from approvals.queries import ApprovalRow
from approvals.rules.terms import Terms
from tests.faults.embedded.helpers import ROOT, wait_until
from tests.support.cast import Cast, make_cast
from tests.support.site import started_site
from tests.unit.approvals import post
from tests.unit.dashboard import scene

pytestmark = [pytest.mark.requirement("C35"), pytest.mark.requirement("C34")]
LOOPBACK = {
    "GATEPOST_WEBHOOK_HTTP": "true",
    "GATEPOST_WEBHOOK_NETWORKS": "127.0.0.0/8",
    "GATEPOST_WEBHOOK_PORTS": "0",
    "GATEPOST_SEND_SECONDS": "5",
    "GATEPOST_DELIVERY_PAUSES": "0.1,0.1,0.1,0.1",
    "GATEPOST_NOTIFY_SECONDS": "0.1",
    "GATEPOST_SWEEP_SECONDS": "0.2",
}


def prepared() -> Cast:
    """The cast, two of whom may decide and have a mail address."""
    cast = make_cast()
    for name in ("manager", "second_manager"):
        cast.users[name].email = f"{name}@example.com"
        cast.users[name].save()
    return cast


def requests(cast: Cast, number: int, **more: Any) -> list[ApprovalRow]:
    agent = scene.make_agent()
    results = [scene.waiting(cast.workspace, agent, **more) for _ in range(number)]
    with connection.cursor() as cursor:  # their own news is out of the way
        cursor.execute("UPDATE gp_outbox SET done_at = clock_timestamp()")
    return results


def tell(rows: list[ApprovalRow], kind: str = "approval.requested") -> list[str]:
    """Their news; the webhook-ids that these will have."""
    return [
        f"msg_{outbox.add(kind, workspace=r.workspace, thread=r.thread, approval=r.id).hex}"
        for r in rows
    ]


def hooked(cast: Cast, hook: post.Hook) -> None:
    wanted = Wanted(name="agent", target=hook.url)
    endpoints.make(cast.workspace, "webhook", wanted, actor="user:1")


@contextmanager
def sender(*, waits: int = 0, **more: str) -> Iterator[subprocess.Popen[str]]:
    """A sender's process; killed at the end if it is still there."""
    started = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.services.sending", str(waits)],
        cwd=ROOT,
        env={**os.environ, **LOOPBACK, **more},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert started.stdout is not None
    assert started.stdout.readline() == "begun\n"
    try:
        yield started
    finally:
        started.kill()
        started.wait()
        started.stdout.close()


def value(sql: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchone()[0]


@pytest.fixture
def loopback(settings: Any) -> None:
    settings.GATEPOST_WEBHOOK_HTTP = True
    settings.GATEPOST_WEBHOOK_NETWORKS = ["127.0.0.0/8"]
    settings.GATEPOST_WEBHOOK_PORTS = [0]


def test_two_senders_at_once_tell_everybody_once(real_db: str, loopback: None) -> None:
    cast = prepared()
    with post.web_hook() as hook, post.mail_server() as box:
        hooked(cast, hook)
        endpoints.make(cast.workspace, "email", Wanted(name="people"), actor="user:1")
        rows = requests(cast, 60)
        url = {"EMAIL_URL": f"smtp://127.0.0.1:{box.port}"}
        with sender(waits=60, **url) as first, sender(waits=60, **url) as second:
            ids = tell(rows)  # both are there
            began = [int(one.communicate(timeout=90)[0]) for one in (first, second)]
        assert sum(began) == 60 * 3
        assert min(began) > 5, "it was no race"
        assert Counter(got.headers["webhook-id"] for got in hook.got) == Counter(ids)
        mailed = Counter((to, mail["Message-ID"]) for to, mail in box.mails)
        assert (len(mailed), set(mailed.values())) == (120, {1})
        assert value("SELECT count(*) FROM gp_delivery WHERE done_at IS NULL") == 0
        assert value("SELECT count(*) FROM gp_outbox WHERE done_at IS NULL") == 0


@pytest.mark.parametrize("after", [1, 12, 25])
def test_a_killed_sender_loses_nothing_and_repeats_only_what_it_had_not_noted(
    real_db: str, loopback: None, after: int
) -> None:
    cast = prepared()
    with post.web_hook() as hook:
        hooked(cast, hook)
        release = threading.Event()
        hook.answers = [*(post.slow(0.03) for _ in range(after)), *[post.hangs_until(release)] * 8]
        ids = tell(requests(cast, 40), "approval.decided")
        with sender() as first:
            wait_until(lambda: len(hook.got) >= after, seconds=30, what="some messages")
            first.send_signal(signal.SIGKILL)
            first.wait()
        release.set()
        hook.answers.clear()
        noted = value("SELECT count(*) FROM gp_delivery WHERE done_at IS NOT NULL")
        under_way = value("SELECT count(*) FROM gp_delivery WHERE claimed_until IS NOT NULL")
        assert noted < 40, "it was killed too late"
        wait_until(lambda: len(hook.got) <= noted + under_way, seconds=1, what="quiet")
        done = {
            f"msg_{news.hex}"
            for (news,) in _rows("SELECT news_id FROM gp_delivery WHERE done_at IS NOT NULL")
        }
        with connection.cursor() as cursor:  # the dead sender's claims run out
            cursor.execute("UPDATE gp_delivery SET claimed_until = clock_timestamp()")
        with sender() as one, sender() as other:
            for each in (one, other):
                each.communicate(timeout=60)
        counted = Counter(got.headers["webhook-id"] for got in hook.got)
        assert set(counted) == set(ids)
        assert {counted[ident] for ident in done} <= {1}
        assert len(hook.got) - 40 <= under_way
        assert value("SELECT count(*) FROM gp_delivery WHERE done_at IS NULL") == 0


def test_many_sweeps_at_once_remind_once(real_db: str) -> None:
    cast = prepared()
    rows = requests(cast, 30, terms=Terms(reminders=(0.0, 0.01, 3600.0)))
    requests(cast, 5, terms=Terms(reminders=(3600.0,)))
    requests(cast, 5)
    start = threading.Barrier(4)
    done: list[int] = []

    def sweep() -> None:
        start.wait()
        done.append(gates.remind_due())
        connection.close()

    sweeps = [threading.Thread(target=sweep) for _ in range(4)]
    for one in sweeps:
        one.start()
    for one in sweeps:
        one.join()
    assert sum(done) == 30
    assert gates.remind_due() == 0  # two times that passed together are one reminder
    payload = _rows("SELECT approval_id FROM gp_outbox WHERE kind = 'approval.reminder'")
    assert Counter(row[0] for row in payload) == Counter(row.id for row in rows)
    assert value("SELECT count(*) FROM gp_approval WHERE reminded = 2") == 30


def test_workers_remind_and_tell_over_kill_and_flushall(real_db: str, loopback: None) -> None:
    """Real workers: the first is killed, Valkey is emptied, a second goes on where it was."""
    cast = prepared()
    with post.web_hook() as hook, post.mail_server() as box:
        hooked(cast, hook)
        made = Wanted(name="people", people=["manager"])
        endpoints.make(cast.workspace, "email", made, actor="user:1")
        [row] = requests(cast, 1, terms=Terms(reminders=(0.0, 3600.0)))
        tell([row])
        environment = {**LOOPBACK, "EMAIL_URL": f"smtp://127.0.0.1:{box.port}"}
        with started_site(slots=1, **environment) as site:
            wait_until(lambda: len(box.mails) == 2, seconds=20, what="the news and a reminder")
            wait_until(all_noted, seconds=10, what="all noted")
            with redis.Redis.from_url(configured.REDIS_URL) as valkey:
                valkey.flushall()
            assert site.worker is not None
            os.killpg(site.worker.pid, signal.SIGKILL)
        with connection.cursor() as cursor:
            cursor.execute("UPDATE gp_delivery SET claimed_until = clock_timestamp()")
            cursor.execute("UPDATE gp_approval SET requested_at = requested_at - interval '1 hour'")
        with started_site(slots=1, **environment):
            wait_until(lambda: len(box.mails) == 3, seconds=30, what="the second reminder")
            wait_until(all_noted, seconds=10, what="all noted")
        subjects = Counter(str(mail["Subject"]).partition(":")[0] for _, mail in box.mails)
        assert subjects == {"Approval needed": 1, "Still waiting for a decision": 2}
        kinds = Counter(got.json["type"] for got in hook.got)
        assert kinds == {"approval.requested": 1, "approval.reminder": 2}


def all_noted() -> bool:
    return bool(value("SELECT count(*) FROM gp_delivery WHERE done_at IS NULL") == 0)


def _rows(sql: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return list(cursor.fetchall())


def test_a_mail_server_that_hangs_holds_up_no_sweep(real_db: str, loopback: None) -> None:
    cast = prepared()
    with post.mail_server() as box:
        box.seconds = 60
        endpoints.make(cast.workspace, "email", Wanted(name="people"), actor="user:1")
        rows = requests(cast, 10)
        tell(rows)
        url = f"smtp://127.0.0.1:{box.port}"
        with started_site(slots=1, **{**LOOPBACK, "EMAIL_URL": url}):
            wait_until(
                lambda: value("SELECT count(*) FROM gp_delivery WHERE claim IS NOT NULL") == 2,
                seconds=20,
                what="mails on their way",
            )
            # What the sweep does is done meanwhile: requests expire.
            with connection.cursor() as cursor:
                cursor.execute("UPDATE gp_approval SET deadline = clock_timestamp()")
            wait_until(
                lambda: value("SELECT count(*) FROM gp_approval WHERE status = 'expired'") == 10,
                seconds=10,
                what="ten that expired",
            )
        assert box.mails == []
