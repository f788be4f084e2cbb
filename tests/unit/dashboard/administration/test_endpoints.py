"""Endpoints everywhere: records, the API, `doctor`, the figures; and the link home."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from approvals import outbox
from approvals.hooks.stored_secrets import ENDPOINT_ADDRESS
from approvals.notify import queries
from approvals.notify.fan_out import spread
from checkpoints import queries as ground
from dashboard.administration import endpoints
from dashboard.errors import Forbidden, Invalid, Missing
from dashboard.kit.shapes.requests import Nothing
from dashboard.live import metrics as figures
from dashboard.operate.doctor import notifications as news
from dashboard.operate.doctor.findings import Seen
from tests.support.cast import Cast
from tests.unit.dashboard import scene

URL = "https://agent.example/in/T0K3N"
LIST = "/admin/approvals/endpoint/"


def made(cast: Cast, name: str = "agent", target: str = URL) -> tuple[UUID, str]:
    wanted = endpoints.MakeEndpoint(kind="webhook", name=name, target=target)
    row = endpoints.MAKE.run(cast.actor("admin"), wanted)
    return row.id, row.secret


def events(cast: Cast) -> list[str]:
    return [e.kind for e in reversed(ground.workspace_events(cast.workspace).rows)]


def test_the_records_show_a_secret_once(cast: Cast) -> None:
    admin = cast.client("admin")
    page = admin.get(f"{LIST}add/").content.decode()
    assert "approval.decided" in page
    answer = admin.post(
        f"{LIST}add/",
        {"kind": "webhook", "name": "agent", "target": URL, "events": ["approval.decided"]},
    )
    assert answer.status_code == 200  # no redirect: a notice would carry it in a cookie
    shown = re.findall(r"whsec_[A-Za-z0-9+/=]+", answer.content.decode())
    assert len(shown) == 1
    assert shown[0] not in str(admin.cookies)
    [row] = queries.endpoints(workspace=cast.workspace)
    assert (row.name, row.target, row.events) == (
        "agent", "https://agent.example", ["approval.decided"],
    )  # fmt: skip
    address = reverse("admin:approvals_endpoint_change", args=[row.id])
    pages = [admin.get(LIST), admin.get(address), cast.client("auditor").get(address)]
    for one in pages:
        assert one.status_code == 200
        assert "whsec_" not in one.content.decode()
        assert "T0K3N" not in one.content.decode()
    # Saved as it is, nothing changes; with another name, only that.
    form = {"name": "agent", "target": row.target, "events": row.events, "digest": "0"}
    assert admin.post(address, form).status_code == 302
    assert "endpoint.changed" not in events(cast)
    admin.post(address, form | {"name": "the agent"})
    assert queries.endpoint(row.id, workspace=cast.workspace).name == "the agent"
    with connection.cursor() as cursor:
        cursor.execute("SELECT address FROM gp_endpoint")
        stored = cursor.fetchone()[0]
    assert "T0K3N" not in stored
    assert ENDPOINT_ADDRESS.decrypt(stored, row.id) == URL
    page = admin.get(address).content.decode()
    for verb, text in (("rotate", "New secret"), ("test", "Send a test"), ("switch", "Switch off")):
        assert text in page
        assert admin.get(f"{LIST}{row.id}/{verb}/").status_code == 403  # a GET changes nothing
        assert cast.client("auditor").post(f"{LIST}{row.id}/{verb}/").status_code == 403
        assert cast.client("stranger").post(f"{LIST}{row.id}/{verb}/").status_code == 404
        answer = admin.post(f"{LIST}{row.id}/{verb}/")
        assert answer.status_code == (200 if verb == "rotate" else 303)
        assert ("whsec_" in answer.content.decode()) is (verb == "rotate")
    assert [kind for kind in events(cast) if kind.startswith("endpoint.")][-5:] == [
        "endpoint.made", "endpoint.changed", "endpoint.rotated", "endpoint.tested",
        "endpoint.switched",
    ]  # fmt: skip
    assert not queries.endpoint(row.id, workspace=cast.workspace).active
    log = cast.client("auditor").get("/admin/checkpoints/workspaceevent/").content.decode()
    assert "rotated the secret of" in log
    assert admin.post(f"{LIST}{row.id}/delete/").status_code == 403


def test_a_refused_form_says_why_and_keeps_nothing(cast: Cast) -> None:
    admin = cast.client("admin")
    answer = admin.post(
        f"{LIST}add/", {"kind": "webhook", "name": "n", "target": "https://10.0.0.1/"}, follow=True
    )
    assert "not an address of the public internet" in answer.content.decode()
    assert queries.endpoints(workspace=cast.workspace) == []


def test_people_are_named_by_commas(cast: Cast) -> None:
    admin = cast.client("admin")
    form = {"kind": "email", "name": "two", "people": "manager, second_manager", "digest": "10"}
    assert admin.post(f"{LIST}add/", form).status_code == 302
    [row] = queries.endpoints(workspace=cast.workspace)
    assert (row.people, row.digest) == (["manager", "second_manager"], 10)
    assert row.events == [
        "approval.requested",
        "approval.turn",
        "approval.escalated",
        "approval.reminder",
        "budget.reached",
        "record.damaged",
    ]


def test_the_api_answers_a_secret_once_and_no_address(cast: Cast) -> None:
    admin = cast.client("admin")
    body = {"kind": "webhook", "name": "agent", "target": URL}
    answer = admin.post(
        "/api/v1/endpoints/",
        body,
        content_type="application/json",
        headers={"Idempotency-Key": "one"},
    )
    assert answer.status_code == 201
    assert answer.json()["secret"].startswith("whsec_")
    with connection.cursor() as cursor:  # a stored answer would be a stored secret
        cursor.execute("SELECT count(*) FROM gp_idempotency_key")
        assert cursor.fetchone()[0] == 0
    at = f"/api/v1/endpoints/{answer.json()['id']}/"
    admin.post(f"{at}test/", {}, content_type="application/json")
    for one in ("/api/v1/endpoints/", at):
        response = admin.get(one)
        assert response.status_code == 200
        assert "whsec_" not in response.content.decode()
        assert "T0K3N" not in response.content.decode()
        assert cast.client("viewer").get(one).status_code == 403
    assert [d["kind"] for d in admin.get(at).json()["deliveries"]] == ["endpoint.test"]
    assert cast.client("stranger").get(at).status_code == 404
    rotated = admin.post(f"{at}rotate/", {"overlap": 60}, content_type="application/json").json()
    assert rotated["secret"] != answer.json()["secret"]
    assert [one["until"] is None for one in rotated["secrets"]] == [True, False]
    wrong = admin.post(f"{at}rotate/", {"overlap": -1}, content_type="application/json")
    assert (wrong.status_code, wrong.json()["path"]) == (422, "$.overlap")


def test_only_admins_and_only_their_own(cast: Cast) -> None:
    ident, _ = made(cast)
    for name in ("operator", "manager", "auditor", "viewer"):
        with pytest.raises(Forbidden, match="Needs the role admin"):
            endpoints.ROTATE.run(cast.actor(name), endpoints.RotateEndpoint(), ident)
    for act in (
        lambda who: endpoints.ROTATE.run(who, endpoints.RotateEndpoint(), ident),
        lambda who: endpoints.SWITCH.run(who, endpoints.SwitchEndpoint(active=False), ident),
        lambda who: endpoints.TEST.run(who, Nothing(), ident),
        lambda who: endpoints.CHANGE.run(who, endpoints.ChangeEndpoint(name="x"), ident),
    ):
        with pytest.raises(Missing):
            act(cast.actor("stranger"))
    with pytest.raises(Invalid) as caught:
        made(cast)
    assert caught.value.path == "$.name"


def test_the_link_of_a_mail_needs_a_login_and_leads_to_the_request(cast: Cast) -> None:
    row = scene.waiting(cast.workspace, scene.make_agent())
    link = f"/approvals/{row.id}/?src=mail"
    client = Client()
    before = client.get(link)
    assert before.status_code == 302
    assert row.title not in before.content.decode()
    there = client.post(before["Location"], {"username": "manager", "password": "manager-password"})
    assert (there.status_code, there["Location"]) == (302, link)
    page = client.get(link)
    assert page.status_code == 200
    assert row.title in page.content.decode()
    from approvals import queries as gates

    assert gates.approval(row.id, workspace=cast.workspace).open  # a GET decides nothing


def test_doctor_and_figures_say_what_does_not_arrive(
    cast: Cast, client: Client, settings: Any, monkeypatch: Any
) -> None:
    seen = Seen()

    def levels() -> dict[str, str]:
        looks = (news.outbox, news.endpoints, news.mail)
        return {f.name: f.level for look in looks for f in look(seen)}

    assert levels() == {"outbox": "ok", "endpoints": "ok", "mail": "note"}
    ident, _ = made(cast)
    people = endpoints.MakeEndpoint(kind="email", name="people")
    endpoints.MAKE.run(cast.actor("admin"), people)
    settings.MAILERS = {"default": {"BACKEND": "django.core.mail.backends.dummy.EmailBackend"}}
    assert levels()["mail"] == "wrong"
    row = scene.waiting(cast.workspace, scene.make_agent())
    outbox.add("approval.decided", workspace=row.workspace, thread=row.thread)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE gp_outbox SET at = at - interval '1 minute'")
        assert levels()["outbox"] == "warning"
        cursor.execute("UPDATE gp_outbox SET at = at - interval '1 hour'")
        assert levels()["outbox"] == "wrong"
        monkeypatch.setattr(figures, "KEPT_SECONDS", 0.0)
        settings.ALLOWED_HOSTS = ["localhost"]
        text = client.get("/metrics", headers={"host": "localhost:8000"}).content.decode()
        lag = re.search(r"^gatepost_outbox_lag_seconds (\S+)$", text, re.MULTILINE)
        assert lag is not None
        assert 3600 < float(lag[1]) < 3700
        assert re.search(r"^gatepost_outbox_news [12]\.0$", text, re.MULTILINE)
        while spread():
            pass
        cursor.execute("UPDATE gp_delivery SET error = 'The endpoint answered 500.', attempts = 1")
        assert levels()["endpoint agent"] == "warning"
        cursor.execute("UPDATE gp_delivery SET failed_at = clock_timestamp()")
        assert levels()["endpoint agent"] == "wrong"
    assert queries.endpoint(ident, workspace=cast.workspace).failed >= 1
