"""The inbound hook: what a sender decides, and what is refused of it."""

from __future__ import annotations

import hashlib
import json
import time
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import DatabaseError, connection, transaction

from approvals import queries as gates
from approvals.queries import ApprovalRow
from checkpoints import queries, store
from dashboard.administration import hooks
from dashboard.administration.hooks import RotateHook, SwitchHook, UnmapIdentity
from dashboard.errors import ActionError, Missing
from dashboard.kit.shapes.requests import Nothing
from tests.support.cast import Cast
from tests.unit.dashboard import scene
from tests.unit.dashboard.administration.hooks.helpers import CLIENT, kinds, now, refused
from tests.unit.dashboard.hooking import send, sign, signed, verdict

pytestmark = pytest.mark.requirement("C35")


def test_a_decision_made_elsewhere_is_that_persons(
    cast: Cast, row: ApprovalRow, hook: tuple[UUID, str]
) -> None:
    answer = send(CLIENT, hook[0], verdict(row, comment="fine"), secret=hook[1])
    assert answer.status_code == 200, answer.content
    manager = cast.users["manager"].pk
    payload = answer.json()
    assert (payload["status"], payload["outcome"]) == ("settled", "approve")
    assert (payload["decided_by"], payload["decided_by_name"]) == (
        f"user:{manager}/hook:slack",
        "manager (hook slack)",
    )
    after = now(row)
    assert (after.outcome, after.comment, after.decided_by) == (
        "approve",
        "fine",
        payload["decided_by"],
    )
    assert queries.thread(row.thread, workspace=cast.workspace).status == "queued"
    # The page names the person and what they acted through.
    page = cast.client("manager").get(f"/approvals/{row.id}/").content.decode()
    assert "manager (hook slack)" in page


def test_the_same_id_again_gets_the_same_answer_and_nothing_happens(
    cast: Cast, row: ApprovalRow, hook: tuple[UUID, str]
) -> None:
    ident, secret = hook
    body = json.dumps(verdict(row)).encode()
    first = send(CLIENT, ident, body, signed(secret, body, ident="msg_1"))
    before = queries.thread(row.thread, workspace=cast.workspace)
    # A sender that tries again signs again, with the time of now.
    again = send(CLIENT, ident, body, signed(secret, body, ident="msg_1", at=time.time() - 5))
    assert (again.status_code, again.content) == (200, first.content)
    assert (again.headers["Webhook-Replayed"], "Webhook-Replayed" in first) == ("true", False)
    assert queries.thread(row.thread, workspace=cast.workspace) == before
    # Under another id it is another decision, which comes too late; that answer stands as well.
    late = send(CLIENT, ident, body, signed(secret, body, ident="msg_2"))
    refused(late, 409, "already decided this request", "already-decided")
    same = send(CLIENT, ident, body, signed(secret, body, ident="msg_2"))
    assert (same.status_code, same.content) == (409, late.content)
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM gp_decision")
        assert cursor.fetchone() == (1,)
        cursor.execute("SELECT webhook_id, status FROM gp_hook_delivery ORDER BY id")
        assert cursor.fetchall() == [("msg_1", 200), ("msg_2", 409)]
        plain = hashlib.sha256(body).digest()  # a dump would tell a body that is guessed
        cursor.execute("SELECT count(*) FROM gp_hook_delivery WHERE body_hash = %s", (plain,))
        assert cursor.fetchone() == (0,)


def test_the_same_id_with_another_body_is_refused_and_logged(
    cast: Cast, row: ApprovalRow, hook: tuple[UUID, str]
) -> None:
    ident, secret = hook
    body = json.dumps(verdict(row)).encode()
    assert send(CLIENT, ident, body, signed(secret, body, ident="msg_1")).status_code == 200
    other = json.dumps(verdict(row, verdict="reject", comment="no")).encode()
    answer = send(CLIENT, ident, other, signed(secret, other, ident="msg_1"))
    refused(answer, 422, "used before with another body", "key-reused")
    assert now(row).outcome == "approve"
    assert kinds(cast.workspace)[-1] == "hook.refused"


