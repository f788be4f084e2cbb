"""The query language: read and written back, explained at the word, answered from indexes."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from checkpoints import queries
from checkpoints.errors import InvalidValue
from checkpoints.queries.search import language
from checkpoints.queries.search.language import FILTERS, HAS, InvalidQuery, Query, Term, parse
from checkpoints.states import Status
from tests.cast import Cast
from tests.checkpoints.builders import rows
from tests.checkpoints.queries.test_queries import nodes, plans_of
from tests.checkpoints.strategies import texts
from tests.dashboard import scene

spans = st.builds(
    "{}{}{}".format, st.sampled_from("<>"), st.integers(0, 5_000), st.sampled_from("smhdw")
)
words = st.one_of(texts, st.sampled_from(["a b", 'say "hi"', "a,b", "-x", "a:b", "\\", "100%"]))
names = words.filter(bool)
VALUES: dict[str, st.SearchStrategy[str]] = {
    "status": st.sampled_from([*map(str, Status)]),
    "agent": names,
    "node": names,
    "stuck": names,
    "age": spans,
    "idle": spans,
    "cost": st.builds("{}{}".format, st.sampled_from("<>"), st.decimals(0, 999, places=2)),
    "label": names.filter(lambda text: text.partition("=")[0] != ""),
    "has": st.sampled_from(HAS),
    "state": names,
}
PATHS = ["state.customer", "state.Order.item_no-2"]
filters = st.sampled_from(sorted(VALUES)).flatmap(
    lambda name: st.builds(
        Term,
        st.sampled_from(["state.customer", "state.Order.item_no-2"])
        if name == "state"
        else st.just(name),
        st.lists(VALUES[name], min_size=1, max_size=4, unique=True).map(tuple),
        st.booleans(),
    )
)
free = st.builds(
    lambda text, negated: Term("", (text,), negated), names.filter(str.strip), st.booleans()
)
terms = st.lists(st.one_of(filters, free), max_size=6)


def test_each_filter_has_values_here() -> None:
    assert set(VALUES) == set(FILTERS)


@pytest.mark.slow
@given(terms)
def test_what_is_written_is_read_back(made: list[Term]) -> None:
    query = Query(tuple(made))
    assert parse(str(query)) == query


pieces = st.one_of(
    st.text(max_size=12),
    st.sampled_from([*(f"{name}:" for name in FILTERS), "-", '"', ",", "\\", " ", ">1h", "\0"]),
)


@pytest.mark.slow
@given(st.lists(pieces, max_size=8).map("".join))
@example("status:")
@example('agent:"a')
@example("agent:a,")
@example("label:=x")
@example("state.a:")
@example("-state.a.b.c.d.e.f:x")
@example('status:"0"')
@example('status:"a\\"b"')
@settings(max_examples=400)
def test_any_text_is_read_or_explained_at_its_word(text: str) -> None:
    query = None
    try:
        query = parse(text)
    except InvalidValue as error:
        refused = error
    if query is not None:
        assert parse(str(query)) == query
    else:
        assert refused.path == "q"
        assert isinstance(refused, InvalidQuery) or "\0" in text
        if isinstance(refused, InvalidQuery):
            assert text[refused.position :].startswith(refused.word)
            assert refused.explanation


@pytest.mark.parametrize(
    ("text", "word", "position", "explanation"),
    [
        ("tea stauts:failed", "stauts:", 4, "Did you mean “status:”?"),
        ("status:failed,faild", "faild", 14, "Did you mean “failed”?"),
        ("status:x", "x", 7, "is not one of queued, running"),
        ("age:2h", "2h", 4, "such as >10m"),
        ("idle:>1y", ">1y", 5, "(s, m, h, d, w)"),
        ("age:>99999w", ">99999w", 4, "100 years"),
        ("cost:5", "5", 5, "such as >0.50"),
        ("has:children", "children", 4, "stuck, error"),
        ("agent:", "agent:", 0, "agent:payments"),
        ("-agent: x", "-agent:", 0, "needs a value"),
        ('"tea', '"tea', 0, "closing quote"),
        ('agent:"a"b', '"a"b', 6, "a comma or a space"),
        ("label:=x", "=x", 6, "team=finance"),
        ("tea state:x", "state:", 4, "state.customer:acme"),
        ("-state.a:", "-state.a:", 0, "needs a value"),
        ("state.a.b.c.d.e.f:1", "state.a.b.c.d.e.f:", 0, "5 names"),
        (" ".join("x" * 21), "x", 40, "20 are allowed"),
        ("x" * 1_001, "x" * 1_001, 0, "longer than 1000"),
    ],
)
def test_a_word_that_is_wrong_is_named(
    text: str, word: str, position: int, explanation: str
) -> None:
    with pytest.raises(InvalidQuery) as refused:
        parse(text)
    assert refused.value.word.rstrip("…") == word[: len(refused.value.word.rstrip("…"))]
    assert (refused.value.position, explanation in refused.value.explanation) == (position, True)


@pytest.mark.parametrize("text", ["10:30", "a-b", "#5", "under_score 100%", ":", "-"])
def test_plain_text_stays_text(text: str) -> None:
    assert {term.name for term in parse(text).terms} == {""}


def test_quotes_take_what_is_between_them() -> None:
    query = parse('Status:Failed -agent:"my agent",b "Invoice 4: tea" AGE:>2H')
    assert query.terms == (
        Term("status", ("failed",)),
        Term("agent", ("my agent", "b"), True),
        Term("", ("Invoice 4: tea",)),
        Term("age", (">2h",)),
    )


# --- what they select ----------------------------------------------------------------------------


@pytest.fixture
def population(cast: Cast) -> dict[UUID, dict[str, Any]]:
    """60 threads of two agents that differ in everything that a query can name."""
    dice = random.Random(20)
    agents = {name: scene.make_agent(name) for name in ("research", "my agent")}
    made: dict[UUID, dict[str, Any]] = {}
    rows("SET LOCAL session_replication_role = replica")
    for n in range(60):
        agent = dice.choice(list(agents))
        thread = scene.start(cast.workspace, agents[agent])
        age, idle = dice.randrange(2, 60), 1
        values = {
            "agent": agent,
            "title": f"Tea {n}" if n % 3 else f"Pay: {n}%",
            "status": str(dice.choice(list(Status))),
            "node": dice.choice(["analyse", "publish"]),
            "cost": dice.randrange(300) / 100,
            "labels": dice.choice([{}, {"team": "ops"}, {"team": "finance", "x=y": ""}]),
            "age": age * 60 + 30,
            "idle": dice.randrange(idle, age) * 60 + 30,
            "fork": dice.random() < 0.3,
        }
        rows(
            "UPDATE gp_thread SET status = %s, title = %s, next_nodes = jsonb_build_array(%s::text)"
            ", cost = %s, labels = %s::jsonb, created_at = clock_timestamp() - %s, "
            "last_at = clock_timestamp() - %s, status_since = clock_timestamp() - %s, "
            "forked_from = CASE WHEN %s THEN head END WHERE id = %s",
            (
                values["status"],
                values["title"],
                values["node"],
                values["cost"],
                str(values["labels"]).replace("'", '"'),
                timedelta(seconds=values["age"]),
                timedelta(seconds=values["idle"]),
                timedelta(seconds=values["idle"]),
                values["fork"],
                thread,
            ),
        )
        made[thread] = values
    rows("SET LOCAL session_replication_role = origin")
    return made


SELECTED: dict[str, Callable[[dict[str, Any]], bool]] = {
    "": lambda t: True,
    "status:failed,paused": lambda t: t["status"] in ("failed", "paused"),
    "-status:failed": lambda t: t["status"] != "failed",
    'agent:"my agent"': lambda t: t["agent"] == "my agent",
    "node:publish": lambda t: (
        t["node"] == "publish" and t["status"] not in ("succeeded", "cancelled")
    ),
    "age:>30m": lambda t: t["age"] > 1_800,
    "age:<30m": lambda t: t["age"] < 1_800,
    "age:>10m age:<20m": lambda t: 600 < t["age"] < 1_200,
    "age:<10m,>40m": lambda t: t["age"] < 600 or t["age"] > 2_400,
    "idle:>20m": lambda t: t["idle"] > 1_200,
    "-idle:>20m": lambda t: t["idle"] <= 1_200,
    "idle:<5m": lambda t: t["idle"] < 300,
    "cost:>1.50": lambda t: t["cost"] > 1.5,
    "cost:<0.5": lambda t: t["cost"] < 0.5,
    "label:team=ops": lambda t: t["labels"].get("team") == "ops",
    "label:team": lambda t: "team" in t["labels"],
    "-label:team": lambda t: "team" not in t["labels"],
    "label:team=ops,team=finance status:failed": lambda t: (
        "team" in t["labels"] and t["status"] == "failed"
    ),
    "has:error": lambda t: t["status"] in ("failed", "attention"),
    "has:fork": lambda t: t["fork"],
    "-has:fork": lambda t: not t["fork"],
    "has:stuck": lambda t: t["status"] == "attention",
    "stuck:publish": lambda t: t["status"] == "attention" and t["node"] == "publish",
    "has:damage": lambda t: False,
    "has:parent": lambda t: False,
    "has:approval": lambda t: t["status"] == "waiting",
    "tea": lambda t: "Tea" in t["title"],
    "te": lambda t: "Tea" in t["title"],
    "ay": lambda t: False,
    '"tea 1" T': lambda t: "Tea 1" in t["title"],
    '"1 tea"': lambda t: False,
    '-"pay: "': lambda t: "Pay" not in t["title"],
    "%": lambda t: "%" in t["title"],
}


def test_each_filter_selects_what_it_says_in_list_lanes_and_counts(
    cast: Cast, population: dict[UUID, dict[str, Any]]
) -> None:
    for text, fits in SELECTED.items():
        wanted = {thread for thread, values in population.items() if fits(values)}
        selection = queries.Selection(q=text)
        page = queries.threads(selection, workspace=cast.workspace, limit=100)
        assert {row.id for row in page.rows} == wanted, text
        lanes = queries.lanes(selection, workspace=cast.workspace, statuses=list(Status), limit=100)
        assert {row.id for lane in lanes.values() for row in lane} == wanted, text
        counted = queries.counts(selection, workspace=cast.workspace)
        assert sum(counted.values()) == len(wanted), text
    selecting = [f for f in SELECTED.values() if any(map(f, population.values()))]
    assert len(selecting) >= 24, "queries that select nothing prove little"


# --- from an index --------------------------------------------------------------------------------


@pytest.fixture
def many(cast: Cast) -> UUID:
    """20,000 threads of 40 agents, a few of them stuck; the workspace."""
    sample = scene.start(cast.workspace, scene.make_agent("agent 0"))
    columns = [
        name
        for (name,) in rows(
            "SELECT column_name FROM information_schema.columns WHERE table_name = 'gp_thread'"
        )
    ]
    own = {
        "id": "gen_random_uuid()",
        "chain_id": "gen_random_uuid()",
        "agent": "'agent ' || n %% 40",
        "title": "'Thread ' || n",
        "status": "(ARRAY['succeeded', 'succeeded', 'waiting', 'failed', 'running'])[1 + n %% 5]",
        "status_since": "clock_timestamp() - make_interval(secs => n)",
        "created_at": "clock_timestamp() - make_interval(secs => n + 60)",
        "labels": "CASE WHEN n %% 100 = 0 THEN jsonb_build_object('team', 't' || n %% 7) "
        "ELSE '{}'::jsonb END",
        "cost": "n %% 1000 / 100.0",
        "name": "NULL",
    }
    values = ", ".join(own.get(name, f"x.{name}") for name in columns)
    rows("SET LOCAL session_replication_role = replica")
    rows(
        f"INSERT INTO gp_thread ({', '.join(columns)}) SELECT {values} "
        "FROM gp_thread x, generate_series(1, 20000) n WHERE x.id = %s",
        (sample,),
    )
    rows(
        "INSERT INTO gp_stuck (thread_id, workspace_id, agent, node, rule, since, reason, "
        "status_since, last_seq) SELECT id, workspace_id, agent, 'node ' || row_number() OVER () "
        "%% 9, 'silent', status_since, 'Silent.', status_since, last_seq FROM gp_thread "
        "WHERE status = 'running' LIMIT 600"
    )
    rows("SET LOCAL session_replication_role = origin")
    rows("ANALYZE gp_thread, gp_stuck")
    return cast.workspace


def of_size(read: Callable[[], object], *tables: str) -> list[str]:
    """The nodes of its plans that read one of the tables as a whole."""
    return [
        f"{node['Node Type']} {node.get('Relation Name', '')}"
        for plan in plans_of(read)
        for node in nodes(plan)
        if node["Node Type"] == "Seq Scan" and node["Relation Name"] in ("gp_thread", *tables)
    ]


@pytest.mark.slow
@pytest.mark.requirement("A27")
def test_how_many_are_stuck_where_is_answered_from_an_index(many: UUID) -> None:
    counts = queries.stuck_counts(workspace=many)
    counted = {(one.agent, one.node): one.threads for one in counts.groups}
    assert counts.total == sum(counted.values()) == 600
    (agent, node), n = next(iter(counted.items()))
    [one] = queries.stuck_counts(workspace=many, agent=agent, node=node).groups
    assert one.threads == n
    listed = queries.stuck_threads(workspace=many, agent=agent, node=node, limit=200)
    assert len(listed) == n
    stuck_there = queries.Selection(q=f'agent:"{agent}" stuck:"{node}"')
    page = queries.threads(stuck_there, workspace=many, limit=200)
    assert {row.id for row in page.rows} == {row.thread for row in listed}
    narrow = {"workspace": many, "agent": agent, "node": node}
    assert of_size(lambda: queries.stuck_counts(**narrow), "gp_stuck") == []
    assert of_size(lambda: queries.stuck_threads(**narrow), "gp_stuck") == []
    indexes = {
        node.get("Index Name")
        for plan in plans_of(lambda: queries.stuck_counts(**narrow))
        for node in nodes(plan)
    }
    assert "gp_stuck_node" in indexes


QUERIES = [
    "status:failed",
    'agent:"agent 3"',
    'agent:"agent 3" status:failed',
    "node:analyse status:running",
    "has:stuck",
    'stuck:"node 3"',
    "label:team=t3",
    "label:team",
    "has:error",
    "has:fork",
    "has:approval",
    "age:<10m",
    "idle:>4h status:waiting",
    "cost:>5 status:waiting",
    "thread",
    '"thread 77"',
    "77 label:team",
]


@pytest.mark.slow
def test_each_filter_is_answered_from_an_index(many: UUID) -> None:
    for text in QUERIES:
        chosen = queries.Selection(q=text)
        assert of_size(lambda: queries.threads(chosen, workspace=many)) == [], text  # noqa: B023
        lanes = {"workspace": many, "statuses": list(Status), "limit": 36}
        assert of_size(lambda: queries.lanes(chosen, **lanes)) == [], text  # noqa: B023


def test_the_language_is_described_where_it_is_shown() -> None:
    for name, one in FILTERS.items():
        assert parse(one.example).terms[0].name.partition(".")[0] == name
        assert one.takes
    assert re.fullmatch(r"[a-z]+", "".join(language.UNITS))
