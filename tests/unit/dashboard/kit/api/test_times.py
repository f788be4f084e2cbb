"""Times whose year in UTC does not exist are refused at every entry point that takes one."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from tests.support.cast import Cast
from tests.unit.dashboard.carried import run

pytestmark = pytest.mark.django_db
EDGES = ("0001-01-01T00:00:00+02:14", "9999-12-31T23:59:59.999999-00:01")


@pytest.mark.parametrize("at", EDGES)
@pytest.mark.parametrize(
    ("path", "member", "body"),
    [
        (f"/api/v1/incidents/{UUID(int=1)}/snooze/", "until", {}),
        ("/api/v1/deputies/", "begins", {"deputy": "second_manager", "ends": "2026-12-01T00:00Z"}),
        ("/api/v1/deputies/", "ends", {"deputy": "second_manager"}),
    ],
)
def test_a_body_with_such_a_time_is_refused(
    cast: Cast, path: str, member: str, body: dict[str, Any], at: str
) -> None:
    answer = cast.client("manager").post(path, body | {member: at}, "application/json")
    assert (answer.status_code, answer.json()["path"]) == (422, f"$.{member}"), answer.content


@pytest.mark.parametrize("at", EDGES)
@pytest.mark.parametrize("name", ["since", "until"])
def test_a_question_with_such_a_time_is_refused(cast: Cast, name: str, at: str) -> None:
    client = cast.client("auditor")
    answer = client.get("/api/v1/records/", {name: at})
    assert answer.status_code == 422, answer.content
    page = client.get("/admin/search/", {name: at})
    assert page.status_code in (200, 422)
    assert "must be a date or time" in page.content.decode()


@pytest.mark.parametrize("at", EDGES)
def test_a_command_with_such_a_time_is_refused(cast: Cast, at: str) -> None:
    code, _, error = run("deputy", "name", "second_manager", "--until", at, "--as", "manager")
    assert code != 0
    assert "is written 2026-12-01" in error
