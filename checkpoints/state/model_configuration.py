"""What a thread asks models with: the model's name, the temperature, prompt texts by content hash.

A prompt stands once, in the graph of the agent version that declares it; configurations name it
`{"$prompt": sha256}`. A text that a person gives a start or a fork stands there as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

PROMPT = "$prompt"
MEMBERS = ("model", "temperature", "prompts")


def prompt_hash(text: str) -> str:
    """The hash that names a prompt text by its content."""
    return sha256(text.encode()).hexdigest()


def deployed(graph: Mapping[str, Any], model: str | None) -> dict[str, Any]:
    """The configuration that an agent's code and the settings give; what is not set is left out."""
    prompts = {name: {PROMPT: prompt_hash(text)} for name, text in graph.get("prompts", {}).items()}
    return {
        **({"model": model} if model else {}),
        **({"temperature": graph["temperature"]} if "temperature" in graph else {}),
        **({"prompts": prompts} if prompts else {}),
    }


def joined_config(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration with other members; null takes one away. Prompts are changed one by one."""
    merged = {**base, **changes}
    old, new = base.get("prompts"), changes.get("prompts")
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        merged["prompts"] = {k: v for k, v in {**old, **new}.items() if v is not None}
    return {name: value for name, value in merged.items() if value is not None}


def prompts_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """Its prompts; {} where there are none, also where somebody wrote something else there."""
    prompts = config.get("prompts")
    return dict(prompts) if isinstance(prompts, Mapping) else {}


def hash_of(prompt: Any) -> str:
    """The content hash that a configuration names in place of a text, else ""."""
    named = isinstance(prompt, Mapping) and prompt.keys() == {PROMPT}
    return str(prompt[PROMPT]) if named else ""


def with_texts(config: Mapping[str, Any], texts: Iterable[str]) -> dict[str, Any]:
    """The configuration with the texts themselves; one that is not among `texts` stays named."""
    known = {prompt_hash(text): text for text in texts}
    prompts = prompts_of(config)
    if not prompts:
        return dict(config)
    whole = {name: known.get(hash_of(prompt), prompt) for name, prompt in prompts.items()}
    return {**config, "prompts": whole}