def bent(secret: str, body: bytes) -> dict[str, tuple[dict[str, str], bytes, int, str]]:
    """Deliveries that are not what the hook sent just now."""
    good = signed(secret, body)
    old = int(good["webhook-timestamp"]) - 301
    ahead = int(good["webhook-timestamp"]) + 310
    other = "whsec_" + "A" * 43 + "="
    return {
        "other secret": (signed(other, body), body, 401, "bad-signature"),
        "other body": (good, body.replace(b"approve", b"reject "), 401, "bad-signature"),
        "other id": (good | {"webhook-id": "msg_other"}, body, 401, "bad-signature"),
        "other time": (
            good | {"webhook-timestamp": str(int(good["webhook-timestamp"]) - 1)},
            body,
            401,
            "bad-signature",
        ),
        "other version": (
            good | {"webhook-signature": good["webhook-signature"].replace("v1,", "v1a,")},
            body,
            401,
            "bad-signature",
        ),
        "nonsense": (good | {"webhook-signature": "v1,%% \x7f"}, body, 401, "bad-signature"),
        "too old": (signed(secret, body, at=old), body, 401, "out-of-time"),
        "ahead": (signed(secret, body, at=ahead), body, 401, "out-of-time"),
        "far ahead": (signed(secret, body, at=999_999_999_999), body, 401, "bad-signature"),
        "no text": (signed(secret, b"\xff"), b"\xff", 400, "malformed"),
        "no id": (good | {"webhook-id": ""}, body, 400, "malformed"),
        "no time": (good | {"webhook-timestamp": "soon"}, body, 400, "malformed"),
        "no signature": (good | {"webhook-signature": ""}, body, 400, "malformed"),
        "spaces": (good | {"webhook-id": "a b"}, body, 400, "malformed"),
    }


@pytest.mark.parametrize("name", list(bent("whsec_" + "A" * 43 + "=", b"{}")))
def test_what_the_hook_did_not_send_just_now_is_refused(
    cast: Cast, row: ApprovalRow, hook: tuple[UUID, str], name: str
) -> None:
    body = json.dumps(verdict(row)).encode()
    headers, raw, status, code = bent(hook[1], body)[name]
    refused(send(CLIENT, hook[0], raw, headers), status, code)
    assert now(row) == row
    # On record once a minute, however many come.
    refused(send(CLIENT, hook[0], raw, headers), status, code)
    assert kinds(cast.workspace).count("hook.refused") == 1
    (message,) = [one for one in hooks.hooks.hooks(cast.workspace) if one.id == hook[0]]
    assert (message.refused, message.refused_at is not None) == (1, True)


def test_within_five_minutes_both_ways(cast: Cast, hook: tuple[UUID, str]) -> None:
    agent = scene.make_agent()
    for drift in (-290, 290):
        one = scene.waiting(cast.workspace, agent)
        answer = send(CLIENT, hook[0], verdict(one), secret=hook[1], at=time.time() + drift)
        assert answer.status_code == 200, answer.content


@pytest.mark.parametrize(
    ("more", "status", "word"),
    [
        ({"by": "U404"}, 403, "stands for no active user"),
        ({"by": "U2"}, 403, "Needs the role reviewer"),
        ({"by": ""}, 422, "$.by"),
        ({"by": None}, 422, "$.by"),
        ({"who": "me"}, 422, "is not taken here"),
        ({"approval": "7"}, 422, "$.approval"),
        ({"approval": str(UUID(int=7))}, 404, "no such request"),
        ({"verdict": "maybe"}, 422, "$.verdict"),
        ({"proposal_hash": "0" * 64}, 409, "changed since you opened it"),
        ({"verdict": "reject"}, 422, "give a reason"),
    ],
)
def test_what_it_says_is_judged_like_anybodys(
    cast: Cast,
    row: ApprovalRow,
    hook: tuple[UUID, str],
    more: dict[str, Any],
    status: int,
    word: str,
) -> None:
    answer = send(CLIENT, hook[0], verdict(row) | more, secret=hook[1])
    assert answer.status_code == status, answer.content
    assert word in answer.json()["detail"], answer.json()
    assert now(row) == row


@pytest.mark.parametrize("raw", [b"", b"[]", b"{", b'{"a": NaN}', b"\xff", b'{"by":1,"by":2}'])
def test_bad_json_is_refused_with_a_path(hook: tuple[UUID, str], raw: bytes) -> None:
    answer = send(CLIENT, hook[0], raw, secret=hook[1])
    assert answer.status_code in (400, 422), answer.content
    assert answer.json()["path"].startswith("$")


def test_a_body_has_a_limit(hook: tuple[UUID, str]) -> None:
    raw = b'{"comment": "' + b"x" * (1024 * 1024) + b'"}'
    refused(send(CLIENT, hook[0], raw, secret=hook[1]), 413, "bytes that are taken")


@pytest.mark.parametrize("which", ["", "7", str(UUID(int=7))])
def test_unknown_hooks_are_one_sentence(row: ApprovalRow, hook: Any, which: str) -> None:
    refused(send(CLIENT, which, verdict(row), secret=hook[1]), 404, "There is no such hook")
    assert now(row) == row


def test_what_was_mended_may_be_sent_again(
    cast: Cast, row: ApprovalRow, hook: tuple[UUID, str]
) -> None:
    ident, secret = hook
    body = json.dumps(verdict(row, by="U9")).encode()
    headers = signed(secret, body, ident="msg_9")
    assert send(CLIENT, ident, body, headers).status_code == 403
    mapped = hooks.map_identity(cast.actor("admin"), ident, "U9", cast.users["manager"].pk)
    assert send(CLIENT, ident, body, headers).status_code == 403
    hooks.CONFIRM.run(cast.actor("manager"), Nothing(), mapped.id)
    assert send(CLIENT, ident, body, headers).status_code == 200


