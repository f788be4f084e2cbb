"""`up --model auto`: which server of models answers on this machine."""

import os
from dataclasses import dataclass

import httpx2

from checkpoints.outbound import connections

from .process.folders import EmbeddedError

ANSWER_SECONDS = 0.5
# Where these servers listen as they come; all of them speak Chat Completions.
PORTS = {"Ollama": 11434, "LM Studio": 1234, "llama.cpp": 8080}


@dataclass(frozen=True)
class LocalModel:
    """A model that answers here, as GATEPOST_MODEL names it."""

    server: str
    name: str
    url: str

    @property
    def setting(self) -> str:
        """The value of GATEPOST_MODEL."""
        return f"openai:{self.name}@{self.url}"


def find_model() -> LocalModel | None:
    """The first model of the first server that answers; None where none does."""
    for server, port in PORTS.items():
        url = f"http://127.0.0.1:{port}/v1"
        try:
            with connections.client(url, timeout=ANSWER_SECONDS) as client:
                answer = client.get(f"{url}/models")
            names = [str(model["id"]) for model in answer.json()["data"]]
        except (httpx2.HTTPError, ValueError, KeyError, TypeError):
            continue
        for name in names:
            if name and not any(c.isspace() or c == "@" for c in name):
                return LocalModel(server, name, url)
    return None


def choose_model(wanted: str) -> str:
    """Let this installation ask the wanted model; a line about it for the person at the console.

    "auto" looks for one. Raises EmbeddedError for a name that says nothing.
    """
    if not wanted:
        return ""
    if wanted != "auto":
        if ":" not in wanted:
            raise EmbeddedError(
                f"--model {wanted}: write auto, openai:NAME, anthropic:NAME (either with @URL), "
                "another provider's PROVIDER:NAME or package.module:function."
            )
        os.environ["GATEPOST_MODEL"] = wanted
        return f"Model: {wanted}"
    model = find_model()
    if model is None:
        places = ", ".join(f"{server} on {port}" for server, port in PORTS.items())
        return f"Model: none answers on this machine ({places}). Agents use their tools alone."
    os.environ["GATEPOST_MODEL"] = model.setting
    return f"Model: {model.name}, {model.server} at {model.url}"
