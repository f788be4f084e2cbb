"""Pages of incidents and notifications; each number is compared with one by plain SQL."""

from __future__ import annotations

import re
from html import escape, unescape
from typing import Any
from uuid import UUID

import pytest

from approvals.incidents import queries, quiet_hours
from approvals.incidents.sweep import sweep_incidents
from approvals.notify.texts.incident_kinds import ATTENTION, FAILED
from checkpoints import store
from dashboard.administration.subscriptions import CHANGE, ChangeSubscription
from tests.support.cast import Cast
from tests.unit.approvals.incidents.scenes import fails, incidents, mail, person, subscribe
from tests.unit.approvals.news import endpoint
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard import scene

pytestmark = pytest.mark.requirement("E01")


def get(cast: Cast, path: str, who: str = "operator", status: int = 200) -> str:
    answer = cast.client(who).get(path)
    assert answer.status_code == status, answer.content.decode()
    return answer.content.decode()


def post(cast: Cast, path: str, who: str = "operator", **form: Any) -> tuple[int, str]:
    answer = cast.client(who).post(path, form)
    return answer.status_code, answer.content.decode()


def words(html: str) -> str:
    """The text of a page on one line."""
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


@pytest.fixture
def many(cast: Cast) -> UUID:
    """Thirty threads that failed alike; one of them goes on."""
    threads = [fails(cast, f"publish: HTTP {n}") for n in range(30)]
    sweep_incidents()
    store.retry(threads[0], actor="user:1")
    sweep_incidents()
    return incidents(cast)[0].id


def test_the_list_and_the_page_say_what_sql_says(cast: Cast, many: UUID) -> None:
    fails(cast, "A person has to say what happened.", ATTENTION, agent="payments")
    sweep_incidents()
    [(threads, affected)] = rows(
        "SELECT count(*), count(*) FILTER (WHERE left_at IS NULL) FROM gp_incident_thread "
        "WHERE incident_id = %s",
        (many,),
    )
    assert (threads, affected) == (30, 29)
    [(opened,)] = rows("SELECT count(*) FROM gp_incident WHERE closed_at IS NULL")
    html = get(cast, "/incidents/")
    assert html.count('id="incident-') == opened == 2
    assert "29 of 30" in words(html)
    assert get(cast, "/incidents/?kind=thread.attention").count('id="incident-') == 1
    assert get(cast, "/incidents/?agent=research").count('id="incident-') == 1
    assert "No such incident" in get(cast, "/incidents/?state=closed")
    page = get(cast, f"/incidents/{many}/")
    assert "Affected 29 of 30" in words(page)
    newest = page[page.index('id="newest"') :]
    assert newest.count("/threads/") == 25
    assert "25 of 30" in words(page)
    assert f"{opened} open incidents, {opened} unassigned" in words(get(cast, "/"))


def test_a_person_takes_snoozes_and_closes_an_incident_by_page(cast: Cast, many: UUID) -> None:
    at = f"/incidents/{many}/"
    assert "Assign to me" in get(cast, at)
    assert "Assign to me" not in get(cast, at, "viewer")
    assert post(cast, f"{at}take/", "viewer")[0] == 403
    assert post(cast, f"{at}take/")[0] == 303
    for who in ("operator", "manager"):
        assert "Taken by operator" in words(get(cast, at, who))
    assert "1 open incident" in words(get(cast, "/"))
    assert "unassigned" not in words(get(cast, "/"))
    status, html = post(cast, f"{at}take/", "manager")
    assert (status, "This incident is assigned to somebody else." in html) == (409, True)
    assert post(cast, f"{at}give-back/")[0] == 303
    assert post(cast, f"{at}snooze/", hours="4")[0] == 303
    assert "Snoozed until" in get(cast, at)
    assert post(cast, f"{at}snooze/", hours="9999")[0] == 422
    for verb, form in (("snooze", {"hours": "soon"}), ("close", {"reason": " "})):
        status, html = post(cast, f"{at}{verb}/", **form)
        assert (status, f'href="{at}"' in html) == (422, True)
        assert ("must be a whole number" if verb == "snooze" else "is required") in html
        assert post(cast, f"{at}{verb}/", "viewer", **form)[0] == 403
    assert post(cast, f"{at}close/", "admin", reason="known since Monday")[0] == 303
    page = get(cast, at)
    assert "“known since Monday”" in page
    assert "Reason to close" not in page
    assert queries.incident(many, workspace=cast.workspace).state == "closed"
    assert post(cast, f"{at}take/")[0] == 409


