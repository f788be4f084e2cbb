"""`up --model auto` takes the model that answers on this machine, and says which one."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from dashboard.operate.embedded import local_models
from dashboard.operate.embedded.arguments import from_command_line
from dashboard.operate.embedded.process.folders import EmbeddedError
from workers.language.configuration import model_of


@contextmanager
def listing(body: bytes) -> Iterator[int]:
    """A server that lists its models so; its port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/v1/models" else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_args: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(autouse=True)
def _environment(monkeypatch: Any) -> None:
    monkeypatch.setenv("GATEPOST_MODEL", "")


def models(*names: str) -> bytes:
    return json.dumps({"data": [{"id": name} for name in names]}).encode()


def test_the_first_server_that_answers_is_taken(monkeypatch: Any) -> None:
    with listing(b"<html>") as other, listing(models("a b", "llama3:8b")) as port:
        ports = {"Ollama": 1, "LM Studio": other, "llama.cpp": port}
        monkeypatch.setattr(local_models, "PORTS", ports)
        line = local_models.choose_model("auto")
    url = f"http://127.0.0.1:{port}/v1"
    assert line == f"Model: llama3:8b, llama.cpp at {url}"
    assert os.environ["GATEPOST_MODEL"] == f"openai:llama3:8b@{url}"
    model: Any = model_of(os.environ["GATEPOST_MODEL"])
    assert (model.name, model.url, model.key) == ("llama3:8b", url, "")


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", models(), models("@", "")])
def test_none_is_not_made_up(monkeypatch: Any, body: bytes) -> None:
    with listing(body) as port:
        monkeypatch.setattr(local_models, "PORTS", {"Ollama": port})
        line = local_models.choose_model("auto")
    assert line.startswith("Model: none answers on this machine (Ollama on ")
    assert os.environ["GATEPOST_MODEL"] == ""


def test_a_model_by_name() -> None:
    assert local_models.choose_model("anthropic:x") == "Model: anthropic:x"
    assert os.environ["GATEPOST_MODEL"] == "anthropic:x"
    assert from_command_line(["--model", "auto"]).model == "auto"
    assert local_models.choose_model("") == ""
    with pytest.raises(EmbeddedError, match="--model gpt: write auto"):
        local_models.choose_model("gpt")
