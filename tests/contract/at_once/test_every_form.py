"""Each form of the pages, by each of its buttons, sent twice and four times at once.

The forms are those that the pages show to people who may send them, filled as they come and where
they are empty by `FILLED`. The measure is the sequence, as for the changes of the API.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoDbBlocker

from tests.contract.things import code_of
from tests.contract.world import World

from . import in_turn, together
from .forms import Sending, sendings
from .sequence import Template, attempt, made_template

# {person: pages}; the names in braces are things of the world.
PAGES: dict[str, list[str]] = {
    "operator": [
        "/threads/new/?agent=research",
        "/threads/{queued}/",
        "/threads/{paused}/",
        "/threads/{failed}/",
        "/threads/{changed}/",
        "/threads/{inbox}/input/",
        "/threads/{ended}/fork/?checkpoint=1",
        "/threads/{ended}/rollback/?checkpoint=1",
        "/threads/{paused}/edit/",
        "/threads/{queued}/cancel/",
        "/threads/{asking[0]}/settle/?activity={asking[1]}",
        "/views/",
        "/views/new/",
        "/views/{view}/",
        "/subscriptions/",
        "/subscriptions/new/",
        "/subscriptions/{subscription}/",
        "/incidents/{incident}/",
        "/incidents/{taken}/",
        "/incidents/{snoozed}/",
        "/account/password/",
        "/account/sign-ins/",
        "/account/second-factor/",
        "/breakers/trip/?agent=nobody",
        "/breakers/{breaker}/release/?some=all",
        "/access/",
    ],
    "manager": [
        "/approvals/",
        "/approvals/{gate.id}/",
        "/approvals/{held.id}/",
        "/approvals/{gate.id}/hand-over/",
        "/deputies/",
    ],
    "admin": [
        "/access/",
        "/overview/budgets/",
        "/threads/{ended}/erase/",
        "/threads/{on_hold}/erase/",
        "/erasures/{erasure}/",
        "/admin/policies/",
        "/admin/policies/add/",
        "/admin/policies/{policy}/",
        "/admin/retention/",
        "/admin/mcp-servers/add/",
        "/admin/mcp-servers/{mcp}/",
        "/admin/mcp-servers/{mcp}/change/",
        "/admin/auth/user/add/",
        "/admin/auth/user/{viewer}/change/",
        "/admin/auth/user/{viewer}/password/",
        "/admin/approvals/hook/add/",
        "/admin/approvals/hook/{inbound}/change/",
        "/admin/approvals/hookidentity/add/",
        "/admin/approvals/endpoint/add/",
        "/admin/approvals/endpoint/{hook}/change/",
        "/admin/checkpoints/membership/add/",
        "/admin/checkpoints/workspace/{cast.workspace}/change/",
    ],
}
# What people write into fields that come empty, on any page and on some.
WRITTEN = {
    "comment": "seen twice",
    "f-goal": "ice",
    "f-message": "hello",
    "f-reason": "seen twice",
    "reason": "seen twice",
    "password": "{who}-password",
    "new_password": "another long password",
    "again": "another long password",
    "password1": "another long password",
    "password2": "another long password",
}
WRITTEN_ON = {
    "/account/second-factor/": {"code": "{code}"},
    "/admin/approvals/endpoint/add/": {"name": "Twice", "digest": "0"},
    "/admin/approvals/hook/add/": {"name": "twice"},
    "/admin/approvals/hookidentity/add/": {
        "hook": "{inbound}",
        "identity": "U2",
        "user": "{viewer}",
    },
    "/admin/auth/user/add/": {"username": "newcomer"},
    "/admin/auth/user/{viewer}/change/": {"first_name": "Vi"},
    "/admin/checkpoints/membership/add/": {"user": "{viewer}", "role": "operator"},
    "/admin/mcp-servers/add/": {"name": "twice", "url": "https://mcp.example/mcp"},
    "/admin/policies/": {"max_cost": "5.00"},
    "/admin/policies/add/": {"name": "Twice", "condition": "tool == 'mail'"},
    "/admin/retention/": {"days": "30"},
    "/overview/budgets/": {"max_cost": "5.00"},
    "/views/new/": {"name": "Twice", "address": "status=failed"},
}
# Fields that come with a value, and are given another.
CHANGED_ON = {
    "/admin/approvals/endpoint/{hook}/change/": {"name": "Twice"},
    "/admin/checkpoints/workspace/{cast.workspace}/change/": {"name": "Twice"},
    "/admin/policies/{policy}/": {"name": "Twice"},
    "/threads/{paused}/edit/": {"f-goal": "ice"},
    "/threads/{ended}/fork/?checkpoint=1": {"f-goal": "ice", "act": "fork"},
    "/views/{view}/": {"name": "Twice"},
}
# Forms of the frame of each page, and buttons that do the same as another one.
UNSENT = {"csrfmiddlewaretoken", "acts_in"}
LEFT_OUT = {"/logout/", "/workspace/"}
TWINS = {"_addanother", "_continue"}


@dataclass(frozen=True)
class Otherwise:
    """Why a form is answered otherwise than in turn; the tables and events that differ for it."""

    why: str
    tables: frozenset[str] = frozenset()
    events: frozenset[str] = frozenset()


FAILED = frozenset({"login.failed"})
ATTEMPTS = frozenset({"axes_accessattempt", "gp_workspace_event"})
ANSWERED_OTHERWISE = {
    r"/account/password/": Otherwise(
        "The first change ends this login: the others are refused for that, or for the former "
        "password, which counts as a failed try.",
        ATTEMPTS,
        FAILED,
    ),
    r"/account/sign-ins/.*": Otherwise(
        "The first request ends this very login or the one it names: the others are sent to sign "
        "in, or hear that there is none."
    ),
    r"/account/second-factor/remove/": Otherwise(
        "A code counts once: the others enter a used one, or find that there is no factor.",
        ATTEMPTS,
        FAILED,
    ),
    r"/admin/approvals/hookidentity/add/": Otherwise(
        "The form says that the word is taken where it has read so, else that it stands so."
    ),
    r"/admin/auth/user/add/": Otherwise(
        "The form says that the name is taken where it has read so, else the write says it."
    ),
    r"/admin/auth/user/\d+/password/": Otherwise(
        "In turn the second window has lost its session to the first change; at once each sets "
        "the password, on record, and the last one stands.",
        frozenset({"django_session", "gp_workspace_event"}),
        frozenset({"user.changed"}),
    ),
}


@pytest.fixture(scope="module")
def template(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Template]:
    with django_db_blocker.unblock(), made_template("gatepost_at_once_forms") as made:
        yield made


def filled(world: World, text: str, who: str) -> str:
    """Put things of the world in the place of their names."""
    users, code = world.cast.users, code_of(world.factor)
    return text.format(**vars(world), who=who, viewer=users["viewer"].pk, code=code)


def filled_forms(world: World, who: str, page: str) -> list[Sending]:
    """Each form of a page as a person sends it."""
    address = filled(world, page, who)
    answer = world.cast.client(who).get(address)
    assert answer.status_code == 200, (page, answer.status_code)
    written = WRITTEN | WRITTEN_ON.get(page, {})
    results: list[Sending] = []
    for one in sendings(answer.content.decode(), address):
        if one.address in LEFT_OUT or TWINS & one.fields.keys():
            continue
        fields = {name: values for name, values in one.fields.items() if name not in UNSENT}
        fields |= {
            name: [filled(world, written[name], who)] for name in one.empty if name in written
        }
        changed = CHANGED_ON.get(page, {})
        fields |= {name: [text] for name, text in changed.items() if name in fields}
        sending = replace(one, fields=fields)
        if sending not in results:
            results.append(sending)
    return results


def sent(
    template: Template, who: str, one: Sending, n: int, sender: Callable[[list[Any]], list[Any]]
) -> list[Any]:
    """The answers of a form that is sent n times, from as many windows of one browser."""
    windows = [template.world.cast.client(who) for _ in range(n)]
    return sender([partial(window.post, one.address, one.fields) for window in windows])


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize(
    ("who", "page_path"), [(w, p) for w, pages in PAGES.items() for p in pages]
)
def test_a_form_sent_at_once_is_as_sent_in_turn(
    template: Template, who: str, page_path: str, n: int
) -> None:
    forms = filled_forms(template.world, who, page_path)
    taken = 0
    for one in forms:
        expected = attempt(template, partial(sent, template, who, one, n, in_turn))
        result = attempt(template, partial(sent, template, who, one, n, together))
        about = (one.address, one.fields, result.answers, expected.answers)
        assert not any(status >= 500 for status, _ in result.answers), about
        assert result.broken == expected.broken == [], about
        taken += result.accepted.total()
        otherwise = reason_of(one.address)
        if otherwise is None:
            assert result.accepted == expected.accepted, about
        differ = (result.events - expected.events) + (expected.events - result.events)
        assert set(differ) <= (otherwise.events if otherwise else set()), about
        rows = {table for table, n_rows in result.rows.items() if n_rows != expected.rows[table]}
        assert rows <= (otherwise.tables if otherwise else set()), (*about, rows)
    assert taken, "nobody could send a form of this page"


# {how somebody signs in: (user name, password, whether a code follows)}
SIGN_INS = {
    "right": ("viewer", "viewer-password", False),
    "wrong": ("viewer", "wrong", False),
    "unknown": ("no-such-person", "wrong", False),
    "with a code": ("operator", "operator-password", True),
}


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize("how", SIGN_INS)
def test_sign_ins_at_once_are_as_in_turn(template: Template, how: str, n: int) -> None:
    """From as many browsers; a code that each of them enters lets one in."""
    name, password, needs_code = SIGN_INS[how]

    def sign_in(sender: Callable[[list[Any]], list[Any]]) -> list[Any]:
        browsers = [Client() for _ in range(n)]
        form = {"username": name, "password": password}
        answers = sender([partial(browser.post, "/login/", form) for browser in browsers])
        if needs_code:
            code = {"code": code_of(template.world.factor)}
            answers = sender([partial(b.post, "/login/code/", code) for b in browsers])
        return answers

    expected = attempt(template, partial(sign_in, in_turn))
    result = attempt(template, partial(sign_in, together))
    assert (result.answers, result.events) == (expected.answers, expected.events)
    # A success forgets the tries that failed before it, and not those after it.
    for one in (result, expected):
        one.rows.pop("axes_accessattempt")
    assert result.rows == expected.rows
    assert result.broken == expected.broken == []
    n_in = {"right": n, "with a code": 1}.get(how, 0)
    assert result.events["login.begun"] == expected.events["login.begun"]
    assert result.accepted.total() == n_in, result.answers


def reason_of(address: str) -> Otherwise | None:
    """Why a form of this address may be answered otherwise than in turn; None: it may not."""
    ones = (one for form, one in ANSWERED_OTHERWISE.items() if re.fullmatch(form, address))
    return next(ones, None)


@pytest.mark.slow
def test_each_exception_is_a_form_of_the_pages(template: Template) -> None:
    forms = {
        one.address
        for who, pages in PAGES.items()
        for page in pages
        for one in filled_forms(template.world, who, page)
    }
    for pattern in ANSWERED_OTHERWISE:
        assert any(re.fullmatch(pattern, address) for address in forms), pattern
