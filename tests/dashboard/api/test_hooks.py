"""Decisions from outside: signed, by a known person, in time, and once."""

from __future__ import annotations

import json
import time
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import jsonschema
import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.test import Client

from approvals import queries as gates
from approvals.queries import ApprovalRow
from checkpoints import queries, store
from dashboard.actions import hooks
from dashboard.api.protocol import deliveries
from dashboard.errors import ActionError, Forbidden, Missing
from tests.cast import Cast
from tests.dashboard import scene
from tests.dashboard.hooking import PATH, made, send, sign, signed, verdict

pytestmark = pytest.mark.requirement("C35")
CLIENT = Client()


@pytest.fixture
def row(cast: Cast) -> ApprovalRow:
    return scene.waiting(cast.workspace, scene.make_agent())


@pytest.fixture
def hook(cast: Cast) -> tuple[UUID, str]:
    return made(cast, U1="manager", U2="operator", U3="second_manager")


def now(row: ApprovalRow) -> ApprovalRow:
    return gates.approval(row.id, workspace=row.workspace)


def kinds(workspace: UUID) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT kind, data::text FROM gp_workspace_event WHERE workspace_id = %s "
            "AND kind LIKE 'hook.%%' ORDER BY seq",
            [workspace],
        )
        found = cursor.fetchall()
    assert not any("whsec_" in data for _, data in found)
    return [kind for kind, _ in found]


def refused(answer: Any, status: int, *words: str) -> None:
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    told = answer.json()
    assert len(told["detail"]) > 20, told
    for word in words:
        assert word in told["detail"] or word in told["type"], told


def test_a_decision_made_elsewhere_is_that_persons(
    cast: Cast, row: ApprovalRow, hook: tuple[UUID, str]
) -> None:
    answer = send(CLIENT, hook[0], verdict(row, comment="fine"), secret=hook[1])
    assert answer.status_code == 200, answer.content
    manager = cast.users["manager"].pk
    told = answer.json()
    assert (told["status"], told["outcome"]) == ("settled", "approve")
    assert (told["decided_by"], told["decided_by_name"]) == (
        f"user:{manager}/hook:slack",
        "manager (hook slack)",
    )
    after = now(row)
    assert (after.outcome, after.comment, after.decided_by) == (
        "approve",
        "fine",
        told["decided_by"],
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
    (told,) = [one for one in hooks.hooks.hooks(cast.workspace) if one.id == hook[0]]
    assert (told.refused, told.refused_at is not None) == (1, True)


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
        ({"verdict": "reject"}, 422, "say why"),
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
    hooks.map_identity(cast.actor("admin"), ident, "U9", cast.users["manager"].pk)
    assert send(CLIENT, ident, body, headers).status_code == 200


def test_rights_count_as_they_are_at_that_moment(cast: Cast, hook: tuple[UUID, str]) -> None:
    agent = scene.make_agent()
    manager = cast.users["manager"]
    said = {}

    def tried() -> tuple[int, str]:
        one = scene.waiting(cast.workspace, agent)
        answer = send(CLIENT, hook[0], verdict(one), secret=hook[1])
        assert now(one).open is (answer.status_code != 200)
        return answer.status_code, answer.json().get("detail", "")

    store.withdraw(cast.workspace, manager.pk, "reviewer", actor="user:0")
    said["role"] = tried()
    store.grant(cast.workspace, manager.pk, "reviewer", actor="user:0")
    manager.is_active = False
    manager.save()
    said["user"] = tried()
    manager.is_active = True
    manager.save()
    admin = cast.actor("admin")
    hooks.disable_hook(admin, hook[0])
    said["hook"] = tried()
    hooks.enable_hook(admin, hook[0])
    hooks.unmap_identity(admin, hook[0], "U1")
    said["mapping"] = tried()
    assert {name: code for name, (code, _) in said.items()} == {
        "role": 403,
        "user": 403,
        "hook": 404,
        "mapping": 403,
    }
    assert "not a member of the hook's workspace" in said["role"][1]


def test_secrets_overlap_while_they_change(cast: Cast, hook: tuple[UUID, str]) -> None:
    agent, admin = scene.make_agent(), cast.actor("admin")
    ident, first = hook

    def opens(secret: str) -> bool:
        one = scene.waiting(cast.workspace, agent)
        return bool(send(CLIENT, ident, verdict(one), secret=secret).status_code == 200)

    second = hooks.rotate_hook(admin, ident)
    assert (opens(first), opens(second)) == (True, True)
    # A sender that knows both may sign with both.
    one = scene.waiting(cast.workspace, agent)
    body = json.dumps(verdict(one)).encode()
    headers = signed("whsec_" + "A" * 43 + "=", body)
    other = sign(second, headers["webhook-id"], headers["webhook-timestamp"], body)
    headers["webhook-signature"] += f" v2,abc {other}"
    assert send(CLIENT, ident, body, headers).status_code == 200
    third = hooks.rotate_hook(admin, ident, timedelta())
    assert [opens(one) for one in (first, second, third)] == [False, False, True]
    assert kinds(cast.workspace)[:2] == ["hook.created", "hook.mapped"]
    assert kinds(cast.workspace).count("hook.rotated") == 2
    for _ in range(4):
        hooks.rotate_hook(admin, ident)
    with pytest.raises(ActionError, match="secrets hold already"):
        hooks.rotate_hook(admin, ident)


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
        lambda: hooks.rotate_hook(stranger, hook[0]),
        lambda: hooks.disable_hook(stranger, hook[0]),
        lambda: hooks.map_identity(stranger, hook[0], "U5", cast.users["stranger"].pk),
        lambda: hooks.unmap_identity(stranger, hook[0], "U1"),
        lambda: hooks.map_identity(cast.actor("admin"), hook[0], "U5", cast.users["stranger"].pk),
        lambda: hooks.map_identity(cast.actor("admin"), uuid4(), "U5", cast.users["manager"].pk),
    ):
        with pytest.raises(Missing):
            act()
    assert foreign == gates.approval(foreign.id, workspace=cast.elsewhere)


