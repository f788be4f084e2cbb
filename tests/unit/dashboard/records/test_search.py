"""The search of the records: filters, links to the very checkpoint, exports, who may."""

from __future__ import annotations

import html
import io
import re
import zipfile

import pytest
from django.test import Client
from django.urls import reverse

from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard.records.exports.population import populate

pytestmark = pytest.mark.django_db
SEARCH = "/admin/search/"


def search_page(client: Client, query: str, *, status: int = 200) -> str:
    answer = client.get(f"{SEARCH}?{query}")
    assert answer.status_code == status, answer.content
    return html.unescape(answer.content.decode())


@pytest.mark.requirement("D04")
def test_who_let_a_payment_happen_is_one_search(cast: Cast) -> None:
    requests = populate(cast)
    page = search_page(cast.client("auditor"), "q=acme&kind=approval&decision=approve")
    assert "1\n        event" in page
    assert "manager" in page
    assert "151,781.50" in page
    assert "to ACME GmbH" in page
    # The thread as it was then, with the event opened.
    (seq,) = rows(
        "SELECT seq FROM gp_event WHERE thread_id = %s::uuid AND kind = 'approval.decided'",
        (requests[0].thread,),
    )[0]
    assert f"/threads/{requests[0].thread}/?cp=1&event={seq}#event-{seq}" in page
    assert reverse("approval_report", args=[requests[0].id]) in page
    at = cast.client("auditor").get(f"/threads/{requests[0].thread}/?cp=1&event={seq}")
    assert at.status_code == 200


@pytest.mark.requirement("D04")
@pytest.mark.requirement("A28")
def test_filters_of_the_page(cast: Cast) -> None:
    populate(cast)
    client = cast.client("auditor")
    for query, kinds in (
        ("agent=research&kind=thread", {"thread.started", "thread.suspended"}),
        ("actor=manager", {"approval.decided"}),
        ("kind=effect", {"effect.started", "effect.finished"}),
        ("node=analyse&step=1&kind=all", {"checkpoint.committed"}),
        ("tool=bank.pay&risk=high", {"approval.requested", "approval.decided"}),
        ("payee=globex&amount_to=12", {"approval.requested", "approval.decided"}),
        ("until=2020-01-01", set()),
        ("since=2020-01-01&kind=approval.decided", {"approval.decided"}),
    ):
        page = search_page(client, query)
        shown = set(re.findall(r"<code>([a-z]+\.[a-z_]+)</code>", page)) - {"bank.pay"}
        assert shown == kinds, query
    for query in ("step=x", "since=yesterday", "kind=nonsense", "amount_from=lots"):
        page = search_page(client, query, status=422)
        assert f"{query.partition('=')[0]}:" in page
    search_page(client, "agnet=research", status=422)


@pytest.mark.requirement("D04")
def test_an_export_by_the_page_is_recorded(cast: Cast) -> None:
    populate(cast)
    client = cast.client("auditor")
    assert "form=csv" in search_page(client, "q=acme")
    answer = client.get(f"{SEARCH}export/?q=acme&form=csv")
    with zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content))) as packed:  # type: ignore[attr-defined]
        assert "events.csv" in packed.namelist()
    log = client.get("/admin/checkpoints/workspaceevent/").content.decode()
    assert "export.begun" in log
    assert "started an export of events as csv" in log
    assert "record.exported" in log
    assert "exported 2 events" in log


def test_who_may_search_and_export(cast: Cast) -> None:
    requests = populate(cast)
    admin = cast.client("admin")
    assert "form=csv" not in search_page(admin, "q=acme")
    assert admin.get(f"{SEARCH}export/?form=csv").status_code == 403
    for who in ("viewer", "operator", "manager"):
        assert cast.client(who).get(SEARCH).status_code == 403
    # Another workspace's auditor finds nothing, whatever they name.
    stranger = cast.client("stranger")
    for query in ("q=acme", f"thread={requests[0].thread}", "kind=all"):
        assert "ACME" not in search_page(stranger, query).replace('value="acme"', "")
    result = cast.client("viewer").get("/api/v1/records/?q=acme").json()
    assert result["count"] == 2
    assert cast.client("viewer").get("/api/v1/records/export/").status_code == 403
    assert stranger.get(f"/api/v1/records/?thread={requests[0].thread}").json()["count"] == 0
