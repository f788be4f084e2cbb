"""Trace context: the header is read as W3C has it, ids follow from chain and position."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from checkpoints.log import traces
from checkpoints.records import Position

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


def test_a_header_is_read_and_written_again() -> None:
    context = traces.read_traceparent(f"00-{TRACE}-{SPAN}-01")
    assert context == traces.TraceContext(TRACE, SPAN, True)
    assert context.header() == f"00-{TRACE}-{SPAN}-01"
    assert traces.read_traceparent(f"00-{TRACE}-{SPAN}-00") == traces.TraceContext(
        TRACE, SPAN, False
    )
    # A later version may say more.
    assert traces.read_traceparent(f"01-{TRACE}-{SPAN}-03-more") is not None


@pytest.mark.parametrize(
    "value",
    [
        *(None, 7, "", "00", "00-1-2-01", f"ff-{TRACE}-{SPAN}-01", f"00-{TRACE}-{SPAN}-01-more"),
        *(f"00-{TRACE.upper()}-{SPAN}-01", f"00-{'0' * 32}-{SPAN}-01", f"00-{TRACE}-{'0' * 16}-01"),
        *(f" 00-{TRACE}-{SPAN}-01", f"00-{TRACE}-{SPAN}-01\n", f"01-{TRACE}-{SPAN}-01-{'x' * 600}"),
    ],
)
def test_a_malformed_header_is_none(value: Any) -> None:
    assert traces.read_traceparent(value) is None


def test_the_callers_trace_goes_before_the_threads_own() -> None:
    chain = uuid4()
    assert traces.trace_of(chain, None) == traces.TraceContext(chain.hex)
    assert traces.trace_of(chain, f"00-{TRACE}-{SPAN}-01").trace == TRACE


def test_ids_differ_by_each_part_of_a_position() -> None:
    chain, p = uuid4(), Position(0, 1, "look", 0, "price#0")
    ids = {
        traces.start_span(chain),
        traces.thread_span(chain),
        traces.step_span(chain, 0, 1),
        traces.step_span(chain, 1, 1),
        traces.activity_span(chain, p, 0, 1),
        traces.activity_span(chain, p, 1, 1),
        traces.activity_span(chain, p, 0, 2),
        traces.activity_span(uuid4(), p, 0, 1),
    }
    assert len(ids) == 8
    assert traces.activity_span(chain, p, 0, 1) in ids
    assert all(len(ident) == 16 and int(ident, 16) for ident in ids)