@pytest.mark.parametrize("name", ["operator", "manager", "auditor", "viewer"])
def test_only_admins_look_after_hooks(cast: Cast, hook: tuple[UUID, str], name: str) -> None:
    who = cast.actor(name)
    for act in (
        lambda: hooks.create_hook(who, "other"),
        lambda: hooks.rotate_hook(who, hook[0]),
        lambda: hooks.enable_hook(who, hook[0]),
        lambda: hooks.disable_hook(who, hook[0]),
        lambda: hooks.map_identity(who, hook[0], "U5", 1),
        lambda: hooks.unmap_identity(who, hook[0], "U1"),
    ):
        with pytest.raises(Forbidden, match="Needs the role admin"):
            act()


@pytest.mark.parametrize("word", ["", " ", "x" * 201, "a\u202eb", "a\u200bb", "a\nb", "a\0b"])
def test_words_for_people_can_be_seen(cast: Cast, hook: tuple[UUID, str], word: str) -> None:
    with pytest.raises(ActionError, match=r"\$.identity"):
        hooks.map_identity(cast.actor("admin"), hook[0], word, cast.users["manager"].pk)


@pytest.mark.parametrize("name", ["", "Slack", "a b", "-a", "x" * 41, "a/b"])
def test_names_are_plain_words(cast: Cast, name: str) -> None:
    with pytest.raises(ActionError, match="name"):
        hooks.create_hook(cast.actor("admin"), name)


def test_a_name_and_a_secret_of_the_sender(cast: Cast) -> None:
    admin = cast.actor("admin")
    chosen = "whsec_" + "QUJD" * 8
    assert hooks.create_hook(admin, "pager", chosen)[1] == chosen
    with pytest.raises(ActionError, match="name of another hook"):
        hooks.create_hook(admin, "pager")
    for bad in ("QUJD" * 8, "whsec_" + "A" * 8, "whsec_***"):
        with pytest.raises(ActionError, match="whsec_"):
            hooks.create_hook(admin, "other", bad)


# --- the admin site -------------------------------------------------------------------------------


