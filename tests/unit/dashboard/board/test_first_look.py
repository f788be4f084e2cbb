"""What only the users of a demo see, and what only those who decide have in their tab."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.test import Client

from dashboard.identity.demo_people import MAIL_DOMAIN
from tests.support.cast import Cast


def test_a_demo_shows_what_to_try_first(cast: Cast) -> None:
    user = cast.users["operator"]
    client = cast.client("operator")
    assert "Your first minute" not in client.get("/").content.decode()
    user.email = f"operator@{MAIL_DOMAIN}"
    user.save()
    html = client.get("/").content.decode()
    assert "Your first minute" in html
    assert "as manager: the terminal has a link" in html
    assert "Your first minute" not in client.get("/?status=failed").content.decode()


def test_the_tab_counts_for_those_who_decide(manager: Client, operator: Client) -> None:
    assert "js/count.js" in manager.get("/").content.decode()
    html = operator.get("/").content.decode()
    assert "js/count.js" not in html
    assert '<nav aria-label="Main">' in html


def test_a_thread_that_succeeded_begins_with_what_it_did(lived_here: Any, cast: Cast) -> None:
    bench, thread = lived_here
    bench.decide(thread, "approve", "fine")
    row = bench.advance(thread)
    assert row.status == "succeeded"
    user = get_user_model()._default_manager.get(username="carrier")
    client = Client()
    client.force_login(user, "dashboard.identity.backends.Passwords")
    html = client.get(f"/threads/{thread}/").content.decode()
    note = html[html.index('id="outcome"') :].partition("</div>")[0]
    assert note.count("<li>") == 1, "what was undone is not one of it"
    assert "order.place" in note
    earlier = bench.checkpoint(thread, 1).id
    assert 'id="outcome"' not in client.get(f"/threads/{thread}/?cp={earlier}").content.decode()
