"""Digests that checkpoints keep: a change to a state whose values nobody reads."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from checkpoints import queries, store
from checkpoints.chain import verify_thread
from checkpoints.postgres import reads as prepared
from checkpoints.queries.states import materialized, saved_digests
from checkpoints.state import deltas
from checkpoints.state.channels import Digests, reducers_of
from checkpoints.state.digests import NeedsState
from checkpoints.states import EventKind
from tests.unit.checkpoints.builders import (
    CHANNELS,
    OPERATOR,
    drive,
    head_of,
    make_agent,
    make_thread,
    one,
    rows,
)
from tests.unit.checkpoints.strategies import texts, values

REDUCERS = reducers_of(CHANNELS)
states = st.fixed_dictionaries(
    {},
    optional={
        "goal": values,
        "log": st.lists(values, max_size=3),
        "facts": st.dictionaries(texts, values, max_size=3),
        "total": st.integers(-9, 9),
        "größe": values,
    },
)


def numbered(thread: UUID, number: int) -> UUID:
    return queries.checkpoint_by_number(thread, number).id


def read(thread: UUID, checkpoint: UUID) -> Digests:
    """The digests of the state there, made from its values."""
    return materialized.checked(thread, checkpoint)[1]


@pytest.mark.slow
@given(states, st.lists(values, max_size=3), states)
def test_what_was_kept_goes_on_as_the_whole_would(
    state: dict[str, Any], items: list[Any], changes: dict[str, Any]
) -> None:
    """Lists grow, values are replaced and taken away; objects are replaced only."""
    whole = Digests.of(state, REDUCERS)
    again = Digests.resumed(whole.to_bytes(), REDUCERS)
    assert (again.root, again.size, again.to_bytes()) == (whole.root, whole.size, whole.to_bytes())
    for delta in ({"append": {"log": items}}, {"set": changes}, {"unset": ["goal", "log"]}):
        state = deltas.apply(state, delta)  # type: ignore[arg-type]
        expected = Digests.of(state, REDUCERS)
        again.follow(delta)
        assert (again.root, again.size) == (expected.root, expected.size)
        assert again.to_bytes() == expected.to_bytes()


@pytest.mark.slow
@given(states, st.dictionaries(texts, values, min_size=1, max_size=3))
def test_members_join_an_object_only_where_all_of_it_is_known(
    state: dict[str, Any], members: dict[str, Any]
) -> None:
    delta: Any = {"merge": {"facts": members}}
    whole = Digests.of(state, REDUCERS)
    resumed = Digests.resumed(whole.to_bytes(), REDUCERS)
    after = deltas.apply(state, delta)
    whole.follow(delta)
    assert whole.root == Digests.of(after, REDUCERS).root
    if "facts" in state:
        with pytest.raises(NeedsState):
            resumed.follow(delta)
    else:
        resumed.follow(delta)
        assert resumed.root == whole.root


@pytest.mark.slow
@given(states, st.integers(1, 60))
def test_bytes_that_are_no_kept_digests_are_refused(state: dict[str, Any], cut: int) -> None:
    raw = Digests.of(state, REDUCERS).to_bytes()
    if len(raw) > cut and (len(raw) - cut) % len(raw):
        try:
            result = Digests.resumed(raw[:-cut], REDUCERS)
        except ValueError:
            return
        assert result.to_bytes() == raw[:-cut]  # cut between two channels: the root tells


def never(*_: Any, **__: Any) -> Any:
    raise AssertionError("the state was read")


@pytest.mark.django_db
def test_a_changed_fork_reads_the_deltas_since_digests_were_kept_whatever_the_length(
    django_assert_num_queries: DjangoAssertNumQueries, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = make_thread()
    driver = drive(base, 150)
    kept_at = [number for (number,) in rows(
        "SELECT number FROM gp_checkpoint WHERE digests IS NOT NULL ORDER BY number"
    )]  # fmt: skip
    assert kept_at == [32, 64, 96, 128]

    expected = {n: read(base, numbered(base, n)) for n in (0, 5, 31, 32, 33, 63, 127, 149, 150)}
    with monkeypatch.context() as patched:
        patched.setattr(materialized, "materialise", never)
        for number, digests in expected.items():
            target = numbered(base, number)
            # What the base is and its kept digests in one round trip, then the birth.
            with django_assert_num_queries(3):
                fork = store.fork(base, checkpoint=target, changes={"goal": "new"}, actor=OPERATOR)
            digests.follow({"set": {"goal": "new"}})
            assert queries.checkpoint(fork, head_of(fork)).state_hash == digests.root.hex()
        # Of a fork of that, and of what a fork became.
        nested = store.fork(fork, checkpoint=head_of(fork), changes={"total": 5}, actor=OPERATOR)
    driver.step(leave_by=EventKind.THREAD_SUCCEEDED)
    for thread in (base, fork, nested):
        assert verify_thread(thread).intact
    assert queries.state_at(nested, head_of(nested)) == {
        "goal": "new", "log": list(range(1, 151)), "facts": {}, "total": 5,
    }  # fmt: skip
    assert saved_digests.digests_at(base, head_of(nested)) is None  # of another thread


@pytest.mark.django_db
def test_what_a_changed_fork_reads_does_not_grow_with_the_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read_bytes = []
    fetch_all = prepared.fetch_all

    def counting(*args: Any) -> Any:
        result = fetch_all(*args)
        read_bytes.append(len(str(result)))
        return result

    base = make_thread()
    drive(base, 600)
    with monkeypatch.context() as patched:
        patched.setattr(prepared, "fetch_all", counting)
        patched.setattr(materialized, "materialise", never)
        for number in (63, 255, 575):  # each the last before digests are kept again
            target = numbered(base, number)
            store.fork(base, checkpoint=target, changes={"goal": ""}, actor=OPERATOR)
    assert len(read_bytes) == 3
    assert max(read_bytes) < min(read_bytes) * 1.1


@pytest.mark.django_db
def test_an_edit_reads_no_state_either(monkeypatch: pytest.MonkeyPatch) -> None:
    thread = make_thread()
    driver = drive(thread, 40)
    store.hand_back(driver.work, reason="")
    store.pause(thread, actor=OPERATOR)
    with monkeypatch.context() as patched:
        patched.setattr(materialized, "materialise", never)
        store.edit(thread, changes={"log": ["other"]}, reason="", actor=OPERATOR)
    assert verify_thread(thread).intact
    assert queries.state_at(thread, head_of(thread))["log"] == ["other"]


@pytest.mark.django_db
def test_where_digests_do_not_suffice_the_state_is_read() -> None:
    """Members that joined an object; a past without kept digests."""
    base = make_thread()
    driver = drive(base, 33)
    driver.step({"merge": {"facts": {"a": 1}}})
    joined = head_of(base)
    assert saved_digests.digests_at(base, numbered(base, 33)) is not None
    assert saved_digests.digests_at(base, joined) is None
    old = make_thread()
    for _ in range(40):
        drive_once(old)
    assert saved_digests.digests_at(old, head_of(old)) is None
    for thread in (base, old):
        fork = store.fork(thread, checkpoint=head_of(thread), changes={"goal": "x"}, actor=OPERATOR)
        assert verify_thread(fork).intact
        assert queries.state_at(fork, head_of(fork))["goal"] == "x"


def drive_once(thread: UUID) -> None:
    """A step of a worker that keeps no digests, as those of the former version."""
    driver = drive(thread)
    driver.step({"append": {"log": [0]}}, digests=None)
    store.hand_back(driver.work, reason="")


@pytest.mark.django_db
def test_an_upgrade_to_other_reducers_is_told_apart() -> None:
    """The same value is hashed otherwise: what was kept under the former code proves nothing."""
    base = make_thread()
    driver = drive(base, 33)
    later = make_agent(channels={**CHANNELS, "log": {"reducer": "last_value"}}, fingerprint="later")
    store.adopt_version(driver.work, later, fingerprint="later")
    again = type(driver)(driver.work)
    again.step({"set": {"total": 1}})
    head = head_of(base)
    result = saved_digests.digests_at(base, head)
    assert result is None or result.root == read(base, head).root
    fork = store.fork(base, checkpoint=head, changes={"goal": "x"}, actor=OPERATOR)
    assert verify_thread(fork).intact


@pytest.mark.django_db
def test_a_large_delta_keeps_digests_at_once() -> None:
    """Also where its value is kept apart: a list cannot grow from the hash of its whole."""
    thread = make_thread(input={"goal": "", "log": ["x" * 2 * saved_digests.LARGE]})
    assert one("SELECT octet_length(digests) FROM gp_checkpoint") == sum(
        4 + len(channel) + 1 + 32 + 8 for channel in CHANNELS
    )
    driver = drive(thread, 3)
    assert saved_digests.digests_at(thread, head_of(thread)) is not None
    driver.step({"append": {"log": ["y" * saved_digests.LARGE]}})
    assert one("SELECT count(*) FROM gp_checkpoint WHERE digests IS NOT NULL") == 2
    assert verify_thread(thread).intact


@pytest.mark.django_db
@pytest.mark.altered
def test_false_digests_are_found_and_never_used() -> None:
    base = make_thread()
    drive(base, 40)
    seq = one("SELECT seq FROM gp_event WHERE data ->> 'number' = '32'")
    good = one("SELECT digests FROM gp_checkpoint WHERE number = 32")
    rows("SET LOCAL session_replication_role = replica")
    for bad in (b"", b"\0", bytes(good)[:-1], bytes(good)[:-1] + b"\2", bytes(good) * 2):
        rows("UPDATE gp_checkpoint SET digests = %s WHERE number = 32", (bad,))
        report = verify_thread(base)
        assert not report.intact
        assert report.what.endswith("the digests kept with its checkpoint are not those of it.")
        assert report.first_broken_seq == seq
        result = saved_digests.digests_at(base, head_of(base))
        assert result is None or result.to_bytes() == read(base, head_of(base)).to_bytes()
        fork = store.fork(base, checkpoint=head_of(base), changes={"goal": "x"}, actor=OPERATOR)
        assert queries.state_at(fork, head_of(fork))["log"] == list(range(1, 41))
        assert (
            one("SELECT state_hash FROM gp_checkpoint WHERE thread_id = %s::uuid", (fork,))
            == Digests.of(queries.state_at(fork, head_of(fork)), REDUCERS).root
        )
    # A cache: without it the state is read.
    rows("UPDATE gp_checkpoint SET digests = NULL")
    assert verify_thread(base).intact
