"""Anchors reach files, mailboxes, webhooks and authorities; a gap raises the alarm once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from approvals.anchors import sender, time_stamps
from approvals.anchors.destinations import Destination, parse
from approvals.anchors.sender import late_of, raise_alarms, send_due
from approvals.hooks.signature import new_secret
from approvals.notify import endpoints
from approvals.notify.endpoints import Wanted
from approvals.notify.sender import Sender
from checkpoints import store
from checkpoints.anchors import destinations, made
from checkpoints.anchors.form import FIRST, hash_of, heads_hash
from tests.unit.approvals.post import Hook, Mailbox
from tests.unit.checkpoints.builders import drive, make_thread
from tests.unit.dashboard import hooking

from .tsa import authority, make_authority

pytestmark = pytest.mark.usefixtures("loopback")


@pytest.fixture
def workspace(real_db: str) -> UUID:
    return store.create_workspace("audited", actor="user:1")


def sign(digest: str) -> str:
    return digest[::-1]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def do(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


def test_each_anchor_has_what_moved_and_names_the_one_before(
    workspace: UUID, tmp_path: Path, box: Mailbox, hook: Hook, settings: Any
) -> None:
    settings.GATEPOST_ANCHORS_SECRET = secret = new_secret()
    path = tmp_path / "anchors.jsonl"
    targets = [
        parse(f"file://{path}"),
        parse("mailto:auditor@example.com"),
        parse(f"{hook.url}?every=60"),
    ]
    first, second = (make_thread(workspace=workspace) for _ in range(2))
    drive(first, 2)
    assert [one.error for one in send_due(targets, sign=sign)] == ["", "", ""]
    assert send_due(targets, sign=sign) == []  # none is due
    drive(second, 1)
    assert {one.number for one in send_due(targets, sign=sign, force=True)} == {2}
    one, two = lines(path)
    assert [one["number"], two["number"], one["previous"], two["previous"]] == [
        *(1, 2, FIRST),
        one["hash"],
    ]
    heads = {head["id"]: head for head in one["heads"]}
    assert {str(first), str(second), str(workspace)} <= heads.keys()
    assert [h["id"] for h in two["heads"] if h["of"] == "thread"] == [str(second)]
    for line in (one, two):
        assert heads_hash(line["heads"]) == line["heads_hash"]
        digest = hash_of(line["number"], line["at"], line["previous"], line["heads_hash"])
        assert (digest, sign(digest)) == (line["hash"], line["signature"])
    # A mail and a webhook carry the hash, which is enough.
    (_, mail) = box.mails[-1]
    assert two["hash"][:16] in mail["subject"]
    assert two["hash"] in box.text()
    got = hook.got[-1]
    assert got.json["data"] == {k: v for k, v in two.items() if k != "heads"} | {
        "n_heads": len(two["heads"])
    }
    wanted = hooking.sign(
        secret, got.headers["webhook-id"], got.headers["webhook-timestamp"], got.body
    )
    assert got.headers["webhook-signature"] == wanted


def test_a_disk_that_was_away_gets_all_that_it_missed(workspace: UUID, tmp_path: Path) -> None:
    folder = tmp_path / "mount"
    target = parse(f"file://{folder}/anchors.jsonl")
    for _ in range(3):
        (sent,) = send_due([target], sign=sign, force=True)
        assert "mounted" in sent.error
    folder.mkdir()
    (folder / "anchors.jsonl").write_bytes(b'{"torn')  # a crash in the middle of a line
    (sent,) = send_due([target], sign=sign, force=True)
    assert (sent.number, sent.error) == (4, "")
    torn, *rest = (folder / "anchors.jsonl").read_bytes().splitlines()
    assert torn == b'{"torn'
    assert [json.loads(line)["number"] for line in rest] == [1, 2, 3, 4]
    assert destinations.standings([target.name])[0].acknowledged == 4


def test_a_long_history_is_anchored_in_parts(workspace: UUID) -> None:
    threads = [make_thread(workspace=workspace) for _ in range(3)]
    for thread in threads:
        drive(thread, 2)
    parts, more = [], True
    while more:
        anchor, more = made.make_anchor(events=4)
        parts.append(anchor)
    assert len(parts) > 2
    newest: dict[str, int] = {}
    for part in parts:
        assert part.holds
        for head in part.heads:
            newest[head["id"]] = max(head["seq"], newest.get(head["id"], 0))
    for thread in threads:
        with connection.cursor() as cursor:
            cursor.execute("SELECT last_seq FROM gp_thread WHERE id = %s::uuid", (thread,))
            assert cursor.fetchone() == (newest[str(thread)],)
    with pytest.raises(Exception, match="append-only"):
        do("UPDATE gp_anchor SET at = 0")


def test_an_authority_stamps_the_hash(workspace: UUID, tmp_path: Path) -> None:
    with authority(tmp_path / "tsa") as tsa:
        target = parse(f"tsa+http://127.0.0.1:{tsa.port}/tsr?ca={tsa.ca}")
        (sent,) = send_due([target], sign=sign, force=True)
        assert sent.error == ""
        anchor = made.anchor_of(1)
        assert anchor is not None
        token = destinations.stamps(1)[target.name]
        assert time_stamps.check(token, anchor.hash, ca=target.ca).tzinfo is not None
        with pytest.raises(time_stamps.BadStamp):
            time_stamps.check(token, FIRST, ca=target.ca)
        # An answer to another question, and one that is none, are no confirmation.
        (tmp_path / "tsa/old.tsr").write_bytes((tmp_path / "tsa/reply.tsr").read_bytes())
        (tmp_path / "tsa/bad.tsr").write_bytes(b"not a time stamp")
        for spoil, why in (("old.tsr", "another question"), ("bad.tsr", "not a time stamp")):
            tsa.spoil = spoil
            (sent,) = send_due([target], sign=sign, force=True)
            assert why in sent.error
    other = tmp_path / "other"
    with pytest.raises(time_stamps.BadStamp):
        time_stamps.check(token, anchor.hash, ca=str(make_authority(other)))
    assert set(destinations.stamps(2)) == set()


def test_a_gap_alarms_once_in_each_workspace_and_ends(
    workspace: UUID, tmp_path: Path, box: Mailbox
) -> None:
    # It goes to anyone who wants to hear of damaged records: nobody has to choose it.
    endpoints.make(workspace, "email", Wanted(name="a", target="a@example.com"), actor="user:1")
    target = parse(f"file://{tmp_path}/away/anchors.jsonl")
    send_due([target], sign=sign, force=True)
    assert late_of([target], minutes=10) == []
    do("UPDATE gp_anchor_destination SET created_at = created_at - interval '11 minutes'")
    (late,) = late_of([target], minutes=10)
    assert (late.name, late.in_words[:20]) == (target.name, "none for 11 minutes.")
    n_workspaces = raise_alarms([target], minutes=10)
    assert n_workspaces >= 1
    assert raise_alarms([target], minutes=10) == 0
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT data ->> 'what' FROM gp_outbox WHERE kind = 'anchors.late' "
            "AND workspace_id = %s::uuid",
            (workspace,),
        )
        ((what,),) = cursor.fetchall()
    assert "none for 11 minutes" in what
    assert "mounted" in what
    assert Sender().drain() == 1
    assert box.mails[-1][1]["subject"].startswith("Anchors are not delivered")
    assert "mounted" in box.text()
    assert "nothing outside this installation" in box.text()
    (tmp_path / "away").mkdir()
    send_due([target], sign=sign, force=True)
    assert late_of([target], minutes=10) == []
    assert raise_alarms([target], minutes=10) == 0
    assert destinations.standings([target.name])[0].alarmed_at is None


def test_one_destination_that_fails_keeps_no_other_waiting(
    workspace: UUID, tmp_path: Path, monkeypatch: Any
) -> None:
    targets = [Destination("tsa", "odd", "http://127.0.0.1:1", 60), parse(f"file://{tmp_path}/a")]
    monkeypatch.setattr(sender.channels, "stamp", lambda *_: 1 / 0)
    odd, file = send_due(targets, sign=sign, force=True)
    assert (odd.error, file.error) == ("Sending failed: ZeroDivisionError.", "")
