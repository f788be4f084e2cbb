"""The same requests sent in turn and at once, each in a copy of one world of its own.

Sent at once they must give the same statuses and problems, the same rows in each table and the
same events as in turn, no 5xx, and logs that verify.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any
from unittest.mock import patch

from django.core.cache import cache
from django.db import connection, connections

from dashboard.identity import rate_limits
from tests.conftest import real_database
from tests.contract.world import World, make_world
from tests.support.cast import make_cast

from . import broken_logs

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

    @property
    def accepted(self) -> Counter[int]:
        """How many requests were answered by each status below 400."""
        statuses = Counter[int]()
        for (status, _), n in self.answers.items():
            if status < 400:
                statuses[status] += n
        return statuses


@contextmanager
def made_template(name: str) -> Iterator[Template]:
    """A world to copy, for the tests of a file."""
    with real_database(name):
        yield Template(make_world(make_cast().sign_in()), name)


def attempt(template: Template, send: Callable[[], list[Any]]) -> Outcome:
    """Send requests in a copy of the world; `send` gives their answers."""
    connections.close_all()
    cache.clear()
    number = next(_numbers)
    # Wrong passwords of other attempts would count in this one: people have the same ids in each.
    with (
        patch.object(rate_limits, "PREFIX", f"gatepost:rate:{template.database}:{number}:"),
        real_database(f"{template.database}_{number}", template=template.database),
    ):
        answers = send()
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


def problem_of(answer: Any) -> str:
    """The problem that an answer of the API names; empty for a page."""
    if answer.status_code < 400 or answer["Content-Type"] != "application/problem+json":
        return ""
    return str(answer.json()["type"]).rpartition(":")[2]


def body_of(answer: Any) -> bytes:
    return b"".join(answer.streaming_content) if answer.streaming else bytes(answer.content)