def test_the_admin_site_makes_changes_and_maps(cast: Cast, row: ApprovalRow) -> None:
    client = cast.client("admin")
    page = client.post("/admin/approvals/hook/add/", {"name": "slack"})
    assert page.status_code == 200, page.content
    (one,) = hooks.hooks.hooks(cast.workspace)
    text = page.content.decode()
    secret = text.partition("<code>whsec_")[2].partition("</code>")[0].replace("&#x2B;", "+")
    secret = "whsec_" + secret.replace("&#43;", "+")
    assert f"/api/v1/hooks/decide/?hook={one.id}" in text
    mapped = client.post(
        "/admin/approvals/hookidentity/add/",
        {"hook": str(one.id), "identity": "U1", "user": cast.users["manager"].pk},
    )
    assert mapped.status_code == 302, mapped.content
    assert send(CLIENT, one.id, verdict(row), secret=secret).status_code == 200
    changed = f"/admin/approvals/hook/{one.id}/change/"
    shown = client.get(changed).content.decode()
    assert secret[6:20] not in shown
    again = client.post(changed, {"active": "on", "new_secret": "on"})
    assert (again.status_code, "whsec_" in again.content.decode()) == (200, True)
    assert client.post(changed, {}).status_code == 302
    assert hooks.hooks.hooks(cast.workspace)[0].active is False
    for address in ("hook/", "hookidentity/", "hookdelivery/", f"hook/{one.id}/change/"):
        text = client.get(f"/admin/approvals/{address}").content.decode()
        assert "slack" in text or "msg_" in text or "manager" in text, address
        assert "whsec_" not in text
    (identity,) = hooks.hooks.identities(cast.workspace)
    gone = f"/admin/approvals/hookidentity/{identity.id}/delete/"
    assert client.post(gone, {"post": "yes"}).status_code == 302
    assert hooks.hooks.identities(cast.workspace) == []
    assert kinds(cast.workspace) == [
        "hook.created",
        "hook.mapped",
        "hook.rotated",
        "hook.disabled",
        "hook.unmapped",
    ]


def test_auditors_look_and_do_not_touch(cast: Cast, hook: tuple[UUID, str]) -> None:
    client = cast.client("auditor")
    assert client.get("/admin/approvals/hook/").status_code == 200
    text = client.get(f"/admin/approvals/hook/{hook[0]}/change/").content.decode()
    assert "whsec_" not in text
    for address in ("hook/add/", f"hook/{hook[0]}/change/", "hookidentity/add/"):
        assert client.post(f"/admin/approvals/{address}", {}).status_code == 403, address
    assert cast.client("stranger").get("/admin/approvals/hook/").status_code == 200
    away = cast.client("stranger").get(f"/admin/approvals/hook/{hook[0]}/change/")
    assert away.status_code == 404


# --- the command ----------------------------------------------------------------------------------


def test_the_command(cast: Cast, row: ApprovalRow, capsys: Any) -> None:
    def said(*words: str) -> tuple[str, str]:
        call_command("hook", *words)
        found = capsys.readouterr()
        return found.out, found.err

    secret, told = said("create", "slack", "--as", "admin")
    assert secret.startswith("whsec_")
    (one,) = hooks.hooks.hooks(cast.workspace)
    assert f"/api/v1/hooks/decide/?hook={one.id}" in told
    assert "manager" in said("map", "slack", "U1", "manager")[0]
    assert send(CLIENT, one.id, verdict(row), secret=secret.strip()).status_code == 200
    new = json.loads(said("rotate", "slack", "--keep", "0", "--json")[0])
    assert (new["secrets"], new["secret"] == secret.strip()) == (1, False)
    assert "U1" in said("list")[0]
    said("disable", "slack")
    said("enable", "slack")
    said("unmap", "slack", "U1")
    for words, code in (
        (("rotate", "pager"), 3),
        (("map", "slack", "U1", "nobody"), 3),
        (("create", "Bad Name"), 1),
        (("create", "other", "--as", "manager"), 1),
        (("rotate", "slack", "--keep", "never"), 1),
    ):
        with pytest.raises((SystemExit, CommandError)) as end:
            said(*words)
        assert getattr(end.value, "code", 0) == code, words


