"""What a graph declares for models: a temperature and prompt texts by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .checks import is_number, shown
from .errors import GraphError


def described_model(temperature: float | None, prompts: Mapping[str, str]) -> dict[str, Any]:
    """The declarations in the form of AgentVersion.graph, without those that are missing."""
    return {
        **({} if temperature is None else {"temperature": temperature}),
        **({"prompts": dict(prompts)} if prompts else {}),
    }


def check_prompts(temperature: Any, prompts: Any) -> None:
    """Raise GraphError for what is no temperature and no texts by name."""
    if temperature is not None and not is_number(temperature):
        raise GraphError(f"temperature={shown(temperature)} is no number.")
    texts = isinstance(prompts, Mapping) and all(
        isinstance(name, str) and isinstance(text, str) for name, text in prompts.items()
    )
    if not texts:
        raise GraphError('prompts is a dict of texts by name: prompts={"brief": "Be brief."}.')
