"""Limits per address, account and token: counted, answered 429 with Retry-After, never believed."""

from __future__ import annotations

import re
import time
from collections import Counter
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings as conf
from django.test import Client, RequestFactory
from hypothesis import given
from hypothesis import strategies as st

from dashboard.identity import rate_limits, tokens
from dashboard.identity.client_address import client_address, limited_as
from dashboard.operate.demo.demo import login_path
from tests.support.cast import Cast
from tests.support.valkey_away import count_attempts

URL = "/api/v1/threads/?limit=1"


class Clock:
    """The clock of the limits: it stands, however long a test takes, and is moved by a call.

    It begins with a quarter of an hour.
    """

    def __init__(self) -> None:
        self.at = float(int(time.time() // rate_limits.QUARTER) * rate_limits.QUARTER + 3600)

    def time(self) -> float:
        return self.at

    def __call__(self, seconds: float) -> None:
        self.at += seconds


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(rate_limits, "time", made)
    return made


def token_of(cast: Cast, name: str) -> dict[str, str]:
    made = tokens.make(cast.users[name], made_by="test", scopes=["read"])[1]
    return {"Authorization": f"Bearer {made}"}


def ask_often(client: Client, times: int, **more: Any) -> Counter[int]:
    results: Counter[int] = Counter()
    for _ in range(times):
        answer = client.get(URL, **more)
        results[answer.status_code] += 1
        if answer.status_code == 429:
            assert 1 <= int(answer["Retry-After"]) <= rate_limits.MINUTE
            assert answer["Content-Type"] == "application/problem+json"
            assert answer.json()["type"] == "urn:gatepost:problem:too-many-requests"
    return results


def test_a_token_is_counted_by_itself(cast: Cast, settings: Any) -> None:
    settings.GATEPOST_API_PER_ACCOUNT = 7
    one, other = token_of(cast, "operator"), token_of(cast, "operator")
    assert ask_often(Client(), 10, headers=one) == {200: 7, 429: 3}
    assert ask_often(Client(), 8, headers=other) == {200: 7, 429: 1}
    assert ask_often(cast.client("operator"), 8) == {200: 7, 429: 1}, "the login is one of its own"
    assert ask_often(cast.client("manager"), 5) == {200: 5}


def test_each_answer_says_how_the_limits_stand(cast: Cast, settings: Any) -> None:
    """In the fields of the IETF draft: per address, token or login, and person."""
    settings.GATEPOST_API_PER_ADDRESS = 100
    settings.GATEPOST_API_PER_ACCOUNT, settings.GATEPOST_API_PER_PERSON = 3, 5
    one, other = token_of(cast, "operator"), token_of(cast, "operator")
    answer = Client().get(URL, headers=one)
    assert answer["RateLimit-Policy"] == (
        '"address";q=100;w=60, "token";q=3;w=60, "person";q=5;w=60'
    )
    shape = r'"address";r=99;t=\d+, "token";r=2;t=\d+, "person";r=4;t=\d+'
    assert re.fullmatch(shape, answer["RateLimit"])
    missing = Client().get(f"/api/v1/threads/{uuid4()}/", headers=one)
    assert (missing.status_code, '"token";r=1;' in missing["RateLimit"]) == (404, True)
    assert ask_often(Client(), 3, headers=one) == {200: 1, 429: 2}
    refused = Client().get(URL, headers=one)
    assert '"token";r=0;' in refused["RateLimit"]
    assert 1 <= int(refused["Retry-After"]) <= rate_limits.MINUTE
    assert ask_often(Client(), 3, headers=other) == {200: 2, 429: 1}, "all five of the person"
    assert ask_often(cast.client("operator"), 1) == {429: 1}
    login = cast.client("manager").get(URL)
    assert '"login";r=2;' in login["RateLimit"]


def test_an_answer_without_limits_names_none(cast: Cast) -> None:
    answer = cast.client("operator").get(URL)
    assert "RateLimit" not in answer
    assert "RateLimit-Policy" not in answer


def test_an_address_is_counted_whoever_it_says_it_is(cast: Cast, settings: Any) -> None:
    settings.GATEPOST_API_PER_ADDRESS = 6
    headers = token_of(cast, "operator")
    results: Counter[int] = Counter()
    for n in range(10):
        results += ask_often(Client(), 1, headers=headers | {"X-Forwarded-For": f"203.0.113.{n}"})
    assert results == {200: 6, 429: 4}
    assert ask_often(Client(), 3, headers=headers, REMOTE_ADDR="198.51.100.7") == {200: 3}


def test_a_proxy_of_ours_says_who_it_is(cast: Cast, settings: Any) -> None:
    settings.GATEPOST_API_PER_ADDRESS = 3
    settings.GATEPOST_TRUSTED_PROXIES = ["127.0.0.0/8", "10.0.0.0/8"]
    headers = token_of(cast, "operator")
    for n in range(4):
        chain = f"1.2.3.{n}, 203.0.113.{n}, 10.1.1.1"
        assert ask_often(Client(), 4, headers=headers | {"X-Forwarded-For": chain}) == {
            200: 3,
            429: 1,
        }
    # What the sender put in front of it is his own invention.
    for n in range(4):
        chain = f"9.9.9.{n}, 203.0.113.0"
        assert ask_often(Client(), 1, headers=headers | {"X-Forwarded-For": chain}) == {429: 1}


def test_strangers_are_counted_and_members_at_their_address_are_not(
    cast: Cast, settings: Any
) -> None:
    settings.GATEPOST_UNKNOWN_PER_ADDRESS = 5
    bad = {"Authorization": "Bearer gp_abcdefgh_" + "x" * 43}
    assert ask_often(Client(), 8, headers=bad) == {401: 5, 429: 3}
    assert ask_often(cast.client("manager"), 3) == {200: 3}


def test_deliveries_to_a_hook_are_counted(db: None, settings: Any) -> None:
    settings.GATEPOST_HOOK_PER_MINUTE = 4
    results: Counter[int] = Counter()
    for n in range(7):
        where = {"REMOTE_ADDR": f"203.0.113.{n}"}
        answer = Client().post(f"/api/v1/hooks/decide/?hook={uuid4()}", b"{}", "text/plain")
        other = Client().post("/api/v1/hooks/decide/?hook=same", b"{}", "text/plain", **where)
        results[answer.status_code] += 1
        results[other.status_code] += 10
    assert results == {404: 4 + 40, 429: 3 + 30}


def sign_in(name: str, password: str, *, browser: Client | None = None, **more: Any) -> Any:
    form = {"username": name, "password": password}
    return (browser or Client()).post("/login/", form, **more)


@pytest.mark.slow
def test_a_name_is_slowed_whatever_the_addresses_and_never_shut(cast: Cast, clock: Clock) -> None:
    """Guesses of a quarter of an hour stay bounded, and its person comes in within a minute."""
    known = Client()
    assert sign_in("manager", "manager-password", browser=known).status_code == 302
    known.post("/logout/")
    answers = [
        sign_in("manager", f"wrong-{n}", REMOTE_ADDR=f"203.0.113.{n % 250}").status_code
        for n in range(300)
    ]
    assert Counter(answers) == {401: 26, 429: 274}, "20, then 6 a minute"
    refused = sign_in("manager", "manager-password", REMOTE_ADDR="198.51.100.1")
    assert refused.status_code == 429
    assert 1 <= int(refused["Retry-After"]) <= rate_limits.MINUTE
    assert sign_in("operator", "operator-password").status_code == 302
    # A browser that signed in before, and a link, pass while it lasts.
    assert sign_in("manager", "manager-password", browser=known).status_code == 302
    token = {"sesame": login_path("manager").partition("sesame=")[2]}
    assert Client().post("/welcome/", token).status_code == 303
    # A minute later a new browser comes in as well, from an address that has not guessed.
    clock(rate_limits.MINUTE)
    answer = sign_in("manager", "manager-password", REMOTE_ADDR="198.51.100.7")
    assert answer.status_code == 302


@pytest.mark.slow
def test_guesses_of_a_quarter_of_an_hour_are_bounded(cast: Cast, clock: Clock) -> None:
    """From any number of addresses, as fast as can be; and each address has three when slowed."""
    counted: Counter[int] = Counter()
    pairs: Counter[str] = Counter()
    for minute in range(15):
        for n in range(12):
            address = f"203.0.{minute}.{n}"
            answer = sign_in("manager", "wrong", REMOTE_ADDR=address)
            counted[answer.status_code] += 1
            pairs[address] += answer.status_code == 401
        clock(rate_limits.MINUTE)
    assert counted[401] <= 20 + 15 * conf.GATEPOST_LOGINS_SLOWED
    assert max(pairs.values()) == 1


def test_a_known_browser_has_few_guesses_of_its_own(cast: Cast) -> None:
    """Whoever takes its cookie guesses as often as it may, from all copies together."""
    known = Client()
    sign_in("manager", "manager-password", browser=known)
    cookie = known.cookies["gatepost_known"].value
    assert "manager" not in cookie
    answers: Counter[int] = Counter()
    for n in range(40):
        copied = Client()
        copied.cookies["gatepost_known"] = cookie
        where = {"REMOTE_ADDR": f"203.0.113.{n}"}
        answers[sign_in("manager", "wrong", browser=copied, **where).status_code] += 1
    assert answers == {401: conf.GATEPOST_LOGINS_PER_BROWSER, 429: 30}
    # It is known for those who signed in with it: for others it is any browser.
    for n in range(30):
        copied = Client()
        copied.cookies["gatepost_known"] = cookie
        where = {"REMOTE_ADDR": f"198.51.100.{n}"}
        answers[sign_in("operator", "wrong", browser=copied, **where).status_code] += 1
    assert answers == {401: conf.GATEPOST_LOGINS_PER_BROWSER + 26, 429: 34}


@pytest.mark.parametrize("value", ["", "x", "a.b:c", "manager", "\x00", "x" * 5000])
def test_a_cookie_of_ones_own_making_is_none(cast: Cast, settings: Any, value: str) -> None:
    settings.GATEPOST_LOGINS_PER_ACCOUNT = 1
    results: Counter[int] = Counter()
    for _ in range(6):
        forged = Client()
        forged.cookies["gatepost_known"] = value
        results[sign_in("manager", "wrong", browser=forged).status_code] += 1
    assert results == {401: conf.GATEPOST_LOGINS_PER_PAIR, 429: 3}


def test_one_address_may_not_try_everybody_and_nobody_behind_it_is_shut_out(
    cast: Cast, settings: Any, clock: Clock
) -> None:
    """Beyond its limit an address has a limit a minute, and three for each name."""
    settings.GATEPOST_LOGINS_PER_ADDRESS = 10
    known = Client()
    assert sign_in("auditor", "auditor-password", browser=known).status_code == 302
    known.post("/logout/")
    answers = Counter(sign_in(f"name-{n}", "wrong").status_code for n in range(30))
    assert answers == {401: 20, 429: 10}
    assert sign_in("operator", "operator-password").status_code == 429
    assert sign_in("auditor", "auditor-password", browser=known).status_code == 302
    elsewhere = sign_in("operator", "operator-password", REMOTE_ADDR="203.0.113.9")
    assert elsewhere.status_code == 302
    clock(rate_limits.MINUTE)
    assert sign_in("operator", "operator-password").status_code == 302
    answers = Counter(sign_in("manager", "wrong").status_code for n in range(6))
    assert answers[401] == conf.GATEPOST_LOGINS_PER_PAIR


def test_an_invented_header_buys_no_guess(cast: Cast) -> None:
    answers = Counter(
        sign_in("manager", f"wrong-{n}", headers={"X-Forwarded-For": f"1.2.3.{n}"}).status_code
        for n in range(12)
    )
    assert answers[401] < conf.AXES_FAILURE_LIMIT
    assert answers[429] >= 12 - conf.AXES_FAILURE_LIMIT


def test_a_right_password_is_no_guess(cast: Cast, settings: Any) -> None:
    settings.GATEPOST_LOGINS_PER_ACCOUNT = settings.GATEPOST_LOGINS_PER_ADDRESS = 3
    for _ in range(10):
        assert sign_in("operator", "operator-password").status_code == 302


def test_without_valkey_each_process_counts_for_itself(
    cast: Cast, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = count_attempts(monkeypatch)
    settings.REDIS_URL = f"unix://{tmp_path}/nobody.sock"
    settings.GATEPOST_API_PER_ACCOUNT = 7
    headers = token_of(cast, "auditor")
    assert ask_often(Client(), 10, headers=headers) == {200: 7, 429: 3}
    assert len(attempts) == 1, "no further call waits for it"


def test_no_limit_is_none(cast: Cast, settings: Any) -> None:
    settings.GATEPOST_API_PER_ACCOUNT = settings.GATEPOST_API_PER_ADDRESS = 0
    assert ask_often(cast.client("operator"), 20) == {200: 20}


OURS = ("10.0.0.1", "10.255.3.4", "fd00::7")
THEIRS = ("203.0.113.1", "198.51.100.2", "2001:db8::1", "1.1.1.1")
NOISE = ("", "unknown", "10.0.0.1:80", "<script>", "_hidden", "::ffff", " ", "1.2.3")


@given(
    invented=st.lists(st.sampled_from(OURS + THEIRS + NOISE), max_size=4),
    sender=st.sampled_from(THEIRS),
    proxies=st.lists(st.sampled_from(OURS), min_size=1, max_size=3),
)
def test_the_address_is_that_of_who_spoke_to_the_outermost_proxy(
    invented: list[str], sender: str, proxies: list[str]
) -> None:
    """Proxies append whom they heard; whatever the sender wrote before that changes nothing."""
    *inner, nearest = proxies
    chain = ", ".join([*invented, sender, *inner])
    from django.test import override_settings

    with override_settings(GATEPOST_TRUSTED_PROXIES=["10.0.0.0/8", "fd00::/8"]):
        request = RequestFactory().get("/", headers={"X-Forwarded-For": chain}, REMOTE_ADDR=nearest)
        assert client_address(request) == sender
        direct = RequestFactory().get("/", headers={"X-Forwarded-For": chain}, REMOTE_ADDR=sender)
        assert client_address(direct) == sender


def test_an_ipv6_network_is_one_sender() -> None:
    assert limited_as("2001:db8:1:2::1") == limited_as("2001:db8:1:2:ffff::9")
    assert limited_as("2001:db8:1:2::1") != limited_as("2001:db8:1:3::1")
    assert limited_as("203.0.113.1") == "203.0.113.1"


def test_browsers_come_by_https_only_where_it_is_served(client: Client, settings: Any) -> None:
    settings.SECURE_HSTS_SECONDS = 31_536_000
    assert "Strict-Transport-Security" not in client.get("/healthz")
    answer = client.get("/healthz", secure=True)
    assert answer["Strict-Transport-Security"].startswith("max-age=31536000")
