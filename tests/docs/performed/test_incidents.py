"""docs/howto/incidents.md: threads that fail alike, what people do about them, who hears of it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from approvals.incidents.sweep import sweep_incidents
from checkpoints import queries
from checkpoints.chain import verify_workspace
from dashboard.administration.endpoints import MAKE, MakeEndpoint
from tests.docs.performing import Performance
from tests.support.cast import Cast
from tests.unit.approvals.incidents import scenes

pytestmark = pytest.mark.django_db


def kinds(cast: Cast) -> list[str]:
    return [str(event.kind) for event in queries.workspace_events(cast.workspace, limit=9).rows]


def test_an_incident_is_looked_after(cast: Cast) -> None:
    page = Performance("incidents", cast)
    for number in (17, 4711):  # numbers in a reason make no difference
        scenes.fails(cast, f"pay: order {number} was refused", agent="payments")
    sweep_incidents()
    (incident,) = page.run("./manage.py incident list", "operator")["results"]
    assert (incident["kind"], incident["threads"]) == ("thread.failed", 2)
    assert incident["kind"] in re.findall(r"^\| `([a-z_.]+)` \| a thread", page.text, re.M)
    names: dict[str, Any] = {"ID": incident["id"]}
    listed = page.page("/incidents/", "operator")
    assert f"/incidents/{incident['id']}/" in listed
    shown = cast.client("operator").get(f"/incidents/{incident['id']}/").content.decode()
    taken = page.run("./manage.py incident take", "operator", **names)
    assert taken["taken_by"] == scenes.person(cast)
    assert kinds(cast)[0] == "incident.taken"
    snoozed = page.run("./manage.py incident snooze", "operator", **names)
    assert snoozed["snoozed_until"]
    shown += cast.client("operator").get(f"/incidents/{incident['id']}/").content.decode()
    for button in re.findall(r"^\| \*\*(.+?)\*\* \|", page.text, re.MULTILINE):
        assert button in shown, button
    assert page.run("./manage.py incident wake", "operator", **names)["snoozed_until"] is None
    closed = page.run("./manage.py incident close", "operator", **names)
    assert (closed["state"], kinds(cast)[0]) == ("closed", "incident.closed")
    # They stay as they are; the next one that fails alike opens another incident.
    scenes.fails(cast, "pay: order 99 was refused", agent="payments")
    sweep_incidents()
    (again,) = page.run("./manage.py incident list", "operator")["results"]
    assert again["id"] != incident["id"]
    assert verify_workspace(cast.workspace).intact

    # Subscriptions of people, of a team by an admin, by API, passed on, quiet hours.
    scenes.mail(cast)
    chat = MakeEndpoint(kind="webhook", name="chat", target="https://chat.example/in")
    MAKE.run(cast.actor("admin"), chat)
    cast.users["manager"].groups.create(name="payments")
    page.person("grace", "operator")
    start = "./manage.py subscription create --endpoint"
    made = page.run(f"{start} mail --kind", "operator")
    assert (set(made["kinds"]), made["agent"]) == (
        {"thread.failed", "thread.attention"},
        "payments",
    )
    assert page.run(f"{start} chat", "admin")["team"] == "payments"
    by_call = page.call("curl ", "operator", status=201, ENDPOINT=scenes.mail(cast))
    assert by_call["label"] == "team=eu"
    second = page.run(f"{start} mail --person grace", "admin")
    assert (second["person"], second["kinds"]) == (scenes.person(cast, "grace"), [])
    start, names = "./manage.py subscription change", {"ID": made["id"], "THAT_ID": second["id"]}
    refused = page.run(start, "operator", code=1, **names)
    assert "of you or your teams" in refused
    change = page.run(start, "admin", **names)
    assert (change["escalate_to"], change["escalate_minutes"]) == (second["id"], 15)
    quiet = page.run("./manage.py subscription quiet", "operator")
    assert (quiet["begins"], quiet["ends"], quiet["zone"]) == ("22:00", "07:00", "Europe/Berlin")
    assert verify_workspace(cast.workspace).intact
    page.complete()


def test_one_message_goes_to_who_subscribed(cast: Cast) -> None:
    scenes.subscribe(cast, kinds=["thread.failed"])
    cast.users["operator"].email = "operator@example.com"
    cast.users["operator"].save()
    for number in range(12):
        scenes.fails(cast, f"pay: order {number} was refused", agent="payments")
    sweep_incidents()
    page = Performance("incidents", cast)
    kinds_of_messages = set(
        re.findall(r"`(incident\.(?:opened|grew|reminded|escalated))`", page.text)
    )
    assert kinds_of_messages == {
        f"incident.{word}" for word in ("opened", "grew", "reminded", "escalated")
    }
    sent = [kind for kind, _ in scenes.deliveries()]
    assert sent.count("incident.opened") == 1, sent
    assert set(sent) <= kinds_of_messages
