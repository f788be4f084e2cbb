"""The environments, made once for a run of these tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from .environments import Author, author, wheels


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return wheels(tmp_path_factory.mktemp("wheels"))


@pytest.fixture(scope="session")
def product(tmp_path_factory: pytest.TempPathFactory, built: dict[str, Path]) -> Author:
    """The product and its client beside LangGraph and Pydantic AI, without the agents that ship."""
    wheels = [built["gatepost"], built["gatepost_client"]]
    return author(tmp_path_factory.mktemp("author") / "env", "product", *wheels)


@pytest.fixture(scope="session")
def client(tmp_path_factory: pytest.TempPathFactory, built: dict[str, Path]) -> Author:
    """The client beside the OpenAI Agents SDK."""
    folder = tmp_path_factory.mktemp("author") / "env"
    return author(folder, "openai-agents", built["gatepost_client"])
