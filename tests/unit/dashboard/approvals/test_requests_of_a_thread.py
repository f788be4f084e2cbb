"""The requests of one thread by the API, and the answer to a question that is among them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.cast import Cast
from tests.unit.dashboard import scene

pytestmark = pytest.mark.django_db


def ids(client: Any, query: str) -> list[str]:
    page = client.get(f"/api/v1/approvals/?{query}")
    assert page.status_code == 200, page.content
    return [row["id"] for row in page.json()["results"]]


def test_only_those_of_the_thread_are_listed_page_by_page(cast: Cast) -> None:
    agent = scene.make_agent()
    mine, other = (scene.waiting(cast.workspace, agent) for _ in range(2))
    client = cast.client("manager")
    for status in ("", "&status=all", "&status=pending"):
        assert ids(client, f"thread={mine.thread}{status}") == [str(mine.id)]
    assert sorted(ids(client, "")) == sorted([str(mine.id), str(other.id)])
    assert ids(client, f"thread={mine.thread}&status=decided") == []
    assert ids(client, f"thread={agent}") == []
    behind = ids(client, f"thread={mine.thread}&cursor={mine.id}")
    assert behind == []


@pytest.mark.parametrize("more", ["mine=true", "box=open", "sort=age"])
def test_it_goes_with_a_status_only(cast: Cast, more: str) -> None:
    row = scene.waiting(cast.workspace, scene.make_agent())
    answer = cast.client("manager").get(f"/api/v1/approvals/?thread={row.thread}&{more}")
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["path"] == "thread"


def test_those_of_another_workspace_are_not_shown(cast: Cast) -> None:
    row = scene.waiting(cast.workspace, scene.make_agent())
    assert ids(cast.client("stranger"), f"thread={row.thread}") == []
