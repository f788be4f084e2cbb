"""Spans of agents that are instrumented elsewhere: recorded in threads that are watched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any
from uuid import UUID

from dashboard.errors import Invalid, translated
from dashboard.fields.credentials import check_credentials, without_credentials
from dashboard.identity.permissions import Actor, require
from workers.external import watched
from workers.external.otlp_names import SpanOfAgent, span_of_agent
from workers.external.otlp_wire import ReceivedSpan


@translated()
def take_spans(actor: Actor, spans: Sequence[ReceivedSpan]) -> list[UUID]:
    """Record the spans that describe agents, and return their threads; others are passed over.

    What a span says was called or answered is withheld where it holds a credential, and the record
    says so: the sender of spans has no use for a refusal.
    """
    require(actor, "work")
    own = [_withheld(made) for span in spans if (made := span_of_agent(span)) is not None]
    return watched.take_spans(own, workspace=actor.workspace, reporter=actor.id)


def _withheld(one: SpanOfAgent) -> SpanOfAgent:
    """The span without arguments or a result that hold a credential."""
    values: dict[str, Any] = {}
    for name in ("args", "result"):
        try:
            check_credentials("$", getattr(one, name))
        except Invalid as error:
            (fault, *_) = error.faults
            values[name] = {"withheld": f"{fault.path} {fault.message}"}
    return replace(_masked(one), **values, span=_masked(one.span))


def _masked[T: (SpanOfAgent, ReceivedSpan)](one: T) -> T:
    """The same with credentials masked in its names and error."""
    values = {f.name: getattr(one, f.name) for f in fields(one)}
    texts: dict[str, Any] = {
        name: without_credentials(value) for name, value in values.items() if isinstance(value, str)
    }
    return replace(one, **texts)
