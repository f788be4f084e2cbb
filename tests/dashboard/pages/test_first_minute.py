"""What only the users of a demo see, and what only those who decide have in their tab."""

from __future__ import annotations

from django.test import Client

from dashboard.embedded import demo
from tests.cast import Cast


def test_a_demo_shows_what_to_try_first(cast: Cast) -> None:
    user = cast.users["operator"]
    client = cast.client("operator")
    assert "Your first minute" not in client.get("/").content.decode()
    user.email = f"operator@{demo.MAIL_DOMAIN}"
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
