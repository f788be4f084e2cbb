"""A thread's configuration as its page shows it, beside what is deployed now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from checkpoints.state.model_configuration import MEMBERS, prompts_of

from .text import cut


@dataclass(frozen=True, slots=True)
class ConfigFact:
    """One member, and the deployed value where that is another one (`differs`)."""

    name: str
    value: Any
    differs: bool = False
    deployed: Any = None


def config_facts(config: Mapping[str, Any], deployed: Mapping[str, Any]) -> list[ConfigFact]:
    """Model and temperature, each prompt by its name, then whatever else was given."""
    facts = [
        _fact(name, name, config, deployed) for name in ("model", "temperature") if name in config
    ]
    recorded, now = prompts_of(config), prompts_of(deployed)
    facts += [_fact(f"prompt {name}", name, recorded, now) for name in recorded]
    return facts + [ConfigFact(k, v) for k, v in config.items() if k not in MEMBERS]


def _fact(
    shown: str, name: str, config: Mapping[str, Any], deployed: Mapping[str, Any]
) -> ConfigFact:
    """A member; where nothing is deployed under its name it differs from nothing."""
    differs = name in deployed and deployed[name] != config[name]
    return ConfigFact(shown, config[name], differs, deployed.get(name))


def conversation_lost(data: Mapping[str, Any]) -> str:
    """A sentence on a conversation that its provider no longer holds, and what its agent chose."""
    name = cut(data.get("conversation") or "?")
    if data.get("if_gone") == "restart":
        then = f"started another with the {data.get('messages', 0)} recorded messages"
    else:
        then = "the agent chose to fail"
    return f"The provider no longer holds the conversation {name}: {then}"


def answer_kept(data: Mapping[str, Any]) -> str:
    """A sentence on an answer of a model that could not be used as it came."""
    size = data.get("size")
    came = f" ({size:,} bytes)" if isinstance(size, int) else ""
    return f"Kept what the model's server sent{came}: {cut(data.get('reason') or '?')}"


def parameter_refused(data: Mapping[str, Any]) -> str:
    """A sentence on a parameter that the model does not take, and what was sent in its place."""
    name, value = data.get("parameter") or "?", cut(str(data.get("value", "?")))
    then = f"sent as {data['sent_as']}" if data.get("sent_as") else "left out"
    return f"The model takes no {name} ({value}): {then}"