def test_rights_count_as_they_are_at_that_moment(cast: Cast, hook: tuple[UUID, str]) -> None:
    agent = scene.make_agent()
    manager = cast.users["manager"]
    payload = {}

    def tried() -> tuple[int, str]:
        one = scene.waiting(cast.workspace, agent)
        answer = send(CLIENT, hook[0], verdict(one), secret=hook[1])
        assert now(one).open is (answer.status_code != 200)
        return answer.status_code, answer.json().get("detail", "")

    store.withdraw(cast.workspace, manager.pk, "reviewer", actor="user:0")
    payload["role"] = tried()
    store.grant(cast.workspace, manager.pk, "reviewer", actor="user:0")
    manager.is_active = False
    manager.save()
    payload["user"] = tried()
    manager.is_active = True
    manager.save()
    admin = cast.actor("admin")
    hooks.SWITCH.run(admin, SwitchHook(active=False), hook[0])
    payload["hook"] = tried()
    hooks.SWITCH.run(admin, SwitchHook(active=True), hook[0])
    hooks.UNMAP.run(admin, UnmapIdentity(identity="U1"), hook[0])
    payload["mapping"] = tried()
    assert {name: code for name, (code, _) in payload.items()} == {
        "role": 403,
        "user": 403,
        "hook": 404,
        "mapping": 403,
    }
    assert "not a member of the hook's workspace" in payload["role"][1]


def test_secrets_overlap_while_they_change(cast: Cast, hook: tuple[UUID, str]) -> None:
    agent, admin = scene.make_agent(), cast.actor("admin")
    ident, first = hook

    def opens(secret: str) -> bool:
        one = scene.waiting(cast.workspace, agent)
        return bool(send(CLIENT, ident, verdict(one), secret=secret).status_code == 200)

    second = hooks.ROTATE.run(admin, RotateHook(), ident).secret
    assert (opens(first), opens(second)) == (True, True)
    # A sender that knows both may sign with both.
    one = scene.waiting(cast.workspace, agent)
    body = json.dumps(verdict(one)).encode()
    headers = signed("whsec_" + "A" * 43 + "=", body)
    other = sign(second, headers["webhook-id"], headers["webhook-timestamp"], body)
    headers["webhook-signature"] += f" v2,abc {other}"
    assert send(CLIENT, ident, body, headers).status_code == 200
    third = hooks.ROTATE.run(admin, RotateHook(keep=0), ident).secret
    assert [opens(one) for one in (first, second, third)] == [False, False, True]
    assert kinds(cast.workspace)[:3] == ["hook.created", "hook.mapped", "hook.confirmed"]
    assert kinds(cast.workspace).count("hook.rotated") == 2
    for _ in range(4):
        hooks.ROTATE.run(admin, RotateHook(), ident)
    with pytest.raises(ActionError, match="secrets hold already"):
        hooks.ROTATE.run(admin, RotateHook(), ident)


def test_deliveries_are_kept_as_they_are(hook: tuple[UUID, str], row: ApprovalRow) -> None:
    assert send(CLIENT, hook[0], verdict(row), secret=hook[1]).status_code == 200
    for statement in (
        "UPDATE gp_hook_delivery SET status = 500",
        "DELETE FROM gp_hook_delivery",
        "TRUNCATE gp_hook_delivery",
    ):
        with (
            pytest.raises(DatabaseError, match=r"append-only|refuse|never"),
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            # What refers to a hook is compared at once: nothing pending stands in TRUNCATE's way.
            cursor.execute(f"SET CONSTRAINTS ALL IMMEDIATE; {statement}")


def test_other_workspaces_are_out_of_reach(cast: Cast, hook: tuple[UUID, str]) -> None:
    foreign = scene.waiting(cast.elsewhere, scene.make_agent())
    answer = send(CLIENT, hook[0], verdict(foreign), secret=hook[1])
    refused(answer, 404, "no such request")
    stranger = cast.actor("stranger")  # an admin elsewhere
    for act in (
        lambda: hooks.ROTATE.run(stranger, RotateHook(), hook[0]),
        lambda: hooks.SWITCH.run(stranger, SwitchHook(active=False), hook[0]),
        lambda: hooks.map_identity(stranger, hook[0], "U5", cast.users["stranger"].pk),
        lambda: hooks.UNMAP.run(stranger, UnmapIdentity(identity="U1"), hook[0]),
        lambda: hooks.map_identity(cast.actor("admin"), hook[0], "U5", cast.users["stranger"].pk),
        lambda: hooks.map_identity(cast.actor("admin"), uuid4(), "U5", cast.users["manager"].pk),
    ):
        with pytest.raises(Missing):
            act()
    assert foreign == gates.approval(foreign.id, workspace=cast.elsewhere)
