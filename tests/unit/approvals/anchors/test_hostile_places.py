"""Places that hang, answer wrongly or are shared, and a clock that steps back, hide no gap."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from django.db import connection

from approvals.anchors import time_stamps
from approvals.anchors.destinations import parse
from approvals.anchors.sender import late_of, raise_alarms, send_due
from approvals.hooks.signature import new_secret
from approvals.notify.texts.kinds import NotDelivered
from checkpoints import store
from checkpoints.anchors import destinations, made
from checkpoints.anchors.form import Anchor, hash_of
from dashboard.records.integrity import outgoing_anchors
from dashboard.records.integrity.outgoing_anchors import Dispatcher
from tests.unit.approvals.post import Hook
from tests.unit.checkpoints.builders import drive, make_thread

from .tsa import authority

pytestmark = pytest.mark.usefixtures("loopback")
type Answer = Callable[[BaseHTTPRequestHandler], None]


@pytest.fixture
def workspace(real_db: str) -> UUID:
    return store.create_workspace("audited", actor="user:1")


@pytest.fixture
def secret(settings: Any) -> str:
    settings.GATEPOST_ANCHORS_SECRET = new_secret()
    return str(settings.GATEPOST_ANCHORS_SECRET)


def sign(digest: str) -> str:
    return digest[::-1]


def do(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


def numbers(path: Path) -> list[int]:
    return [json.loads(line)["number"] for line in path.read_bytes().splitlines()]


def body(content: bytes, kind: str = "application/timestamp-reply") -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", kind)
        handler.end_headers()
        handler.wfile.write(content)

    return answer


def endless(handler: BaseHTTPRequestHandler) -> None:
    """Answer 200 and garbage for as long as somebody reads."""
    handler.send_response(200)
    handler.end_headers()
    try:
        while True:
            handler.wfile.write(b"x" * 65_536)
    except OSError:
        return


def garbage(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"\x00\xff no HTTP at all\r\n\r\n")


def redirect(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(302)
    handler.send_header("Location", "http://127.0.0.1:1/elsewhere")
    handler.end_headers()


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (garbage, "not HTTP"),
        (redirect, "redirects are not followed"),
        (endless, "not a time stamp"),
        (body(b""), "not a time stamp"),
        (body(b"\x30\x03\x02\x01\x00" + b"\x00" * 500), "not a time stamp"),
        (500, "answered 500"),
        (410, "gone"),
    ],
)
def test_an_authority_that_answers_anything_else_confirms_nothing(
    workspace: UUID, hook: Hook, answer: Any, why: str
) -> None:
    target = parse(f"tsa+{hook.url}")
    hook.answers = [answer]
    began = time.monotonic()
    (sent,) = send_due([target], sign=sign, force=True)
    assert why in sent.error
    assert time.monotonic() - began < 10
    assert destinations.stamps(sent.number) == {}
    assert destinations.standings([target.name])[0].acknowledged == 0


def test_a_stamp_with_another_algorithm_or_hash_is_refused(tmp_path: Path) -> None:
    from rfc3161_client import TimestampRequestBuilder, decode_timestamp_response
    from rfc3161_client.base import HashAlgorithm

    with authority(tmp_path / "tsa") as tsa:
        digest = "ab" * 32
        query, request = time_stamps.request(digest)
        other = TimestampRequestBuilder().data(b"other").nonce(nonce=True).build()
        weaker = (
            TimestampRequestBuilder()
            .data(digest.encode())
            .hash_algorithm(HashAlgorithm.SHA256)
            .nonce(nonce=True)
            .build()
        )
        for query_of_other in (other, weaker):
            answer = tsa.stamp(query_of_other.as_bytes())
            assert decode_timestamp_response(answer).status == 0
            stand_in = _WithNonce(request, query_of_other.nonce)
            with pytest.raises(NotDelivered, match="another hash"):
                time_stamps.token_of(answer, stand_in, digest, ca="")
        answer = tsa.stamp(query)
        double = tmp_path / "double.pem"
        double.write_bytes(tsa.ca.read_bytes() * 2)
        # A bundle that holds its root twice still vouches; one that holds none does not.
        assert time_stamps.token_of(answer, request, digest, ca=str(double)) == answer
        for bad in (b"", b"no certificate"):
            double.write_bytes(bad)
            with pytest.raises(NotDelivered, match="cannot be read"):
                time_stamps.token_of(answer, request, digest, ca=str(double))


class _WithNonce:
    """A query as it was made, with the nonce of another one."""

    def __init__(self, query: Any, nonce: int | None) -> None:
        self.message_imprint, self.nonce = query.message_imprint, nonce


def test_a_place_that_hangs_holds_up_no_other_and_no_alarm(
    workspace: UUID, hook: Hook, secret: str, settings: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    """The turn used to send one after the other, and to raise alarms behind the last."""
    path, open_up, states = tmp_path / "anchors.jsonl", threading.Event(), list[str]()
    file, slow = parse(f"file://{path}"), parse(f"{hook.url}?every=60")
    settings.GATEPOST_ANCHORS = (slow, file)
    settings.GATEPOST_SEND_SECONDS = 60.0

    def hang(handler: BaseHTTPRequestHandler) -> None:
        open_up.wait(30)
        handler.send_response(204)
        handler.end_headers()

    hook.answers = [hang]
    monkeypatch.setattr(outgoing_anchors, "LOOK_SECONDS", 0.0)
    dispatcher = Dispatcher()
    try:
        for turn in range(1, 4):
            dispatcher.call("worker:1")
            turn_of(dispatcher).join(10)
            dispatcher._sending[file.name].join(10)
            assert numbers(path) == [*range(1, turn + 1)]
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT state FROM pg_stat_activity WHERE datname = current_database() "
                    "AND pid <> pg_backend_pid() AND state <> 'idle'"
                )
                states += [row[0] for row in cursor.fetchall()]
            do(
                "UPDATE gp_anchor_destination SET tried_at = tried_at - interval '1 hour', "
                "created_at = created_at - interval '11 minutes'"
            )
        assert len(hook.got) == 1, "it is called again before it has answered"
        assert states == [], "a transaction is open while a place answers"
        assert destinations.standings([slow.name])[0].alarmed_at is not None
    finally:
        open_up.set()
        dispatcher.join()
    assert destinations.standings([slow.name])[0].acknowledged == 1
    dispatcher.call("worker:1")
    dispatcher.join()
    assert destinations.standings([slow.name])[0].alarmed_at is None
    assert late_of(settings.GATEPOST_ANCHORS, minutes=10) == []


def turn_of(dispatcher: Dispatcher) -> threading.Thread:
    assert dispatcher._thread is not None
    return dispatcher._thread


def test_two_hosts_at_the_same_time_write_each_anchor_once(workspace: UUID, tmp_path: Path) -> None:
    target, path = parse(f"file://{tmp_path}/a.jsonl"), tmp_path / "a.jsonl"
    start, errors = threading.Barrier(4), list[str]()

    def host() -> None:
        try:
            for _ in range(6):
                start.wait(20)
                errors.extend(s.error for s in send_due([target], sign=sign, force=True) if s.error)
        except Exception as error:
            errors.append(repr(error))
        finally:
            connection.close()

    hosts = [threading.Thread(target=host) for _ in range(4)]
    for one in hosts:
        one.start()
    for one in hosts:
        one.join(60)
    assert errors == []
    written = numbers(path)
    assert len(written) >= 6
    assert written == [*range(1, len(written) + 1)]


def test_a_clock_that_stepped_back_stops_neither_anchors_nor_alarms(
    workspace: UUID, tmp_path: Path
) -> None:
    target = parse(f"file://{tmp_path}/a.jsonl")
    send_due([target], sign=sign, force=True)
    ahead = "interval '2 hours'"
    do(
        f"UPDATE gp_anchor_destination SET tried_at = tried_at + {ahead}, "
        f"acknowledged_at = acknowledged_at + {ahead}, created_at = created_at + {ahead}"
    )
    assert [one.error for one in send_due([target], sign=sign)] == [""]
    # The same with a place that does not answer: its gap begins now, not in two hours.
    do(f"UPDATE gp_anchor_destination SET acknowledged_at = acknowledged_at + {ahead}")
    (tmp_path / "a.jsonl").unlink()
    (sent,) = send_due([target], sign=sign, force=True)
    assert sent.error
    assert 0 <= destinations.standings([target.name])[0].gap_seconds < 60
    do("UPDATE gp_anchor_destination SET acknowledged_at = acknowledged_at - interval '11 minutes'")
    assert raise_alarms([target], minutes=10) >= 1


def test_events_that_an_open_transaction_keeps_out_of_anchors_are_an_alarm(
    workspace: UUID, tmp_path: Path
) -> None:
    target = parse(f"file://{tmp_path}/anchors.jsonl")
    settings_of = connection.get_connection_params()
    with psycopg.connect(**settings_of) as other:
        other.execute("SELECT pg_current_xact_id()")
        thread = make_thread(workspace=workspace)
        (sent,) = send_due([target], sign=sign, force=True)
        assert sent.error == ""
        # Anchors arrive: only the events wait.
        do("UPDATE gp_anchor_destination SET acknowledged_at = now() + interval '1 day'")
        assert late_of([target], minutes=10) == []
        (late,) = late_of([target], minutes=0)
        assert late.held
        assert "pg_stat_activity" in late.in_words
        assert raise_alarms([target], minutes=0) >= 1
    assert late_of([target], minutes=0) == []
    assert raise_alarms([target], minutes=0) == 0
    (sent,) = send_due([target], sign=sign, force=True)
    anchor = made.anchor_of(sent.number)
    assert anchor is not None
    assert str(thread) in {head["id"] for head in anchor.heads}


def test_a_workspace_that_moved_after_the_clock_stepped_back_is_anchored(workspace: UUID) -> None:
    first, _ = made.make_anchor()
    at = first.at + 7_200_000_000  # written when the clock was two hours ahead
    digest = hash_of(2, at, first.hash, first.heads_hash)
    with connection.cursor() as cursor:
        cursor.execute("SELECT xid, thread_id, seq FROM gp_anchor WHERE number = 1")
        cursor_of_first = cursor.fetchone()
    made._insert(Anchor(2, at, first.hash, first.heads, first.heads_hash, digest), cursor_of_first)
    store.rename_workspace(workspace, "renamed", actor="user:1")
    drive(make_thread(workspace=workspace), 1)
    third, _ = made.make_anchor()
    assert third.at > at
    heads = {head["id"]: head["seq"] for head in third.heads}
    before = {head["id"]: head["seq"] for head in first.heads}
    assert heads[str(workspace)] > before[str(workspace)]
    # What rests comes no more, once threads have moved the cursor on.
    fourth, _ = made.make_anchor()
    assert str(workspace) not in {head["id"] for head in fourth.heads}


@pytest.mark.parametrize("kind", ["folder", "pipe", "full", "below a file", "removed", "held"])
def test_a_file_that_cannot_be_written_is_refused_in_one_sentence(
    workspace: UUID, tmp_path: Path, settings: Any, kind: str
) -> None:
    path = tmp_path / "anchors.jsonl"
    settings.GATEPOST_SEND_SECONDS = 0.2
    why, other = "cannot be written", None
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
        other, why = os.open(path, os.O_RDWR | os.O_NONBLOCK), "not a regular file"
    elif kind == "full":
        path, why = Path("/dev/full"), "not a regular file"
    elif kind == "below a file":
        (tmp_path / "x").write_text("")
        path, why = tmp_path / "x" / "anchors.jsonl", "folder"
    target = parse(f"file://{path}")
    if kind in ("removed", "held"):
        assert [one.error for one in send_due([target], sign=sign, force=True)] == [""]
    if kind == "removed":
        # As a mount point is while its disk is away: the folder is there, and empty.
        path.unlink()
        why = "was begun and is not there"
    elif kind == "held":
        import fcntl

        other = os.open(path, os.O_RDWR)
        fcntl.flock(other, fcntl.LOCK_EX)
        why = "Another process"
    (sent,) = send_due([target], sign=sign, force=True)
    assert why in sent.error
    assert sent.error.endswith((".", "?", "file."))
    if other is not None:
        os.close(other)
    if kind == "removed":
        assert not path.exists(), "the folder of an absent disk is not filled from below"
        path.touch()
    if kind in ("removed", "held"):
        assert [one.error for one in send_due([target], sign=sign, force=True)] == [""]
        assert numbers(path)[-1] == 3
