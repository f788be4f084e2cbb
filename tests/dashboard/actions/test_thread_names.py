"""Names of threads: refused where a thread is new, kept where one has it already."""

from __future__ import annotations

from uuid import UUID

import pytest
from django.db import connection

from checkpoints import queries
from dashboard import actions
from dashboard.actions import external
from dashboard.errors import Invalid
from tests.cast import Cast
from workers.external.announcement import Announcement

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("E02")]
MADE = Announcement(framework="python")
NAMES = ["p\u0430y 7", "pay\u200b 7", " pay 7", "pay\u00a07", "cafe\u0301"]


def _start(cast: Cast, name: str) -> UUID:
    return actions.start_thread(
        cast.actor("operator"), agent="elsewhere", input={}, name=name, external=MADE
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_new_thread_takes_no_such_name(cast: Cast, name: str) -> None:
    for attempt in (
        lambda: _start(cast, name),
        lambda: external.save_state(cast.actor("operator"), name, {"n": 1}),
    ):
        with pytest.raises(Invalid) as refused:
            attempt()
        assert "$.name" in str(refused.value)


@pytest.mark.parametrize("name", NAMES)
def test_a_thread_that_has_one_is_found_by_it(cast: Cast, name: str) -> None:
    thread = _start(cast, "pay 7")
    with connection.cursor() as cursor:  # as before the rule
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute("UPDATE gp_thread SET name = %s::varchar", (name,))
        cursor.execute("SET LOCAL session_replication_role = DEFAULT")
    assert _start(cast, name) == thread


@pytest.mark.parametrize(
    "name",
    [
        "2026-11-29 10:41 ab12",
        "\u652f\u6255 7",
        "\u043e\u043f\u043b\u0430\u0442\u0430",
        "caf\u00e9",
    ],
)
def test_plain_names_of_any_one_script_are_taken(cast: Cast, name: str) -> None:
    row = queries.thread(_start(cast, name), workspace=cast.workspace)
    assert row.name == name


def test_what_is_only_watched_keeps_its_name(cast: Cast) -> None:
    seen = external.keep_state(
        cast.actor("operator"), agent="seen", name="p\u0430y 7", state={"n": 1}, framework="files"
    )
    assert queries.thread(seen.thread, workspace=cast.workspace).name == "p\u0430y 7"
