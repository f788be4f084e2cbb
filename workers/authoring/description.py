"""Parts of a graph as an agent version describes them; pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from pydantic_core import PydanticUndefined, to_jsonable_python

from checkpoints.state.channels import Reducer
from checkpoints.state.encrypted import Encrypted


def described_channels(
    fields: Mapping[str, Any],
    reducers: Mapping[str, Reducer],
    encrypted: Mapping[str, Encrypted],
    searchable: Collection[str],
) -> dict[str, Any]:
    """{channel: reducer, default, and what else is declared}; `fields` of a Pydantic model."""
    results = {}
    for name, info in fields.items():
        entry = dict(reducers[name].to_json())
        if info.default_factory is not None:
            entry["default"] = to_jsonable_python(info.get_default(call_default_factory=True))
        elif info.default is not PydanticUndefined:
            entry["default"] = to_jsonable_python(info.default)
        if name in encrypted:
            entry["encrypted"] = list(encrypted[name].readers)
        if name in searchable:
            entry["searchable"] = True
        results[name] = entry
    return results


def described_model(temperature: float | None, prompts: Mapping[str, str]) -> dict[str, Any]:
    """The declarations in the form of AgentVersion.graph, without those that are missing."""
    return {
        **({} if temperature is None else {"temperature": temperature}),
        **({"prompts": dict(prompts)} if prompts else {}),
    }
