"""Each form of the pages, by each of its buttons, sent twice and four times at once.

The forms are those that the pages show to people who may send them, filled as they come and where
they are empty by `FILLED`. The measure is the sequence, as for the changes of the API.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
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
# Answered otherwise than in turn, without harm: the second request reads what the first has not
# ended yet and is refused at the write, sets what stands already, or has lost its own login.
ANSWERED_OTHERWISE = (
    r"/account/password/",
    r"/account/sign-ins/.*",
    r"/account/second-factor/remove/",
    r"/admin/approvals/hookidentity/add/",
    r"/admin/auth/user/add/",
    r"/admin/auth/user/\d+/password/",
    r"/threads/.*/code/",
)


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
        if is_one_of(ANSWERED_OTHERWISE, one.address):
            assert set(result.events - expected.events) <= {"login.failed", "user.changed"}, about
            continue
        assert result.accepted == expected.accepted, about
        assert result.events == expected.events, about
        assert result.rows == expected.rows, about
    assert taken, "nobody could send a form of this page"


def is_one_of(patterns: Sequence[str], address: str) -> bool:
    return any(re.fullmatch(pattern, address) for pattern in patterns)
