"""Trace context of threads: ids of traces and spans, and the W3C header `traceparent`; pure.

A thread's trace is that of the first thread of its family tree: the caller's, where that one was
started with a `traceparent`, else one whose id is the chain id of that first thread. Span ids
follow from the chain id and a position, so a resumed thread continues the same trace.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from ..records import Position
from ..state import deltas

# Versions above 00 may append fields; ff is none.
_FORM = re.compile(
    r"(?:00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})"
    r"|(?!00|ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-[!-~]*)?)"
)
LENGTH_MAX: Final = 512
_SAMPLED = 1


@dataclass(frozen=True, slots=True)
class TraceContext:
    """A trace, a span in it ("" for none), and whether the spans of the trace are recorded."""

    trace: str
    span: str = ""
    sampled: bool = True

    def at(self, span: str) -> TraceContext:
        """The same trace at another span."""
        return TraceContext(self.trace, span, self.sampled)

    def header(self) -> str:
        """The value of the header `traceparent`."""
        return f"00-{self.trace}-{self.span}-{int(self.sampled):02x}"


def read_traceparent(value: Any) -> TraceContext | None:
    """The context in a header `traceparent`; None where it is malformed, as W3C has it ignored."""
    match = _FORM.fullmatch(value) if isinstance(value, str) and len(value) <= LENGTH_MAX else None
    if match is None:
        return None
    trace, span, flags = (part for part in match.groups() if part is not None)
    if not trace.strip("0") or not span.strip("0"):
        return None
    return TraceContext(trace, span, bool(int(flags, 16) & _SAMPLED))


def trace_of(root_chain: UUID, traceparent: Any) -> TraceContext:
    """The trace of a family tree by the chain id of its first thread and what started that one."""
    return read_traceparent(traceparent) or TraceContext(root_chain.hex)


def span_id(chain: UUID, *parts: Any) -> str:
    """The id of a span of a thread: the same whenever and by whichever worker it is computed."""
    text = b"gatepost-span-1|" + deltas.canonical([str(chain), *parts])
    return hashlib.sha256(text).hexdigest()[:16]


def start_span(chain: UUID) -> str:
    """The span of a thread's start."""
    return span_id(chain, "start")


def thread_span(chain: UUID) -> str:
    """The span of a whole thread."""
    return span_id(chain, "thread")


def step_span(chain: UUID, branch: int, step: int) -> str:
    """The span of a step."""
    return span_id(chain, "step", branch, step)


def activity_span(chain: UUID, position: Position, revision: int, attempt: int) -> str:
    """The span of one attempt at an activity."""
    p = position
    return span_id(chain, "activity", p.branch, p.step, p.node, p.index, p.key, revision, attempt)