@pytest.mark.parametrize(
    ("verb", "form", "opposite"),
    [
        ("take", {}, "give-back"),
        ("give-back", {}, "take"),
        ("snooze", {"hours": "4"}, "wake"),
        ("wake", {}, ""),
        ("close", {"reason": "known"}, ""),
    ],
)
def test_what_a_message_says_is_taken_back_by_its_button(
    cast: Cast, many: UUID, verb: str, form: dict[str, str], opposite: str
) -> None:
    at, client = f"/incidents/{many}/", cast.client("operator")
    if verb == "give-back":
        client.post(f"{at}take/")
    if verb == "wake":
        client.post(f"{at}snooze/", {"hours": "4"})
        assert "End the snooze" in get(cast, at)
    client.get(at)
    before = queries.incident(many, workspace=cast.workspace)
    html = client.post(f"{at}{verb}/", form, follow=True).content.decode()
    toast = html[html.index('id="toasts"') : html.index('<main id="main"')]
    assert re.findall(r'action="([^"]*)"', toast) == ([f"{at}{opposite}/"] if opposite else [])
    if opposite:
        assert f'name="next" value="{at}"' in toast
        assert client.post(f"{at}{opposite}/").status_code == 303
        after = queries.incident(many, workspace=cast.workspace)
        assert (after.state, after.taken_by) == (before.state, before.taken_by)


def test_a_paused_thread_is_resumed_by_the_button_of_the_message(cast: Cast) -> None:
    thread = scene.start(cast.workspace, scene.make_agent())
    client, at = cast.client("operator"), f"/threads/{thread}/"
    for verb, opposite in (("pause", "resume"), ("resume", "pause")):
        html = client.post(f"{at}{verb}/", follow=True).content.decode()
        toast = html[html.index('id="toasts"') : html.index('<main id="main"')]
        assert re.findall(r'action="([^"]*)"', toast) == [f"{at}{opposite}/"]


def test_incidents_of_other_workspaces_do_not_exist(cast: Cast, many: UUID) -> None:
    assert "incident-" not in get(cast, "/incidents/", "stranger")
    get(cast, f"/incidents/{many}/", "stranger", status=404)
    for verb in ("take", "give-back", "close"):
        assert post(cast, f"/incidents/{many}/{verb}/", "stranger", reason="x")[0] == 404


def form(cast: Cast, **more: Any) -> dict[str, Any]:
    return {"endpoint": str(mail(cast)), "kinds": [FAILED], "agent": "", "label": "", **more}


def test_a_person_subscribes_by_page_and_changes_and_removes_it(cast: Cast) -> None:
    assert "No endpoint sends to people yet" in get(cast, "/subscriptions/")
    mail(cast)
    assert get(cast, "/subscriptions/new/").count('name="kinds"') == 7
    status, html = post(cast, "/subscriptions/new/", **form(cast, label="no equals sign"))
    assert (status, "Is written key=value" in html or "key=value" in html) == (422, True)
    assert post(cast, "/subscriptions/new/", **form(cast, label="team=eu"))[0] == 303
    [row] = queries.subscriptions(workspace=cast.workspace)
    assert (row.person, row.kinds, row.label) == (person(cast), [FAILED], "team=eu")
    at = f"/subscriptions/{row.id}/"
    assert "label team=eu" in words(get(cast, "/subscriptions/"))
    get(cast, at, "manager", status=404)
    assert post(cast, at, "manager", **form(cast))[0] == 404
    assert post(cast, at, **form(cast, kinds=[FAILED, ATTENTION], urgent="1"))[0] == 303
    row = queries.subscription(row.id, workspace=cast.workspace)
    assert (row.kinds, row.label, row.urgent) == ([ATTENTION, FAILED], "", True)
    assert post(cast, f"{at}remove/")[0] == 303
    assert queries.subscriptions(workspace=cast.workspace) == []


