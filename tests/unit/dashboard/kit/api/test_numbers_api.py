"""Counts of the API, and the amounts of spend caps in the records, against plain SQL."""

from __future__ import annotations

import random
import re
from decimal import Decimal
from typing import Any

from approvals.policies import changes as policies
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard import populations
from tests.unit.dashboard.ledger import requests

V1 = "/api/v1"


def _walk(client: Any, query: str) -> list[str]:
    """The ids of a list of requests, page by page."""
    results: list[str] = []
    cursor = ""
    while True:
        page = client.get(f"{V1}/approvals/?{query}&limit=7{cursor}").json()
        results += [one["id"] for one in page["results"]]
        if not page["next_cursor"]:
            return results
        cursor = f"&cursor={page['next_cursor']}"


def test_counts_by_call_are_those_of_the_tables(cast: Cast) -> None:
    dice = random.Random(4)
    populations.populate(cast, dice)
    populations.piled(cast, dice, 20)
    for name, workspace in (("operator", cast.workspace), ("stranger", cast.elsewhere)):
        client, all_of = cast.client(name), requests(workspace).values()
        counts = client.get(f"{V1}/threads/counts/").json()
        by_status = dict(
            rows(
                "SELECT status, count(*) FROM gp_thread WHERE workspace_id = %s GROUP BY 1",
                (workspace,),
            )
        )
        assert {status: n for status, n in counts["counts"].items() if n} == by_status
        assert counts["open_approvals"] == sum(one.open for one in all_of)
        assert counts["damaged"] == 0
        for box in ("open", "high"):
            waiting = {str(r.id) for r in all_of if r.open and (box == "open" or r.risk == "high")}
            listed = _walk(client, f"box={box}")
            assert len(listed) == len(waiting)
            assert set(listed) == waiting


def test_caps_are_shown_as_they_were_set(cast: Cast) -> None:
    amounts = {"total": "1234567.5", "day": "0.000125"}
    for per, most in amounts.items():
        policies.set_cap(
            cast.workspace,
            scope="workspace",
            per=per,
            max_cost=most,
            agent="",
            active=True,
            actor="user:9",
        )
    html = cast.client("admin").get("/admin/policies/").content.decode()
    shown = re.findall(r"<dt>\s*The workspace, (.*?)\s*</dt>\s*<dd>(.*?)</dd>", html)
    assert {words: Decimal(n.replace(",", "")) for words, n in shown} == {
        "in total": Decimal(amounts["total"]),
        "per day": Decimal(amounts["day"]),
    }
