"""Columns and density of the board: in rows, in the address, in pushed and fetched parts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Any
from uuid import UUID

import pytest

from checkpoints import store
from dashboard.board.filters.address import COLUMNS
from dashboard.board.saved_views.view_actions import SAVE, SaveView
from dashboard.kit.pages.base import REGIONS_HEADER
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows

BYTES_MAX = 60_000
EVERY = f"columns={','.join(COLUMNS)}"


def board(cast: Cast, query: str = "", status: int = 200, **headers: Any) -> str:
    answer = cast.client("operator").get(f"/?{query}", headers=headers)
    assert answer.status_code == status
    return str(answer.content.decode())


def headings(html: str) -> list[str]:
    head = html[html.index("<thead>") : html.index("</thead>")]
    return [re.sub("<[^>]*>", "", cell).strip() for cell in re.findall("<th .*?</th>", head, re.S)]


def cells(html: str, thread: UUID) -> list[str]:
    (row,) = re.findall(rf'<tr id="thread-{thread}".*?</tr>', html, re.S)
    texts = re.findall("<td.*?</td>", row, re.S)
    return [unescape(" ".join(re.sub("<[^>]*>", " ", text).split())) for text in texts]


def labelled(cast: Cast, agent: UUID, **labels: str) -> UUID:
    who = cast.actor("operator").id
    values = {"workspace": cast.workspace, "actor": who, "title": "Delays", "labels": labels}
    return store.start(agent, input={"goal": "delays"}, **values)


def spent(thread: UUID, cost: str, tokens: int) -> None:
    """Past the log: here a number is only shown."""
    rows("SET LOCAL session_replication_role = replica")
    rows("UPDATE gp_thread SET cost = %s, tokens = %s WHERE id = %s", (cost, tokens, thread))
    rows("SET LOCAL session_replication_role = origin")


@pytest.fixture
def thread(cast: Cast, agent: UUID) -> Iterator[UUID]:
    made = labelled(cast, agent, team="eu", items="<b>")
    spent(made, "1.25", 1234)
    yield made
    spent(made, "0", 0)


@pytest.mark.rubric(3)
def test_rows_show_the_chosen_columns(cast: Cast, thread: UUID) -> None:
    usual = board(cast)
    assert headings(usual) == ["Thread", "Step", "Status", "In status", "Age", "Next action"]
    html = board(cast, "columns=cost&columns=labels&columns=tokens&columns=agent&columns=thread")
    shown = ["Thread", "Agent", "Status", "Cost", "Tokens", "Labels", "Next action"]
    assert headings(html) == shown
    agent, _, *rest = cells(html, thread)[:-1]
    assert (agent, rest) == ("research", ["$1.25", "1,234", "items=<b>, team=eu"])
    assert headings(board(cast, "columns=thread")) == ["Thread", "Status", "Next action"]
    every = board(cast, EVERY)
    assert len(headings(every)) == len(cells(every, thread)) + 1 == len(COLUMNS) + 2
    assert f'colspan="{len(headings(every))}"' in every


def test_columns_and_density_stay_in_every_link_and_form(cast: Cast, thread: UUID) -> None:
    html = board(cast, "q=tea&columns=cost&density=compact")
    assert 'class="board compact"' in html
    counter = re.search(r'id="count-failed"><a[^>]*\shref="([^"]*)"', html)
    assert counter
    assert unescape(counter[1]) == "?status=failed&q=tea&columns=cost&density=compact"
    for name, value in (("columns", "cost"), ("density", "compact")):
        assert f'<input type="hidden" name="{name}" value="{value}">' in html
    # The dialog of many threads comes back to this board.
    (many,) = re.findall(r'href="(/threads/many/[^"]*)"', html)
    assert unescape(many) == "/threads/many/?q=tea&columns=cost&density=compact"
    assert "It takes thread, agent, node" in board(cast, "columns=cots", 422)


def test_a_board_with_other_columns_is_fetched_and_not_pushed(cast: Cast, thread: UUID) -> None:
    region = re.compile(r'<div id="board-lanes"([^>]*)>')
    assert "data-refetch" not in region.findall(board(cast))[0]
    assert "data-refetch" not in region.findall(board(cast, "density=compact"))[0]
    assert "data-refetch" in region.findall(board(cast, "columns=cost"))[0]
    fetched = board(cast, "columns=cost", **{REGIONS_HEADER: "board-lanes"})
    assert "$1.25" in fetched
    assert "$1.25" not in board(cast, **{REGIONS_HEADER: "board-lanes"})


def test_a_board_with_all_of_it_stays_small(cast: Cast, agent: UUID) -> None:
    for _ in range(33):
        labelled(cast, agent, team="finance")
    for n in range(13):
        wanted = SaveView(name=f"View {n}", address=f"q=age:>{n + 1}h")
        SAVE.run(cast.actor("operator"), wanted)
    sizes = {query: len(board(cast, query).encode()) for query in ("", EVERY)}
    assert max(sizes.values()) < BYTES_MAX, sizes
