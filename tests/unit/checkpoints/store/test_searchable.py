"""Searchable values: in the row of a thread stands what the state at its head has, and no more."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checkpoints import queries, store
from checkpoints.chain import verify_thread
from checkpoints.errors import InvalidValue, NotAllowedNow
from checkpoints.state.searchable import CHANNELS_MAX, VALUE_BYTES_MAX, kept_values, searchable_of
from checkpoints.states import EventKind
from tests.unit.checkpoints.builders import (
    OPERATOR,
    drive,
    head_of,
    make_agent,
    make_thread,
    one,
    rows,
)

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("A06")]

PLAIN: dict[str, Any] = {"reducer": "last_value"}
SEARCHED: dict[str, Any] = {**PLAIN, "searchable": True}
CHANNELS = {"customer": SEARCHED, "order": SEARCHED, "note": PLAIN}
# Declares another one, as new code may.
NEWER = {"customer": PLAIN, "order": SEARCHED, "note": SEARCHED}
NAMES = ("customer", "note", "order")


def column(thread: UUID) -> Any:
    text = one("SELECT searchable::text FROM gp_thread WHERE id = %s", (thread,))
    return None if text is None else json.loads(text)


def expected(thread: UUID) -> Any:
    """The rule once more, from the state and the version as they are stored."""
    [(channels,)] = rows(
        "SELECT v.channels::text FROM gp_thread th JOIN gp_agent_version v "
        "ON v.id = th.agent_version_id WHERE th.id = %s",
        (thread,),
    )
    names = searchable_of(json.loads(channels))
    state = queries.state_at(thread, head_of(thread))
    return {n: state[n] for n in names if n in state} if names else None


def roll_back(thread: UUID, checkpoint: UUID, *, run_on: bool = False) -> None:
    store.roll_back(
        thread,
        checkpoint=checkpoint,
        undo=[],
        head=head_of(thread),
        reason="test",
        actor=OPERATOR,
        run_on=run_on,
    )
    drive(thread).finish_rollback(run_on=run_on)


def holds(thread: UUID) -> None:
    assert column(thread) == expected(thread)
    report = verify_thread(thread)
    assert report.intact, report.what


def older(name: str = "old") -> UUID:
    return make_agent("seeker", channels=CHANNELS, fingerprint=name)


def test_a_thread_without_declared_channels_keeps_nothing() -> None:
    thread = make_thread()
    drive(thread, 3)
    assert column(thread) is None


def test_the_row_follows_steps_edits_forks_and_rollbacks() -> None:
    thread = make_thread(agent=older(), input={"customer": "acme", "note": "first"})
    assert column(thread) == {"customer": "acme"}
    driver = drive(thread)
    driver.step({"set": {"order": {"id": "4711", "lines": [1, 2]}, "note": "n"}})
    assert column(thread) == {"customer": "acme", "order": {"id": "4711", "lines": [1, 2]}}
    driver.step({"set": {"customer": "initech"}, "unset": ["order"]})
    assert column(thread) == {"customer": "initech"}
    store.leave(driver.work, EventKind.THREAD_PAUSED, reason="test")
    store.edit(thread, changes={"customer": "hooli"}, reason="test", actor=OPERATOR)
    assert column(thread) == {"customer": "hooli"}
    second = queries.checkpoint_by_number(thread, 1).id
    fork = store.fork(thread, checkpoint=second, changes={}, actor=OPERATOR)
    other = store.fork(thread, checkpoint=second, changes={"customer": "umbrella"}, actor=OPERATOR)
    assert column(fork) == {"customer": "acme", "order": {"id": "4711", "lines": [1, 2]}}
    assert column(other)["customer"] == "umbrella"
    roll_back(thread, second)
    assert column(thread) == {"customer": "acme", "order": {"id": "4711", "lines": [1, 2]}}
    for each in (thread, fork, other):
        holds(each)


values = st.one_of(
    st.text("abc", max_size=3), st.integers(-3, 3), st.lists(st.integers(0, 2), max_size=2)
)
changes = st.dictionaries(st.sampled_from(NAMES), values, max_size=3)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("step"), changes, st.lists(st.sampled_from(NAMES), max_size=2)),
        st.tuples(st.just("adopt"), st.booleans(), st.none()),
        st.tuples(st.just("fork"), st.integers(0, 5), changes),
        st.tuples(st.just("back"), st.integers(0, 5), st.none()),
    ),
    max_size=7,
)


@pytest.mark.slow
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps)
def test_after_any_moves_the_row_has_what_the_state_has(db: None, moves: list[Any]) -> None:
    versions = [older(), make_agent("seeker", channels=NEWER, fingerprint="new")]
    thread = make_thread(agent=versions[0], input={"customer": "a"})
    threads = {thread}
    for what, one_thing, other in moves:
        last = one("SELECT max(number) FROM gp_checkpoint WHERE thread_id = %s", (thread,))
        if what in ("fork", "back"):
            point = queries.checkpoint_by_number(thread, min(one_thing, last)).id
        if what == "fork":
            threads.add(store.fork(thread, checkpoint=point, changes=other, actor=OPERATOR))
            continue
        if what == "back" and point == head_of(thread):
            continue
        if what == "back":
            # A point that an earlier rollback left behind is refused; the row stays as it is.
            with suppress(NotAllowedNow):
                roll_back(thread, point, run_on=True)
        else:
            driver = drive(thread)
            if what == "adopt":
                store.adopt_version(driver.work, versions[one_thing], fingerprint="x")
            else:
                unset = [name for name in other if name in driver.state and name not in one_thing]
                delta = {
                    **({"set": one_thing} if one_thing else {}),
                    **({"unset": sorted(set(unset))} if unset else {}),
                }
                driver.step(delta)
            store.hand_back(driver.work, reason="test")
        assert column(thread) == expected(thread)
    for each in threads:
        holds(each)


def test_too_large_a_value_is_refused_with_its_path_and_nothing_is_written() -> None:
    large = "x" * VALUE_BYTES_MAX
    version = older()
    with pytest.raises(InvalidValue) as refused:
        make_thread(agent=version, input={"customer": large})
    assert (refused.value.path, "1,002 bytes" in refused.value.reason) == ("$.customer", True)
    thread = make_thread(agent=version, input={"customer": "acme", "note": large})
    with pytest.raises(InvalidValue):
        store.fork(thread, checkpoint=head_of(thread), changes={"order": [large]}, actor=OPERATOR)
    store.pause(thread, actor=OPERATOR)
    with pytest.raises(InvalidValue):
        store.edit(thread, changes={"order": large}, reason="test", actor=OPERATOR)
    holds(thread)


def test_what_was_written_before_its_channel_was_declared_may_be_too_large() -> None:
    thread = make_thread(agent=older(), input={"customer": "acme", "note": "x" * VALUE_BYTES_MAX})
    driver = drive(thread)
    version = make_agent("seeker", channels=NEWER, fingerprint="new")
    store.adopt_version(driver.work, version, fingerprint="x")
    assert column(thread) == {}
    driver.step({"set": {"note": "short"}})
    assert column(thread) == {"note": "short"}
    holds(thread)


@pytest.mark.parametrize(
    "sql",
    [
        'UPDATE gp_thread SET searchable = \'{"customer": "initech"}\' WHERE id = %s',
        "UPDATE gp_thread SET searchable = NULL WHERE id = %s",
        "UPDATE gp_thread SET searchable = searchable || '{\"note\": 1}' WHERE id = %s",
        "UPDATE gp_thread SET searchable = '{}' WHERE id = %s",
    ],
)
def test_verification_finds_an_altered_column(sql: str) -> None:
    thread = make_thread(agent=older(), input={"customer": "acme"})
    holds(thread)
    rows(sql, (thread,))
    report = verify_thread(thread)
    assert not report.intact
    assert "what it is searched by" in report.what


def not_heap_only() -> int:
    return int(
        one(
            "SELECT n_tup_upd - n_tup_hot_upd FROM pg_stat_xact_user_tables "
            "WHERE relname = 'gp_thread'"
        )
    )


def test_only_steps_that_write_a_searchable_channel_write_the_index() -> None:
    driver = drive(make_thread(agent=older(), input={"customer": "acme"}))
    counts = [not_heap_only()]
    for channel in ("note", "customer"):
        for n in range(20):
            driver.step({"set": {channel: n}})
        counts.append(not_heap_only())
    # Within one transaction no dead row makes room: a full page is left once or twice.
    assert counts[1] - counts[0] <= 2
    assert counts[2] - counts[1] == 20


def test_a_version_of_anybody_counts_only_as_far_as_it_is_of_the_form() -> None:
    many = {f"c{n}": SEARCHED for n in range(20)} | {"odd": None, "list": {"searchable": [1]}}
    assert len(searchable_of(many)) == CHANNELS_MAX
    assert kept_values(("a", "b"), {"a": 1, "c": 2}) == {"a": 1}
