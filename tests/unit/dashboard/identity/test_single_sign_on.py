"""The whole code flow: a real web process, a real provider of OpenID Connect, real redirects."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import httpx
import pytest
from django.conf import settings
from django.contrib.auth import get_user_model
from pytest_django import DjangoDbBlocker
from websockets.sync.client import connect
from websockets.typing import Origin

from checkpoints import queries, store
from checkpoints.chain import verify_workspace
from dashboard.identity import tokens
from dashboard.people.accounts.accounts import change_account
from dashboard.people.sso import identities
from tests.conftest import real_database
from tests.faults.web import Web
from tests.support.cast import Cast, make_cast
from tests.unit.dashboard.live.following import Follower

from .provider import Provider, provider

pytestmark = [pytest.mark.slow, pytest.mark.requirement("G07")]
GROUPS = {
    "ops": {"roles": ["operator"], "teams": ["payments"]},
    "leads": [{"roles": ["reviewer"]}, {"workspace": "elsewhere", "roles": ["auditor"]}],
}


@dataclass
class House:
    """The web process, the provider that it trusts, and the people who are there already."""

    web: Web
    provider: Provider
    cast: Cast

    def browser(self) -> httpx.Client:
        return httpx.Client(base_url=self.web.address, timeout=20)

    def come_back(self, http: httpx.Client, sub: str, *, next_url: str = "") -> httpx.Response:
        """The answer of our callback to somebody who agreed at the provider."""
        page = http.get("/login/", params={"next": next_url} if next_url else {})
        (href,) = re.findall(r'href="(/sso/[^"]*)"', page.text)
        there = http.get(href)
        assert there.status_code == 302, there.text
        return http.get(self.agree(there.headers["Location"], sub))

    def agree(self, address: str, sub: str) -> str:
        """The address that the provider sends somebody to who agrees."""
        assert address.startswith(f"{self.provider.issuer}/oauth2/authorize?")
        answer = httpx.post(address, data={"sub": sub})
        assert answer.status_code == 302, answer.text
        return answer.headers["Location"]

    def roles(self, name: str) -> set[tuple[str, str]]:
        user = get_user_model().objects.get(username=name)
        return {(workspace, role) for _, workspace, role in queries.memberships(user.pk)}

    def events(self) -> list[tuple[str, str]]:
        rows = queries.workspace_events(self.cast.workspace, limit=100).rows
        return [(str(row.kind), row.actor) for row in reversed(rows)]

    def sound(self, *places: UUID) -> bool:
        return all(verify_workspace(p).intact for p in places or [self.cast.workspace])


@pytest.fixture(scope="module")
def house(
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[House]:
    folder: Path = tmp_path_factory.mktemp("sso")
    (folder / "groups.json").write_text(json.dumps(GROUPS, indent=2))
    (folder / "secret").write_text("hush-hush-hush\n")
    with (
        django_db_blocker.unblock(),
        real_database("gatepost_test_sso"),
        provider() as other_side,
    ):
        cast = make_cast()
        web = Web(
            folder,
            GATEPOST_OIDC_ISSUER=other_side.issuer,
            GATEPOST_RECHECK_SECONDS="600",  # who leaves is told at once, or not in this test
            GATEPOST_OIDC_CLIENT_ID="gatepost",
            GATEPOST_OIDC_CLIENT_SECRET_FILE=str(folder / "secret"),
            GATEPOST_OIDC_NAME="Acme",
            GATEPOST_GROUPS_FILE=str(folder / "groups.json"),
            GATEPOST_PASSWORDS="off",
        ).wait_ready()
        try:
            yield House(web, other_side, cast)
        finally:
            web.kill()


def test_groups_become_roles_and_are_looked_at_again_at_each_sign_in(house: House) -> None:
    house.provider.person(
        "sub-ada",
        preferred_username="ada",
        email="ada@example.com",
        given_name="Ada",
        groups=["ops", "leads"],
    )
    with house.browser() as http:
        answer = house.come_back(http, "sub-ada", next_url="/approvals/")
        assert (answer.status_code, answer.headers["Location"]) == (303, "/approvals/")
        assert http.get("/approvals/").status_code == 200
        assert "hush-hush" not in answer.text
    assert house.provider.proved()
    everything = {("default", "operator"), ("default", "reviewer"), ("elsewhere", "auditor")}
    assert house.roles("ada") == everything
    house.provider.person("sub-ada", preferred_username="renamed", groups=["ops"])
    with house.browser() as http:
        assert house.come_back(http, "sub-ada").status_code == 303
    assert house.roles("ada") == {("default", "operator")}
    assert ("role.withdrawn", "sso:localhost") in house.events()
    assert house.sound(house.cast.workspace, house.cast.elsewhere)


def test_who_has_no_group_reads_why_and_gets_nothing(house: House) -> None:
    house.provider.person("sub-eve", preferred_username="eve", groups=["hikers"])
    with house.browser() as http:
        answer = house.come_back(http, "sub-eve")
        assert answer.status_code == 403
        assert "none of your groups opens Gatepost" in answer.text
        assert "hikers" in answer.text
        assert "script-src &#x27;self&#x27;" not in answer.text
        assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
        assert http.get("/").status_code == 302
    assert not get_user_model().objects.filter(username="eve").exists()


def test_a_state_works_once_and_for_its_own_browser_only(house: House) -> None:
    house.provider.person("sub-bob", preferred_username="bob", groups=["ops"])
    with house.browser() as bob, house.browser() as mallory:
        back = house.agree(bob.get("/sso/").headers["Location"], "sub-bob")
        assert mallory.get(back).status_code == 403
        assert bob.get(back).status_code == 303
        assert bob.get(back).status_code == 403
        (state,) = parse_qs(urlsplit(back).query)["state"]
        assert bob.get("/sso/callback/", params={"state": state, "code": "x"}).status_code == 403
        assert bob.get("/").status_code == 200
    with house.browser() as http:
        start = http.get("/sso/").headers["Location"]
        (state,) = parse_qs(urlsplit(start).query)["state"]
        refused = http.get("/sso/callback/", params={"error": "access_denied", "state": state})
        assert refused.status_code == 403
        assert "did not agree" in refused.text


@pytest.mark.parametrize("n", [2, 4])
def test_of_n_ways_back_by_one_state_one_signs_in(house: House, n: int) -> None:
    """The same address, opened n times at the same moment in one browser."""
    house.provider.person(sub := f"sub-back-{n}", preferred_username=f"back{n}", groups=["ops"])
    with house.browser() as http:
        there = http.get("/sso/")
        back = house.agree(there.headers["Location"], sub)
        cookies = dict(http.cookies)

        def come_back(_: int) -> httpx.Response:
            with httpx.Client(base_url=house.web.address, timeout=20, cookies=cookies) as window:
                return window.get(back)

        with ThreadPoolExecutor(n) as pool:
            statuses = [answer.status_code for answer in pool.map(come_back, range(n))]
    assert statuses.count(303) == 1, statuses
    assert all(status == 303 or 400 <= status < 500 for status in statuses), statuses
    assert house.roles(f"back{n}") == {("default", "operator")}
    assert house.sound()


@pytest.mark.parametrize("n", [2, 4])
def test_a_newcomer_in_n_browsers_at_once_is_one_account(house: House, n: int) -> None:
    house.provider.person(sub := f"sub-new-{n}", preferred_username=f"new{n}", groups=["ops"])

    def sign_in(_: int) -> int:
        with house.browser() as http:
            return house.come_back(http, sub).status_code

    with ThreadPoolExecutor(n) as pool:
        statuses = list(pool.map(sign_in, range(n)))
    assert set(statuses) == {303}, statuses
    assert get_user_model().objects.filter(username__startswith=f"new{n}").count() == 1
    assert house.roles(f"new{n}") == {("default", "operator")}
    assert house.sound()


def test_no_address_of_others_is_where_a_sign_in_ends(house: House) -> None:
    house.provider.person("sub-cy", preferred_username="cy", groups=["ops"])
    with house.browser() as http:
        start = http.get("/sso/", params={"next": "https://evil.example.com/"})
        answer = http.get(house.agree(start.headers["Location"], "sub-cy"))
        assert answer.headers["Location"] == "/"


def test_a_local_account_is_not_taken_over_by_its_name(house: House) -> None:
    house.provider.person("sub-x", preferred_username="admin", groups=["ops"])
    with house.browser() as http:
        answer = house.come_back(http, "sub-x")
    assert answer.status_code == 409
    assert "user link admin --subject sub-x" in answer.text
    assert house.roles("admin") == {("default", "admin")}
    identities.link(house.cast.users["admin"], house.provider.issuer, "sub-x", actor="command:user")
    house.provider.person("sub-x", preferred_username="admin", groups=["leads"])
    with house.browser() as http:
        answer = house.come_back(http, "sub-x")
    assert answer.status_code == 409  # nobody else is left who could give roles
    assert house.roles("admin") == {("default", "admin")}


def test_claims_that_cannot_be_stored_are_left_out(house: House) -> None:
    house.provider.person(
        "sub-odd",
        preferred_username="odd",
        email="admin@example.com",
        email_verified=False,
        given_name="a\0b",
        family_name="\r\nBcc: eve@example.com",
        groups="ops",
    )
    with house.browser() as http:
        assert house.come_back(http, "sub-odd").status_code == 303
    user = get_user_model().objects.get(username="odd")
    assert (user.email, user.first_name) == ("", "")
    assert "\n" not in user.last_name
    assert house.roles("odd") == {("default", "operator")}
    for name in ("o\0dd", "ODD", "\ufdfa" * 20):
        house.provider.person("sub-other", preferred_username=name, groups=["ops", 7, "a\0"])
        with house.browser() as http:
            assert house.come_back(http, "sub-other").status_code in (403, 409, 422), name
    assert house.sound()


def test_passwords_are_off_and_a_one_time_link_is_the_other_way_in(house: House) -> None:
    from sesame.utils import get_query_string

    with house.browser() as http:
        page = http.get("/login/")
        assert "Sign in with Acme" in page.text
        assert "password" not in page.text.lower()
        (token,) = set(re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text))
        form = {"username": "admin", "password": "x", "csrfmiddlewaretoken": token}
        assert http.post("/login/", data=form).status_code == 403
        link = get_query_string(house.cast.users["operator"]).removeprefix("?sesame=")
        page = http.get("/welcome/", params={"sesame": link})
        form = {"sesame": link, "csrfmiddlewaretoken": http.cookies["csrftoken"]}
        assert http.post("/welcome/", data=form).status_code == 303
        assert http.get("/").status_code == 200


def test_who_leaves_the_directory_loses_the_open_page_at_once(house: House) -> None:
    """Not with the round that looks at all logins every eight seconds."""
    house.provider.person("sub-dan", preferred_username="dan", groups=["ops"])
    change_account(
        root := get_user_model().objects.create_user("root"),
        {"is_superuser": True},
        actor="user:0",
        workspace=house.cast.workspace,
    )
    store.grant(house.cast.workspace, root.pk, "admin", actor="user:0")
    _, token = tokens.make(root, made_by="user:0", scopes=["scim"])
    directory = httpx.Client(
        base_url=f"{house.web.address}/scim/v2", headers={"Authorization": f"Bearer {token}"}
    )
    with directory, house.browser() as http:
        made = directory.post("/Users", json={"userName": "dan", "externalId": "00u4"}).json()
        group = {"displayName": "ops", "members": [{"value": made["id"]}]}
        assert directory.post("/Groups", json=group).status_code == 201
        assert house.come_back(http, "sub-dan").status_code == 303
        assert house.roles("dan") == {("default", "operator")}
        key = http.cookies[settings.SESSION_COOKIE_NAME]
        address = house.web.address.replace("http://", "ws://")
        with connect(
            f"{address}/ws/live/",
            origin=Origin(house.web.address),
            additional_headers={"Cookie": f"{settings.SESSION_COOKIE_NAME}={key}"},
            compression=None,
            proxy=None,
        ) as line:
            page = Follower(line, {"board": (["board-lanes"], 0)})
            page.frame()
            leaves = {"Operations": [{"op": "replace", "path": "active", "value": False}]}
            answer = directory.patch(f"/Users/{made['id']}", json=leaves)
            assert (answer.status_code, answer.json()["active"]) == (200, False)
            code, _ = page.closed(seconds=60)
            assert code == 4401
        assert http.get("/").status_code == 302
        assert house.come_back(http, "sub-dan").status_code == 403
    assert house.sound(house.cast.workspace)