def test_a_change_keeps_what_somebody_else_has_set_meanwhile(cast: Cast) -> None:
    other = subscribe(cast)
    made = subscribe(cast, kinds=[FAILED], escalate_to=other, escalate_minutes=30)
    at = f"/subscriptions/{made}/"
    (opened,) = re.findall(r'name="opened" value="([^"]*)"', get(cast, at))
    wanted = ChangeSubscription(kinds=[ATTENTION], agent="payments")
    CHANGE.run(cast.actor("operator"), wanted, made)
    sent = form(cast, urgent="1", escalate_to=str(other), escalate_minutes="30")
    assert post(cast, at, **sent, opened=unescape(opened))[0] == 303
    row = queries.subscription(made, workspace=cast.workspace)
    assert (row.kinds, row.agent, row.urgent) == ([ATTENTION], "payments", True)
    assert (row.escalate_to, row.escalate_minutes) == (other, 30)
    # Nobody, but after some minutes: nothing says which of the two is meant.
    status, html = post(cast, at, **form(cast, escalate_to="", escalate_minutes="30"))
    assert status == 422
    beside = html.partition('id="escalate_minutes-hint"')[2].partition("</p>")[0]
    assert "must be empty where nobody is escalated to." in beside
    assert post(cast, at, **form(cast, escalate_to="", escalate_minutes=""))[0] == 303
    row = queries.subscription(made, workspace=cast.workspace)
    assert (row.escalate_to, row.escalate_minutes) == (None, 0)


def test_only_admins_choose_for_others_and_chats(cast: Cast) -> None:
    chat = endpoint(cast, "webhook", target="https://agent.example/in", name="chat")
    mail(cast)
    assert "chat" not in get(cast, "/subscriptions/new/")
    assert post(cast, "/subscriptions/new/", **form(cast, endpoint=str(chat)))[0] == 403
    made = form(cast, endpoint=str(chat), person="operator")
    assert post(cast, "/subscriptions/new/", "admin", **made)[0] == 303
    [row] = queries.subscriptions(workspace=cast.workspace)
    assert (row.person, row.channel) == (person(cast), "webhook")
    assert "operator" in words(get(cast, "/subscriptions/?everybody=1", "auditor"))
    get(cast, "/subscriptions/?everybody=1", "operator", status=403)


def test_quiet_hours_by_page(cast: Cast) -> None:
    at = "/subscriptions/quiet-hours/"
    assert post(cast, at, begins="22:00", ends="07:00", zone="Europe/Berlin")[0] == 303
    row = quiet_hours.of_person(cast.workspace, person(cast))
    assert row is not None
    assert row.zone == "Europe/Berlin"
    assert "Now: 22:00 to 07:00, Europe/Berlin." in words(get(cast, "/subscriptions/"))
    for name, wrong in (("begins", "25:00"), ("ends", ""), ("zone", "Ma<rs"), ("zone", "")):
        form = {"begins": "21:00", "ends": "06:00", "zone": "Europe/Paris", name: wrong}
        status, html = post(cast, at, **form)
        assert (status, html.count('aria-invalid="true"')) == (422, 1), name
        assert 'class="err"' in html.partition(f'id="{name}-hint"')[2].partition("</p>")[0]
        for field, text in form.items():
            drawn = html.partition(f'<input id="{field}"')[2].partition(">")[0]
            assert f'value="{escape(text)}"' in drawn
    assert post(cast, at, do="end")[0] == 303
    assert quiet_hours.of_person(cast.workspace, person(cast)) is None


def test_words_of_agents_are_text(cast: Cast) -> None:
    fails(cast, "<script>alert('x')</script> \u202eabc")
    sweep_incidents()
    [incident] = incidents(cast)
    for path in ("/incidents/", f"/incidents/{incident.id}/"):
        html = get(cast, path)
        assert "<script>alert" not in html
        assert "\u202e" not in html
    assert subscribe(cast)
