"""References are an operation of stored deltas, taken out and filled in without a trace."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checkpoints.errors import CorruptHistory, InvalidValue
from checkpoints.state import deltas, references
from tests.unit.checkpoints import strategies

pytestmark = pytest.mark.requirement("B15")


def stored_fold(past: list[Any]) -> dict[str, Any]:
    return deltas.fold({}, past, stored=True)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    values=st.dictionaries(st.sampled_from("abcdef"), strategies.values, max_size=6),
    limit=st.integers(1, 60),
)
def test_what_is_moved_out_comes_back_as_it_was(values: dict[str, Any], limit: int) -> None:
    delta = {"set": values, "unset": ["g"]}
    stored, contents = references.moved_out(delta, limit)
    assert all(len(raw) >= limit for raw in contents.values())
    assert all(len(deltas.canonical(v)) < limit for v in stored.get("set", {}).values())
    back = references.resolved(stored, contents)
    assert deltas.canonical({"set": {}, **back}) == deltas.canonical(delta)
    state = stored_fold([deltas.decode(deltas.canonical(stored).decode())])
    references.fill(state, contents)
    assert deltas.canonical(state) == deltas.canonical(values)


def test_only_what_is_in_force_is_wanted() -> None:
    put = {c: {"sha256": c * 64, "size": 1} for c in "abcd"}
    past: list[Any] = [
        {"put": put},
        {"set": {"a": 1}, "unset": ["b"]},
        {"append": {"c": [7]}},
        {"put": {"d": {"sha256": "e" * 64, "size": 1}}},
    ]
    state = stored_fold(past)
    assert list(references.wanted(state.values())) == ["c" * 64, "e" * 64]


def test_two_channels_with_one_content_do_not_share_it() -> None:
    _, contents = references.moved_out({"set": {"a": [1, 2]}}, 1)
    stored, _ = references.moved_out({"set": {"a": [1, 2], "b": [1, 2]}}, 1)
    state = stored_fold([stored, {"append": {"a": [3]}}])
    references.fill(state, contents)
    assert state == {"a": [1, 2, 3], "b": [1, 2]}


def test_what_does_not_fit_is_refused() -> None:
    stored, contents = references.moved_out({"set": {"a": [1, 2]}}, 1)
    (sha,) = contents
    for result, message in (({}, "missing"), ({sha: b"[1,3]"}, "does not match its hash")):
        with pytest.raises(CorruptHistory, match=message):
            references.fill(stored_fold([stored]), result)
    with pytest.raises(InvalidValue, match="does not fit its kind"):
        references.fill(stored_fold([stored, {"merge": {"a": {"x": 1}}}]), contents)
    for body in ([], {"a": "text"}, {"a": {"sha256": 7, "size": 1}}, {"a": {"sha256": "x"}}):
        with pytest.raises(InvalidValue):
            stored_fold([{"put": body}])


def test_nobody_can_send_a_reference() -> None:
    delta: Any = {"put": {"a": {"sha256": "0" * 64, "size": 2}}}
    for refuse in (deltas.validate_delta, lambda value: deltas.apply({}, value)):
        with pytest.raises(InvalidValue, match="unknown operation"):
            refuse(delta)
