"""Each change of the API, sent twice and four times at once, comes out as sent one after the other.

The measure is the sequence: the same requests sent in turn, in a copy of the same world. Together
they must give the same statuses and problems, the same rows in each table and the same events, no
5xx, and logs that verify.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection, connections
from pytest_django import DjangoDbBlocker

from checkpoints import chain
from tests.cast import make_cast
from tests.conftest import real_database
from tests.contract.calls import example, send
from tests.contract.operations import operations
from tests.contract.world import World, make_world

from . import together

CHANGES = sorted(name for name, one in operations().items() if one.method != "get")
# Refused by another sentence than in turn: the second request reads what the first has not ended
# yet, and is refused at the write. A code that is used up meanwhile counts as a wrong one.
REFUSED_LATER = {"second_factor_remove", "sign_ins_end", "threads_code"}
_numbers = count(1)


@dataclass(frozen=True)
class Template:
    """A world in a database of its own, which each attempt copies."""

    world: World
    database: str


@dataclass(frozen=True)
class Outcome:
    """What came of some requests: their answers, and what stands in the database."""

    answers: Counter[tuple[int, str]]
    rows: dict[str, int]
    events: Counter[str]
    broken: list[str]
    alike: bool  # all answers have the same bytes


@pytest.fixture(scope="module")
def template(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Template]:
    with django_db_blocker.unblock(), real_database("gatepost_at_once") as name:
        yield Template(make_world(make_cast().sign_in()), name)


def problem_of(answer: Any) -> str:
    if answer.status_code < 400:
        return ""
    return str(answer.json()["type"]).rpartition(":")[2]


def body_of(answer: Any) -> bytes:
    return b"".join(answer.streaming_content) if answer.streaming else bytes(answer.content)


def attempt(template: Template, name: str, n: int, sender: Callable[[list[Any]], Any]) -> Outcome:
    """Send a change n times in a copy of the world."""
    connections.close_all()
    cache.clear()
    with real_database(f"gatepost_at_once_{next(_numbers)}", template=template.database):
        world, operation = template.world, operations()[name]
        call = example(world, operation)

        def once() -> Any:
            return send(world.cast.client(call.who[0]), operation, call)

        answers = sender([once] * n)
        bodies = {body_of(answer) for answer in answers}
        with connection.cursor() as cursor:
            cursor.execute(
                " UNION ALL ".join(
                    f"SELECT '{table}', count(*) FROM \"{table}\""
                    for table in connection.introspection.table_names()
                )
            )
            rows = dict(cursor.fetchall())
            cursor.execute(
                "SELECT kind FROM gp_event UNION ALL SELECT kind FROM gp_workspace_event"
            )
            events = Counter(kind for (kind,) in cursor.fetchall())
        broken = broken_logs()
        connections.close_all()
        return Outcome(
            Counter((answer.status_code, problem_of(answer)) for answer in answers),
            rows,
            events,
            broken,
            len(bodies) == 1,
        )


def broken_logs() -> list[str]:
    """What verifying says of each thread and workspace whose log or record does not fit."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM gp_thread ORDER BY id")
        threads = [thread for (thread,) in cursor.fetchall()]
        cursor.execute("SELECT id FROM gp_workspace ORDER BY id")
        workspaces = [workspace for (workspace,) in cursor.fetchall()]
    reports = [*map(chain.verify_thread, threads), *map(chain.verify_workspace, workspaces)]
    return [report.what for report in reports if not report.intact]


def accepted(outcome: Outcome) -> Counter[int]:
    """How many requests were answered by each status below 400."""
    statuses = Counter[int]()
    for (status, _), n in outcome.answers.items():
        if status < 400:
            statuses[status] += n
    return statuses


def in_turn(calls: list[Callable[[], Any]]) -> list[Any]:
    return [call() for call in calls]


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_sent_at_once_is_as_sent_in_turn(template: Template, name: str, n: int) -> None:
    expected = attempt(template, name, n, in_turn)
    result = attempt(template, name, n, together)
    assert not any(status >= 500 for status, _ in result.answers), result.answers
    assert result.broken == expected.broken == []
    assert accepted(result) == accepted(expected)
    if name in REFUSED_LATER:
        assert set(result.events - expected.events) <= {"login.failed"}
        assert not expected.events - result.events
    else:
        assert result.answers == expected.answers
        assert result.events == expected.events
        assert result.rows == expected.rows
        assert result.alike or not expected.alike
    documented = operations()[name].spec["responses"]
    assert {str(status) for status, _ in result.answers} <= set(documented)
