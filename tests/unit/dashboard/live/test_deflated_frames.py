"""Deflated frames: what a socket gets of them, and that it reads the same as in plain text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.frames import Messages
from dashboard.live.frames import STORED_MAX, Frame
from dashboard.live.served import Want

TOPIC = "thread:1"
NAMES = ["thread-head", "thread-events", "thread-state"]
ROW = '<tr id="event-{0}"><td class="num">{0}</td><td>checkpoint committed – step {0}</td></tr>'


@dataclass
class Sockets:
    """A socket with deflated frames and one with text, which follow the same regions."""

    deflated: Want
    plain: Want

    def give(self, frame: Frame, messages: Messages, *, missed: bool = False) -> tuple[Any, Any]:
        """What both read of a frame; where it was `missed`, nothing is sent."""
        results: list[Any] = []
        for want in (self.deflated, self.plain):
            event, whole = (
                want.events(frame) if want.synced else want.first(frame, frozenset(frame.regions))
            )
            want.synced = True
            if missed:
                event = whole()
            data = event.get("bytes") or event["text"]
            results.append(messages.read(data) if want.inflates else Messages().read(data))
        return results[0], results[1]


def sockets() -> Sockets:
    regions = frozenset(NAMES)
    return Sockets(Want(regions, inflates=True), Want(regions))


def frame_after(last: Frame | None, seq: int, regions: dict[str, str]) -> Frame:
    return Frame(TOPIC, seq, regions, last)


texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=60)
regions = st.dictionaries(st.sampled_from(NAMES), texts, max_size=3)


@given(
    st.lists(st.tuples(regions, st.booleans()), min_size=1, max_size=8),
    st.none() | st.just(dict.fromkeys(NAMES, "<p>brought</p>")) | regions,
)
def test_any_frames_read_as_those_of_plain_text(
    looks: list[tuple[dict[str, str], bool]], brought: dict[str, str] | None
) -> None:
    """Regions that failed to render are missing, frames are skipped, pages bring a state."""
    both, messages = sockets(), Messages()
    last = None if brought is None else frame_after(None, 0, brought)
    both.deflated.synced = both.plain.synced = brought is not None
    for seq, (html, missed) in enumerate(looks):
        frame = frame_after(last, seq, html)
        deflated, plain = both.give(frame, messages, missed=missed)
        assert deflated["regions"] == plain["regions"]
        assert (deflated["topic"], deflated["seq"]) == (TOPIC, seq)
        last = frame


def test_one_more_row_costs_little_more_than_the_row() -> None:
    both, messages = sockets(), Messages()
    rows = [ROW.format(n) for n in range(300)]
    state = "".join(chr(33 + n * 7919 % 90) for n in range(30_000))
    first = frame_after(None, 1, {"thread-state": state, "thread-events": "".join(rows)})
    both.give(first, messages)
    rows.insert(0, ROW.format(300))
    more = {"thread-state": state + "!", "thread-events": "".join(rows)}
    second = frame_after(first, 2, more)
    both.give(second, messages)
    assert sum(map(len, more.values())) > 50_000
    assert len(second.deflated["bytes"]) < 700
    assert second.deflated is second.deflated, "encoded once for all sockets"


def test_a_region_beyond_a_block_is_sent_alone() -> None:
    both, messages = sockets(), Messages()
    large = "x" * STORED_MAX
    first = frame_after(None, 1, {"thread-state": large})
    both.give(first, messages)
    deflated, plain = both.give(frame_after(first, 2, {"thread-state": large + "y"}), messages)
    assert deflated["regions"] == plain["regions"]


def test_a_page_that_brought_its_state_gets_what_changed_and_then_what_follows() -> None:
    both, messages = sockets(), Messages()
    first = frame_after(None, 1, {"thread-head": "one" * 50, "thread-events": "rows" * 50})
    both.deflated.synced = both.plain.synced = True
    second = frame_after(first, 2, {"thread-head": "two" * 50, "thread-events": "rows" * 50})
    assert both.give(second, messages)[0]["regions"] == {"thread-head": "two" * 50}
    assert both.deflated.sent == {"thread-head"}
    third = frame_after(second, 3, {"thread-head": "2" * 50, "thread-events": "lines" * 50})
    deflated, plain = both.give(third, messages)
    assert deflated["regions"] == plain["regions"]
    assert both.deflated.sent == {"thread-head", "thread-events"}


def test_lengths_differ_by_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    html = {"thread-head": "the same"}
    lengths = {len(frame_after(None, 1, html).deflated["bytes"]) for _ in range(60)}
    assert len(lengths) > 10