# --- documentation --------------------------------------------------------------------------------


def schema_of(cast: Cast) -> Any:
    return json.loads(cast.client("operator").get("/api/schema/?format=json").content)


def test_the_document_describes_the_call_and_its_signature(cast: Cast) -> None:
    told = schema_of(cast)
    call = told["paths"][PATH]["post"]
    assert call["operationId"] == "hooks_decide"
    assert call["security"] == [{"webhookSignature": []}]
    scheme = told["components"]["securitySchemes"]["webhookSignature"]
    assert (scheme["in"], scheme["name"]) == ("header", "webhook-signature")
    needed = {(one["in"], one["name"]) for one in call["parameters"] if one["required"]}
    assert needed == {("query", "hook"), *(("header", name) for name in deliveries.NAMES)}
    body = told["components"]["schemas"]["Carried"]
    assert set(body["required"]) == {"approval", "verdict", "proposal_hash", "by"}
    assert set(body["properties"]) == set(deliveries.Carried.model_fields)
    # It is the only call that no person makes.
    signed_ones = [
        path
        for path, item in told["paths"].items()
        for one in item.values()
        if one["security"] == call["security"]
    ]
    assert signed_ones == [PATH]


def test_what_it_answers_is_what_the_document_says(
    cast: Cast, row: ApprovalRow, hook: tuple[UUID, str]
) -> None:
    """One answer of each kind: its status is described, its body has the described form."""
    told = schema_of(cast)
    described = told["paths"][PATH]["post"]["responses"]
    ident, secret = hook
    body = json.dumps(verdict(row)).encode()
    sent = [
        send(CLIENT, ident, b"{", secret=secret),  # 400
        send(CLIENT, ident, body, secret="whsec_" + "A" * 43 + "="),  # 401
        send(CLIENT, ident, verdict(row, by="U9"), secret=secret),  # 403
        send(CLIENT, uuid4(), body, secret=secret),  # 404
        send(CLIENT, ident, b" " * (deliveries.BODY_MAX + 1), secret=secret),  # 413
        send(CLIENT, ident, verdict(row, verdict="perhaps"), secret=secret),  # 422
        send(CLIENT, ident, body, secret=secret, ident="msg_1"),  # 200
        send(CLIENT, ident, body, secret=secret, ident="msg_2"),  # 409
    ]
    codes = [answer.status_code for answer in sent]
    assert codes == [400, 401, 403, 404, 413, 422, 200, 409]
    again = send(CLIENT, ident, body, secret=secret, ident="msg_2")
    assert "Webhook-Replayed" in again
    assert "Webhook-Replayed" in described["409"]["headers"]
    for answer in [*sent, again]:
        content = described[str(answer.status_code)]["content"]
        shape = content[answer["Content-Type"].partition(";")[0]]["schema"]
        jsonschema.validate(answer.json(), {**shape, "components": told["components"]})
    # No answer is described that it cannot give: any content type is read.
    assert "415" not in described


def test_the_document_names_the_verdicts_of_an_interrupt(cast: Cast) -> None:
    told = schema_of(cast)["components"]["schemas"]
    for name, member in (
        ("Approval", "schema"),
        ("ApprovalDetail", "schema"),
        ("ApprovalDetail", "arguments_schema"),
    ):
        found = told[name]["properties"][member]["properties"]["x-verdicts"]
        assert found["items"]["enum"] == ["approve", "edit", "respond", "reject"]
    # And that is what an interrupt's request carries.
    schema = {"type": "object", "properties": {}, "x-verdicts": ["approve", "respond"]}
    asked = scene.waiting(cast.workspace, scene.make_agent(), schema=schema)
    one = cast.client("manager").get(f"/api/v1/approvals/{asked.id}/").json()
    assert one["schema"] == one["arguments_schema"] == schema
    assert one["verdicts"] == ["approve", "respond", "reject"]
    jsonschema.validate(one["schema"], told["Approval"]["properties"]["schema"])
