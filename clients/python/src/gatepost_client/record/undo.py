"""Taking effects back when a person rolls a thread back: last first, each reported."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from ..wire.api import LeaseApi
from ..wire.flow import Call, Flow
from .declared import EFFECTS
from .values import outcome_of

Json = dict[str, Any]
logger = logging.getLogger("gatepost_client")


def take_back(thread: str, lease: Json, records: Sequence[Json]) -> Flow[None]:
    """Undo effects under a lease; one that fails is reported, the rest still happen."""
    under = LeaseApi(thread, lease["token"])
    for record in records:
        outcome = yield from _undo(record)
        yield from under.settle_undo(str(record["id"]), outcome)


def _undo(record: Json) -> Flow[Json]:
    name = str(record["tool"])
    effect = EFFECTS.get(name)
    if effect is None or effect.undo is None:
        return {"error": f"This process has no undo for {name!r}."}
    key = {"key": record["idempotency_key"]}
    try:
        result = yield Call(effect.undo, (record["args"], record["result"]), key)
        outcome, _ = outcome_of(result, f"What the undo of {name!r} returned")
        return {"result": outcome["result"]}
    except Exception as error:
        logger.exception("the undo of %s failed", name)
        return {"error": f"{type(error).__name__}: {error}"[:2000]}
