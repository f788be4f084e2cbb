"""A model on this machine: found, loaded, asked, streamed and stopped by llama.cpp itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from checkpoints.signals import activity_progressed
from checkpoints.states import Status
from dashboard.operate.embedded import local_models
from tests.unit.workers.conftest import Bench, bench_of
from tests.unit.workers.graphs import conversing
from workers.step import token_stream

from .local_model import NAME, serving_local_model

pytestmark = [pytest.mark.django_db, pytest.mark.requirement("A39")]
MESSAGES = [{"role": "user", "content": "How warm is it?"}]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("local-model")
    with serving_local_model(folder) as address:
        assert (folder / "model.gguf").stat().st_size < 1_000_000
        yield address


def answer(bench: Bench, **query: Any) -> dict[str, Any]:
    """What the model answers in a thread of its own."""
    thread = bench.start(query={"messages": MESSAGES, "temperature": 0, **query})
    row = bench.advance(thread)
    assert (row.status, row.status_reason) == (Status.SUCCEEDED, "")
    assert bench.intact(thread)
    result: dict[str, Any] = bench.state(thread)["answers"][0]
    return result


# llama.cpp speaks both protocols.
@pytest.mark.slow
@pytest.mark.parametrize("wire", ["openai", "anthropic", "openai-chat"])
def test_a_local_model_is_asked_and_stopped(address: str, settings: Any, wire: str) -> None:
    settings.GATEPOST_MODEL = f"{wire}:{NAME}@{address}"
    bench = bench_of(conversing)
    long = answer(bench, max_tokens=40)
    assert (long["finish_reason"], long["usage"]["tokens_out"]) == ("length", 40)
    assert len(long["text"]) > 20
    # Nobody knows its price.
    assert (long["usage"]["model"], long["usage"]["unpriced"]) == (NAME, True)
    stop = long["text"][10]
    stopped = answer(bench, max_tokens=40, stop=[stop])
    assert (stopped["finish_reason"], stop in stopped["text"]) == ("stop", False)
    assert long["text"].startswith(stopped["text"])


def test_what_it_says_under_a_grammar_fits_the_schema(address: str, settings: Any) -> None:
    settings.GATEPOST_MODEL = f"openai:{NAME}@{address}"
    schema = {"type": "object", "properties": {"warm": {"type": "boolean"}}, "required": ["warm"]}
    result = answer(bench_of(conversing), max_tokens=200, schema=schema)
    assert result["data"] in ({"warm": True}, {"warm": False})
    assert "error" not in result


def test_auto_finds_it_and_its_words_are_shown_as_they_come(
    address: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATEPOST_MODEL", "")
    port = int(address.removesuffix("/v1").rpartition(":")[2])
    monkeypatch.setattr(local_models, "PORTS", {"llama.cpp": port})
    assert local_models.choose_model("auto") == f"Model: {NAME}, llama.cpp at {address}"
    settings.GATEPOST_MODEL = os.environ["GATEPOST_MODEL"]
    monkeypatch.setattr(token_stream, "EVERY_SECONDS", 0.0)
    shown: list[str] = []

    def listen(progress: dict[str, Any], **_kwargs: Any) -> None:
        shown.append(progress["stream"])

    activity_progressed.connect(listen)
    try:
        text = answer(bench_of(conversing), max_tokens=40)["text"]
    finally:
        activity_progressed.disconnect(listen)
    assert shown.pop() == ""
    assert shown[-1] == text
    assert len(shown) > 20
    assert all(longer.startswith(text) for text, longer in pairwise(shown))
