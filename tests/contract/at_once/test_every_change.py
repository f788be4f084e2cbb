"""Each change of the API, sent twice and four times at once, comes out as sent one after the other.

The measure is the sequence: the same requests sent in turn, in a copy of the same world (see
`sequence`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from pytest_django import DjangoDbBlocker

from tests.contract.calls import example, send
from tests.contract.operations import operations

from . import in_turn, together
from .sequence import Template, attempt, made_template

CHANGES = sorted(name for name, one in operations().items() if one.method != "get")
# Refused by another sentence than in turn: the second request reads what the first has not ended
# yet, and is refused at the write. A code that is used up meanwhile counts as a wrong one.
REFUSED_LATER = {"second_factor_remove", "sign_ins_end", "threads_code"}
# Refused by the same sentence, at the write: the password was still right when the second request
# was checked, so it is no failed login. In turn it is one.
RIGHT_WHEN_CHECKED = {"sign_ins_password"}


@pytest.fixture(scope="module")
def template(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Template]:
    with django_db_blocker.unblock(), made_template("gatepost_at_once") as made:
        yield made


def sent(
    template: Template, name: str, n: int, sender: Callable[[list[Any]], list[Any]]
) -> list[Any]:
    """The answers of a change that is sent n times."""
    world, operation = template.world, operations()[name]
    call = example(world, operation)

    def once() -> Any:
        return send(world.cast.client(call.who[0]), operation, call)

    return sender([once] * n)


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_sent_at_once_is_as_sent_in_turn(template: Template, name: str, n: int) -> None:
    expected = attempt(template, partial(sent, template, name, n, in_turn))
    result = attempt(template, partial(sent, template, name, n, together))
    assert not any(status >= 500 for status, _ in result.answers), result.answers
    assert result.broken == expected.broken == []
    assert result.accepted == expected.accepted
    if name in REFUSED_LATER:
        assert set(result.events - expected.events) <= {"login.failed"}
        assert not expected.events - result.events
    elif name in RIGHT_WHEN_CHECKED:
        assert result.answers == expected.answers
        assert set(expected.events - result.events) <= {"login.failed"}
        assert not result.events - expected.events
    else:
        assert result.answers == expected.answers
        assert result.events == expected.events
        assert result.rows == expected.rows
        assert result.alike or not expected.alike
    documented = operations()[name].spec["responses"]
    assert {str(status) for status, _ in result.answers} <= set(documented)
