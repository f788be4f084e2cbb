"""The agent: one day of one airport, a pause, the next; it keeps the records of the year.

One execution is long and cheap: 1,092 short steps and a slot of the worker for none of the pauses.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from gatepost import END, Append, Context, Graph, State

from ..market_research.input.datasets import dataset_path
from .days import AIRPORTS, DAYS, broken, extremes_of, sentence

STEPS = DAYS * len(AIRPORTS)


class WeatherWatch(State):
    """Pace, place in the year, and the records so far."""

    pause: Annotated[
        float, Field(title="Pause", description="Seconds between two days.", ge=0, le=3_600)
    ] = 30.0
    at_most: Annotated[
        int, Field(title="At most", description="Days of one airport to look at.", ge=1, le=STEPS)
    ] = STEPS
    looked_at: Annotated[
        int, Field(title="Days looked at", json_schema_extra={"readOnly": True})
    ] = 0
    records: Annotated[
        dict[str, dict[str, Any]], Field(title="Records", json_schema_extra={"readOnly": True})
    ] = {}
    log: Annotated[
        list[str], Append(), Field(title="Log", json_schema_extra={"readOnly": True})
    ] = []
    outcome: Annotated[str, Field(title="Outcome", json_schema_extra={"readOnly": True})] = ""


graph = Graph(
    "weather-watch",
    WeatherWatch,
    version=1,
    label="Weather watch",
    description="Goes through a year of weather at three airports, a day every half minute, and "
    "keeps its records. It is part of the demo, so that a visitor sees an agent at work.",
)


def after_look(state: WeatherWatch) -> Literal["look", "finish"]:
    """Continue until the last day."""
    return "look" if state.looked_at < state.at_most else "finish"


@graph.node(then=after_look, label="Look at a day")
def look(state: WeatherWatch, ctx: Context) -> dict[str, Any]:
    """Read the hours of one day at one airport; keep the records that it breaks."""
    if state.looked_at and state.pause:
        ctx.sleep(state.pause)

    def read_day(number: int) -> dict[str, Any]:
        return extremes_of(dataset_path("weather"), number)

    day = ctx.activity(read_day, state.looked_at)
    new = broken(state.records, day)
    texts = [sentence(what, record) for what, record in new.items()]
    for text in texts:
        ctx.think(text)
    return {
        "looked_at": state.looked_at + 1,
        "records": {**state.records, **new},
        "log": texts,
    }


@graph.node(then=END, label="Sum up")
def finish(state: WeatherWatch, ctx: Context) -> dict[str, Any]:
    """Say which records stood at the end."""
    texts = [sentence(what, record) for what, record in state.records.items()]
    return {"outcome": f"Looked at {state.looked_at:,} days of an airport. {' '.join(texts)}"}
