"""Sign-in: a link works once, a password may not be guessed, demo people have their roles."""

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from checkpoints import queries
from checkpoints.chain import verify_workspace
from dashboard.operate.demo import demo

pytestmark = pytest.mark.django_db


@pytest.fixture
def logins(tmp_path: Path) -> dict[str, str]:
    path = tmp_path / "logins"
    demo.create_logins(path)
    demo.create_logins(path)  # a second start adds nothing
    lines = path.read_text().splitlines()
    assert len(lines) == len(demo.PEOPLE) == 6
    return dict(line.split() for line in lines)


def follow(browser: Client, link: str) -> Any:
    """Press the button of the page that the link opens."""
    return browser.post("/welcome/", {"sesame": link.partition("sesame=")[2]})


def test_the_button_of_a_link_carries_the_forms_token(logins: dict[str, str]) -> None:
    link = demo.login_path("operator")
    assert follow(Client(enforce_csrf_checks=True), link).status_code == 403
    assert Client().get(link).status_code == 200, "and nothing is used up by that"


def test_a_login_link_works_once(logins: dict[str, str]) -> None:
    link = demo.login_path("operator")
    browser = Client()
    for _ in range(3):  # programs that look at links in mails and chats do not use it up
        shown = browser.get(link)
        assert (shown.status_code, "Sign in" in shown.content.decode()) == (200, True)
        assert "_auth_user_id" not in browser.session
    assert follow(browser, link).status_code == 303
    assert browser.session["_auth_user_id"]
    assert Client().get(link).status_code == 403
    assert follow(Client(), link).status_code == 403
    assert Client().get("/welcome/?sesame=made-up").status_code == 403
    assert Client().get("/welcome/").status_code == 403


def test_a_new_link_does_not_follow_an_old_one(logins: dict[str, str]) -> None:
    first, second = demo.login_path("operator"), demo.login_path("operator")
    assert follow(Client(), first).status_code == 303
    assert Client().get(second).status_code == 403, "links of the same moment end together"


def test_demo_people_have_the_roles_of_their_names(logins: dict[str, str]) -> None:
    roles = {
        user.username: {role for _, _, role in queries.memberships(user.pk)}
        for user in get_user_model().objects.all()
    }
    assert roles == {
        "operator": {"operator"},
        "manager": {"reviewer"},
        "manager2": {"reviewer"},
        "manager3": {"reviewer"},
        "auditor": {"auditor"},
        "admin": {"admin"},
    }
    assert demo.logins_exist()


def test_making_the_demo_people_is_on_record(logins: dict[str, str]) -> None:
    workspace = queries.default_workspace()
    kinds = [row.kind for row in queries.workspace_events(workspace).rows]
    assert kinds.count("user.created") == kinds.count("role.granted") == len(demo.PEOPLE)
    assert kinds[-1] == "workspace.created"
    assert verify_workspace(workspace).intact
    assert not get_user_model().objects.filter(is_superuser=True).exists()


def test_guessing_a_password_is_stopped(logins: dict[str, str]) -> None:
    browser = Client()

    def sign_in(password: str) -> int:
        return browser.post("/login/", {"username": "manager", "password": password}).status_code

    answers = [sign_in(f"wrong-{number}") for number in range(9)]
    assert 429 in answers
    assert sign_in(logins["manager"]) == 429, "not even the right one, for a while"
    other = Client()
    other.post("/login/", {"username": "auditor", "password": logins["auditor"]})
    assert other.session["_auth_user_id"], "others are not locked out"
