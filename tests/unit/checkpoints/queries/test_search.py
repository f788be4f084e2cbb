"""The query language: read and written back, explained at the word, answered from indexes."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import replace
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
from tests.support.cast import Cast
from tests.unit.checkpoints.builders import rows
from tests.unit.checkpoints.queries.test_plans import nodes, plans_of
from tests.unit.checkpoints.strategies import texts
from tests.unit.dashboard import scene

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
    "since": st.dates().map(str),
    "before": st.datetimes().map(lambda at: f"{at:%Y-%m-%dt%H:%M}".rjust(16, "0")),
    "by": names,
    "error": names,
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
joined = st.lists(st.one_of(filters, free), min_size=2, max_size=3).map(
    lambda made: replace(made[0], others=tuple(made[1:]))
)
terms = st.lists(st.one_of(filters, free, joined), max_size=6)


def test_each_filter_has_values_here() -> None:
    assert set(VALUES) == set(FILTERS)


@pytest.mark.slow
@given(terms)
def test_what_is_written_is_read_back(made: list[Term]) -> None:
    query = Query(tuple(made))
    assert parse(str(query)) == query


pieces = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        [
            *(f"{name}:" for name in FILTERS),
            "-",
            '"',
            ",",
            "\\",
            " ",
            ">1h",
            "\0",
            " OR ",
            "OR",
            "x:",
        ]
    ),
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
            for corrected in refused.instead:
                assert parse(corrected).terms


@pytest.mark.parametrize(
    ("text", "word", "position", "explanation"),
    [
        ("tea stauts:failed", "stauts:", 4, "Did you mean “status:”?"),
        ("status:failed,faild", "faild", 14, "Did you mean “failed”?"),
        ("status:x", "x", 7, "is not one of queued, running"),
        ("since:26.11.2026", "26.11.2026", 6, "such as 2026-11-26"),
        ("before:2026-02-30", "2026-02-30", 7, "such as 2026-11-26"),
        ("tea OR", "OR", 4, "both sides"),
        ("OR tea", "OR", 0, "both sides"),
        ("tea OR OR b", "OR", 7, "both sides"),
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


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("team:finance", ("label:team=finance", '"team:finance"')),
        (
            "tea team:finance age:>2h",
            ("tea label:team=finance age:>2h", 'tea "team:finance" age:>2h'),
        ),
        ("TypeError: foo is no number", ('"TypeError: foo is no number"',)),
        (
            "stauts:failed tea",
            ("status:failed tea", "label:stauts=failed tea", '"stauts:failed" tea'),
        ),
        ("-team:ops", ("-label:team=ops", '-"team:ops"')),
        ('x:"a b"', ()),
    ],
)
def test_what_may_be_meant_is_offered(text: str, instead: tuple[str, ...]) -> None:
    with pytest.raises(InvalidQuery) as refused:
        parse(text)
    assert refused.value.instead == instead
    assert all(parse(one).terms for one in instead)


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
            "reason": dice.choice(["Timeout: EUR 8,522.00 not sent", "R-4711 is unknown", ""]),
            "by": dice.choice(
                [cast.actor("operator").id, cast.actor("manager").id + "/token:abcd1234"]
            ),
        }
        rows(
            "UPDATE gp_thread SET status = %s, title = %s, next_nodes = jsonb_build_array(%s::text)"
            ", cost = %s, labels = %s::jsonb, created_at = clock_timestamp() - %s, "
            "last_at = clock_timestamp() - %s, status_since = clock_timestamp() - %s, "
            "forked_from = CASE WHEN %s THEN head END, status_reason = %s, started_by = %s "
            "WHERE id = %s",
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
                values["reason"],
                values["by"],
                thread,
            ),
        )
        made[thread] = values
    rows("SET LOCAL session_replication_role = origin")
    return made


def failing(values: dict[str, Any], words: str) -> bool:
    return values["status"] in ("failed", "attention") and words in values["reason"]


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
    # Free text: titles, agents, values of labels, errors.
    "search": lambda t: False,
    "RESEARCH": lambda t: t["agent"] == "research",
    "finan": lambda t: t["labels"].get("team") == "finance",
    "8,522.00": lambda t: failing(t, "8,522"),
    "EUR 8,522": lambda t: failing(t, "8,522"),
    "R-4711": lambda t: failing(t, "4711"),
    "error:timeout": lambda t: failing(t, "Timeout"),
    'error:"eur 8",unknown': lambda t: failing(t, "Timeout") or failing(t, "unknown"),
    "-error:timeout": lambda t: not failing(t, "Timeout"),
    "error:finance": lambda t: False,
    "by:operator": lambda t: "token" not in t["by"],
    "by:Manager": lambda t: "token" in t["by"],
    "by:manager,operator -research": lambda t: t["agent"] != "research",
    "since:2020-01-01": lambda t: True,
    "before:2020-01-01": lambda t: False,
    "-before:2020-01-01T10:30 tea": lambda t: "Tea" in t["title"],
    "research OR tea": lambda t: t["agent"] == "research" or "Tea" in t["title"],
    "status:failed OR has:fork tea": lambda t: (
        (t["status"] == "failed" or t["fork"]) and "Tea" in t["title"]
    ),
    "-status:failed OR label:team=ops OR by:operator": lambda t: (
        t["status"] != "failed" or t["labels"].get("team") == "ops" or "token" not in t["by"]
    ),
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
        "started_by": "'user:' || n %% 50",
        "status_reason": "'Timeout ' || n",
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
    "error:timeout",
    'error:"timeout 77"',
    "by:operator",
    "by:operator thread",
    "agent",
    "77 OR error:78 OR by:operator",
    "since:2020-01-01",
    "before:2020-01-01",
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
