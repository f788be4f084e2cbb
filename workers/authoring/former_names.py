"""Modules that stood under other names: what is stored, or set, may still name them so."""

from typing import Final

# {former name: name}; what is in a package moved with it.
FORMER: Final = {
    **{
        f"agents.{name}": f"gatepost_agents.{name}"
        for name in (
            *("deep_research", "dependency_audit", "language", "market_research", "outreach"),
            *("payments", "published", "testbank", "weather_watch"),
        )
    },
    "contrib.graph_store": "gatepost.contrib.graph_store",
    "contrib.langgraph": "gatepost.langgraph",
    "contrib.saga": "gatepost.contrib.saga",
}


def current_name(module: str) -> str:
    """The name under which a module stands now."""
    return _renamed(module, FORMER)


def former_name(module: str) -> str:
    """The name under which a module stood before; its own where it never moved."""
    return _renamed(module, {now: before for before, now in FORMER.items()})


def former_file(file: str) -> str:
    """The path of a module of an agent, as it was within the folder from which it was imported."""
    before, now = "agents/", "gatepost_agents/"
    return before + file.removeprefix(now) if file.startswith(now) else file


def _renamed(module: str, names: dict[str, str]) -> str:
    for name, other in names.items():
        if module == name or module.startswith(f"{name}."):
            return other + module[len(name) :]
    return module
