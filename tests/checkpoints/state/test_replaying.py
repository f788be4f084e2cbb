"""Deltas are folded in blocks as they would be one by one, whatever their text looks like."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from checkpoints.errors import InvalidValue
from checkpoints.state.deltas import canonical, fold
from checkpoints.state.replay import Replay

# Text that looks like the borders between deltas.
TRAPS = st.sampled_from(
    ["]}}", ']}},{"append":{"log":[', '{"append":{"log":[', '"', "\\", "\n", "]", "[", "", "a\n]}}"]
)
items = st.recursive(
    TRAPS | st.integers(-3, 3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TRAPS, inner, max_size=2),
    max_leaves=6,
)
CHANNELS = ("log", "notes", "l[g", 'q"[', "")
appending = st.builds(
    lambda channel, given: {"append": {channel: given}},
    st.sampled_from(("log", "log", "log", *CHANNELS)),
    st.lists(items, max_size=2),
)
others = st.one_of(
    st.builds(lambda value: {"set": {"goal": value}}, items),
    st.builds(lambda value: {"merge": {"facts": {"a": value}}}, items),
    st.builds(lambda one, two: {"append": {"log": [one], "notes": [two]}}, items, items),
    st.builds(lambda one, two: {"append": {"log": [one]}, "set": {"goal": two}}, items, items),
    st.just({"unset": ["log"]}),
    st.just({}),
)
pasts = st.lists(st.one_of(appending, appending, appending, others), min_size=1, max_size=12)


def spelt(delta: dict[str, Any], tight: bool) -> bytes:
    """Canonical, or with the spaces that jsonb sets."""
    return canonical(delta) if tight else json.dumps(delta, ensure_ascii=False).encode()


def replayed(past: list[dict[str, Any]], size: int, *, tight: bool = False) -> Replay:
    found = Replay({})
    for start in range(0, len(past), size):
        block = [spelt(delta, tight) for delta in past[start : start + size]]
        found.add(b"\n".join(block), len(block))
    return found


@given(pasts, st.integers(1, 5), st.booleans())
@example([{"append": {"log": [{"a": {"b": [1]}}, {"append": {"log": [2]}}]}}] * 3, 2, False)
def test_blocks_are_folded_as_their_deltas(
    past: list[dict[str, Any]], size: int, tight: bool
) -> None:
    found = replayed(past, size, tight=tight)
    assert found.state == fold({}, past)
    assert found.rows == len(past)


def test_only_whole_deltas_are_taken_for_appended_items() -> None:
    """Each of these begins and ends as one that appends to `log`, and does more."""
    plain = {"append": {"log": [0]}}
    more: list[dict[str, Any]] = [
        {"append": {"log": [1], "notes": [2]}},
        {"append": {"log": [1]}, "merge": {"facts": {"a": [3]}}},
        {"append": {"log": [{"append": {"log": [[]]}}]}},
    ]
    for delta in more:
        past = [plain, plain, delta, plain, delta, delta]
        for size in range(1, 7):
            assert replayed(past, size).state == fold({}, past)


@pytest.mark.parametrize(
    "lines",
    [
        [b'{"append": {"log": [1]}}', b"[7]"],
        [b'{"set": {"log": {}}}', b'{"append": {"log": [1]}}'],
        [b'{"append": 5}'],
        [b'{"append": {"log": 5}}'],
        [b"no JSON"],
    ],
)
def test_what_cannot_be_applied_is_refused(lines: list[bytes]) -> None:
    # What is no JSON at all cannot lie in the column.
    with pytest.raises(InvalidValue):
        Replay({}).add(b"\n".join(lines), len(lines))
    found = Replay({})
    for line in lines[:-1]:
        found.add(line, 1)
    with pytest.raises(InvalidValue):
        found.add(lines[-1], 1)
