"""docs/howto/notifications.md: endpoints, the settings of mail, news of each kind."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from approvals.notify.sender import Sender
from approvals.notify.texts import kinds
from dashboard.configuration import mail
from tests.contract.things import make_device
from tests.docs.performing import Performance
from tests.support.cast import Cast
from tests.unit.approvals import post
from tests.unit.approvals.conftest import loopback
from tests.unit.approvals.news import endpoint, tell
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard import scene

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loopback")]
__all__ = ["loopback"]


def test_endpoints_are_made_as_the_page_says(cast: Cast) -> None:
    howto = Performance("notifications", cast)
    scope: dict[str, Any] = {"scopes": ("read", "administer")}
    listed = howto.page("/admin/approvals/endpoint/", "admin")
    assert "Endpoints" in listed or "endpoint" in listed
    assert howto.run("./manage.py endpoint", "admin", more="list")["results"] == []
    made_mail = howto.call(
        "POST /api/v1/endpoints/",
        "admin",
        {"kind": "email", "name": "mail", "digest": 15},
        201,
        **scope,
    )
    shown = cast.client("admin").get(f"/admin/approvals/endpoint/{made_mail['id']}/change/")
    for button in ("Send a test message", "Its deliveries"):
        assert f"**{button}**" in howto.text
        assert button in shown.content.decode(), button
    push = howto.run("./manage.py endpoint create push phones", "admin")
    assert (push["kind"], push["name"]) == ("push", "phones")
    assert "Notify this device" in cast.client("operator").get("/subscriptions/").content.decode()
    device = make_device(cast, "operator")
    howto.run("device remove ID", "operator", ID=device)

    target = {"kind": "webhook", "name": "ci", "target": "https://ci.example.com/hook"}
    made = (
        howto.client("admin", ("administer",))
        .post("/api/v1/endpoints/", target, content_type="application/json")
        .json()
    )
    assert made["secret"].startswith("whsec_")
    start = "POST /api/v1/endpoints/{id}/rotate/"
    again = howto.call(start, "admin", {"overlap": 86400}, ID=made["id"], **scope)
    assert again["secret"] not in ("", made["secret"])
    # `doctor` names endpoints that fail, and says when the outbox is behind.
    with post.web_hook() as receiver:
        receiver.answers = [500] * 9
        endpoint(cast, "webhook", receiver.url, name="failing")
        row = scene.waiting(cast.workspace, scene.make_agent())
        tell(row, "approval.decided", outcome="approve")
        Sender().drain()
    tell(row)
    rows("UPDATE gp_outbox SET at = at - interval '1 hour' WHERE done_at IS NULL")
    report = json.loads(howto.run("./manage.py doctor", code=1).partition("\n}\n")[0] + "\n}")
    levels = {one["name"]: one["level"] for one in report["findings"]}
    assert levels["outbox"] in ("warning", "wrong"), levels
    assert levels["endpoint failing"] in ("warning", "wrong"), levels

    # The settings of mail, read as a process reads them.
    name, _, address = howto.unit("EMAIL_URL=").partition("=")
    assert name == "EMAIL_URL"
    options = mail.mailers(address, seconds=5)["default"]["OPTIONS"]
    assert (options["host"], options["port"], options["use_tls"]) == ("mail.example.com", 587, True)
    for start in ("GATEPOST_MAIL_FROM=", "GATEPOST_BASE_URL="):
        howto.unit(start)
    howto.complete({"import base64": "tests/unit/approvals/notify/test_notify_webhooks.py runs it"})


def test_each_kind_of_news_stands_on_the_page(cast: Cast) -> None:
    table = Performance("notifications", cast).text.partition("| news |")[2].partition("\n\n")[0]
    named = set(
        re.findall(
            r"`((?:approval|thread|budget|anchors|hot_store|steps|record|workers)\.\w+)`", table
        )
    )
    assert named == {kind for kind in kinds.NEWS if not kind.startswith("incident.")} | {
        *kinds.GOES_WITH
    }
