"""`state.CHANNEL:value` in a query: what it selects, by an index, and what it refuses."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from checkpoints import queries
from checkpoints.queries import InvalidQuery
from tests.unit.checkpoints.builders import make_agent, make_thread, make_workspace, rows

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("A06")]

SEARCHED = {"reducer": "last_value", "searchable": True}
STATES: dict[str, dict[str, Any]] = {
    "acme": {"customer": "acme", "order": {"id": 4711, "open": True}},
    "acme again": {"customer": "acme", "order": {"id": "4711"}, "tags": ["new", "Tea: green"]},
    "initech": {"customer": "initech", "order": {"lines": [{"sku": "a"}, {"sku": "b-7"}]}},
    "numbers": {"customer": "12", "order": {"id": 12.5, "open": None}, "tags": [1, 2]},
    "nothing": {},
}
SELECTED = {
    "state.customer:acme": {"acme", "acme again"},
    "STATE.customer:acme": None,
    "State.customer:acme": {"acme", "acme again"},
    "state.customer:Acme": set(),
    "state.customer:acme,initech": {"acme", "acme again", "initech"},
    "-state.customer:acme": {"initech", "numbers", "nothing"},
    "state.order.id:4711": {"acme", "acme again"},
    "state.order.id:12.5": {"numbers"},
    "state.order.id:12.50": {"numbers"},
    "state.order.open:true": {"acme"},
    "state.order.open:null": {"numbers"},
    "state.order.lines.sku:b-7": {"initech"},
    "state.tags:new": {"acme again"},
    'state.tags:"Tea: green"': {"acme again"},
    "state.tags:2": {"numbers"},
    "state.order:a": set(),
    "state.customer:acme state.order.open:true": {"acme"},
    'state.customer:"%"': set(),
    "state.customer:acme status:queued agent:seeker": {"acme", "acme again"},
    "state.customer:acme status:failed": set(),
}


@pytest.fixture
def workspace() -> UUID:
    made = make_workspace()
    channels = dict.fromkeys(("customer", "order", "tags"), SEARCHED)
    agent = make_agent("seeker", channels={**channels, "note": {"reducer": "last_value"}})
    for title, state in STATES.items():
        make_thread(agent=agent, workspace=made, title=title, input=state)
    # Threads of another workspace are nobody's here.
    make_thread(agent=agent, workspace=make_workspace(), title="elsewhere", input=STATES["acme"])
    return made


@pytest.mark.parametrize(("query", "titles"), [q for q in SELECTED.items() if q[1] is not None])
def test_what_a_query_selects(workspace: UUID, query: str, titles: set[str]) -> None:
    selection = queries.Selection(q=query)
    page = queries.threads(selection, workspace=workspace)
    assert {row.title for row in page.rows} == titles
    assert sum(queries.counts(selection, workspace=workspace).values()) == len(titles)


@pytest.mark.parametrize(
    ("query", "word", "explanation"),
    [
        ("tea state.note:x", "state.note:", "customer, order, tags"),
        ("-state.custmer:x", "state.custmer:", "Did you mean “state.customer:”?"),
    ],
)
def test_a_channel_that_is_not_searchable_is_explained(
    workspace: UUID, query: str, word: str, explanation: str
) -> None:
    with pytest.raises(InvalidQuery) as refused:
        queries.threads(queries.Selection(q=query), workspace=workspace)
    assert refused.value.word == word
    assert query[refused.value.position :].startswith(word)
    assert explanation in refused.value.explanation


def test_without_any_declared_channel_it_says_how_to_declare_one() -> None:
    with pytest.raises(InvalidQuery, match="Searchable"):
        queries.checked_query("state.customer:acme")


def test_an_index_answers_among_many(workspace: UUID) -> None:
    rows("ANALYZE gp_thread")
    rows("SET LOCAL enable_seqscan = off")
    plan = rows(
        'EXPLAIN SELECT 1 FROM gp_thread th WHERE (th.searchable @> \'{"customer": "acme"}\' '
        'OR th.searchable @> \'{"customer": ["acme"]}\')'
    )
    assert "gp_thread_searchable" in str(plan)
