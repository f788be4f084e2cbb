"""Spans of agents that are instrumented elsewhere: recorded in threads that are watched."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from dashboard.errors import translated
from dashboard.identity.permissions import Actor, require
from workers.external import watched
from workers.external.otlp_names import span_of_agent
from workers.external.otlp_wire import ReceivedSpan


@translated()
def take_spans(actor: Actor, spans: Sequence[ReceivedSpan]) -> list[UUID]:
    """Record the spans that describe agents, and return their threads; others are passed over."""
    require(actor, "work")
    own = [made for span in spans if (made := span_of_agent(span)) is not None]
    return watched.take_spans(own, workspace=actor.workspace, reporter=actor.id)
