"""Parts of a graph as an agent version describes them; pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from pydantic_core import PydanticUndefined

from checkpoints.state.channels import Reducer
from checkpoints.state.deltas import Refused
from checkpoints.state.encrypted import Encrypted

from .errors import GraphError
from .frozen import jsonable


def described_channels(
    fields: Mapping[str, Any],
    reducers: Mapping[str, Reducer],
    encrypted: Mapping[str, Encrypted],
    searchable: Collection[str],
    durable: Collection[str],
) -> dict[str, Any]:
    """{channel: reducer, default, and what else is declared}; `fields` of a Pydantic model.

    Raises GraphError for a default that has no JSON.
    """
    results = {}
    for name, info in fields.items():
        entry = dict(reducers[name].to_json())
        if info.default_factory is not None:
            entry["default"] = _default(name, info.get_default(call_default_factory=True))
        elif info.default is not PydanticUndefined:
            entry["default"] = _default(name, info.default)
        if name in encrypted:
            entry["encrypted"] = list(encrypted[name].readers)
        if name in searchable:
            entry["searchable"] = True
        if name in durable:
            entry["durable"] = True
        results[name] = entry
    return results


def _default(channel: str, value: Any) -> Any:
    form = jsonable(value)
    if isinstance(form, Refused):
        raise GraphError(f"The default of the channel {channel!r} can't be kept: {form.message}.")
    return form


def described_model(temperature: float | None, prompts: Mapping[str, str]) -> dict[str, Any]:
    """The declarations in the form of AgentVersion.graph, without those that are missing."""
    return {
        **({} if temperature is None else {"temperature": temperature}),
        **({"prompts": dict(prompts)} if prompts else {}),
    }
