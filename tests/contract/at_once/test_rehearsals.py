"""What waits for a second person is rehearsed first; others ask for it at the same time.

A rehearsal that is rolled back within a longer transaction gives its locks away.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from types import ModuleType
from typing import Any
from unittest.mock import patch

import pytest
from pytest_django import DjangoDbBlocker

from approvals.policies import changes as policies
from approvals.policies.drafts import Draft
from dashboard.kit import second_person
from dashboard.people.accounts import access_changes

from . import together
from .sequence import Outcome, Template, attempt, made_template
from .test_every_form import filled_forms


@pytest.fixture(scope="module")
def template(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Template]:
    with django_db_blocker.unblock(), made_template("gatepost_rehearsals") as made:
        policies.make(
            made.world.cast.workspace, Draft("Two", "operation == 'edit'"), actor="user:9"
        )
        yield made


def three(
    template: Template, who: str, room: ModuleType, send: Callable[[Any, int], Any]
) -> Outcome:
    """One rehearses, the second waits for its rows, the third comes after the rehearsal."""
    rehearse, ended = vars(room)["_rehearse"], vars(room)["_Rehearsed"]

    def hold_locks(_self: object) -> None:
        time.sleep(0.5)

    def slowly(*args: Any) -> None:
        rehearse(*args)
        time.sleep(0.5)

    def all_three() -> list[Any]:
        clients = [template.world.cast.client(who) for _ in range(3)]

        def late(n: int) -> Any:
            time.sleep(0.35 * n)
            return send(clients[n], n)

        return together([partial(late, n) for n in range(3)])

    with patch.object(room, "_rehearse", slowly), patch.object(ended, "__init__", hold_locks):
        return attempt(template, all_three)


@pytest.mark.slow
def test_accounts_asked_for_at_once_are_all_asked_for(template: Template) -> None:
    form = filled_forms(template.world, "admin", "/admin/auth/user/add/")[0]

    def send(browser: Any, n: int) -> Any:
        fields = {**form.fields, "username": f"newcomer{n}", "roles": "admin"}
        return browser.post(form.address, fields)

    result = three(template, "admin", access_changes, send)
    assert result.accepted.total() == 3, result.answers
    assert result.events["access.asked"] == 3 + 1  # one waits in the world already
    assert result.broken == []


@pytest.mark.slow
def test_operations_asked_for_at_once_are_all_asked_for(template: Template) -> None:
    world = template.world

    def send(client: Any, n: int) -> Any:
        return client.post(
            f"/api/v1/threads/{world.paused}/edit/",
            {"changes": {"goal": f"ice {n}"}, "reason": "asked"},
            content_type="application/json",
            headers={"Idempotency-Key": f"edit-{n}"},
        )

    before = three(template, "operator", second_person, lambda client, n: client.get("/healthz"))
    result = three(template, "operator", second_person, send)
    assert result.accepted.total() == 3, result.answers
    opened = result.events - before.events
    assert opened == {"approval.requested": 3}, opened
    assert result.broken == []
