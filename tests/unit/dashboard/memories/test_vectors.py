"""Page, call, command, doctor and metrics say how far the vectors are, and what is away."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from checkpoints import queries, store
from checkpoints.memories import NewMemory
from checkpoints.vectors import configured
from dashboard.configuration.sources import Misconfigured
from dashboard.configuration.vectors import store as checked
from dashboard.live import metrics
from dashboard.live.metrics import exposition
from dashboard.operate.doctor import memory as check
from tests.support.cast import Cast
from tests.support.embeddings import Embeddings, embedding_server
from workers.language import nearest_memories
from workers.language.embeddings import model_name
from workers.slot.vectors import VectorMaker

pytestmark = pytest.mark.requirement("A11")
GERMAN = "Das Lager schliesst um vier."
QUESTION = "Which warehouse shuts early?"


@pytest.fixture
def server(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Embeddings]:
    monkeypatch.setattr(nearest_memories, "_failed", {})
    with embedding_server() as seen:
        settings.GATEPOST_EMBEDDINGS = seen.setting
        yield seen


@pytest.fixture
def operator(cast: Cast) -> Client:
    client: Client = cast.client("operator")
    return client


def keep(cast: Cast, text: str) -> Any:
    new = NewMemory("workspace", "", "fact", text, source="person")
    return store.remember(cast.workspace, new, actor="user:1")


def command(*words: str) -> Any:
    out = StringIO()
    call_command("vectors", *words, "--json", stdout=out)
    return json.loads(out.getvalue())


def test_the_page_says_what_waits_and_finds_by_meaning(
    server: Embeddings, cast: Cast, operator: Client
) -> None:
    keep(cast, GERMAN)
    page = operator.get("/memories/", {"q": QUESTION}).content.decode()
    assert "1 of 1 are found by their words only" in page
    assert GERMAN not in page
    VectorMaker(owner="worker:test").turn()
    page = operator.get("/memories/", {"q": QUESTION}).content.decode()
    assert GERMAN in page
    assert "found by their words only" not in page


def test_page_and_call_say_that_words_alone_answered(
    server: Embeddings, cast: Cast, operator: Client
) -> None:
    keep(cast, "The depot closes at four.")
    server.status = 503
    page = operator.get("/memories/", {"q": "depot"}).content.decode()
    assert "The depot closes at four." in page
    assert "Found by words alone: The embedding server answered 503." in page
    answer = operator.get("/api/v1/memories/", {"q": "depot"}).json()
    assert len(answer["results"]) == 1
    assert "answered 503" in answer["words_alone"]
    assert operator.get("/api/v1/memories/").json()["words_alone"] is None


def test_without_a_model_nothing_is_said(settings: Any, cast: Cast, operator: Client) -> None:
    keep(cast, "The depot closes at four.")
    page = operator.get("/memories/", {"q": "depot"}).content.decode()
    assert "words alone" not in page
    assert "found by their words only" not in page
    assert b"gatepost_memories" not in exposition()
    (finding,) = check.vectors(None)  # type: ignore[arg-type]
    assert finding.value == "none: memories are found by words"


def test_doctor_and_metrics_count_what_waits(
    server: Embeddings, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics, "KEPT_SECONDS", 0.0)
    keep(cast, GERMAN)
    (finding,) = check.vectors(None)  # type: ignore[arg-type]
    assert "of" in finding.value
    assert b"gatepost_memories_waiting 1.0" in exposition()
    server.status = 503
    (finding,) = check.vectors(None)  # type: ignore[arg-type]
    assert "answered 503" in finding.value


@pytest.mark.slow
def test_a_store_is_filled_and_compared_by_command(
    server: Embeddings, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    from qdrant_client import QdrantClient

    from checkpoints.vectors.qdrant import Qdrant

    target = Qdrant(QdrantClient(":memory:"), model="tiny", address="local", is_local=True)
    row = keep(cast, GERMAN)
    VectorMaker(owner="worker:test").turn()
    assert command()["waiting"] == 0
    monkeypatch.setattr(configured, "opened", lambda where, model: target)
    shown = command("--fill", "qdrant:http://127.0.0.1:6333")
    assert (shown["entries"], shown["missing"], shown["extra"]) == (1, 0, 0)
    assert target.revisions(cast.workspace) == {row.id: 1}
    assert queries.unsent_count(target.name, model_name()) == 1, "the worker sends on its own"
    monkeypatch.setattr(target, "put", lambda entries: None)
    target.clear()
    with pytest.raises(CommandError, match="differs"):
        command("--fill", "qdrant:http://127.0.0.1:6333")
    command("--clear", "qdrant:http://127.0.0.1:6333")
    assert target.count() == 0


def test_a_store_that_does_not_answer_is_named(server: Embeddings, cast: Cast) -> None:
    with pytest.raises(CommandError, match="Qdrant does not answer"):
        command("--fill", "qdrant:http://127.0.0.1:1")
    with pytest.raises(CommandError, match="Milvus does not answer"):
        command("--fill", "milvus:http://127.0.0.1:1")
    with pytest.raises(CommandError, match="is empty, qdrant"):
        command("--fill", "weaviate:http://127.0.0.1:1")


@pytest.mark.parametrize(
    ("text", "key", "why"),
    [
        ("chroma:http://127.0.0.1", "", "is empty, qdrant"),
        ("milvus:ftp://127.0.0.1", "", "must be http"),
        ("milvus:http://169.254.169.254", "", "not an address"),
        ("qdrant:ftp://127.0.0.1", "", "must be http"),
        ("qdrant:http://169.254.169.254", "", "not an address"),
        ("qdrant:http://user:word@127.0.0.1", "", "must not carry"),
        ("qdrant:http://vectors.example:6333", "a-key", "over https"),
    ],
)
def test_a_store_that_is_misconfigured_is_refused_at_the_start(
    text: str, key: str, why: str
) -> None:
    with pytest.raises(Misconfigured, match=why):
        checked(text, embeddings="openai:tiny", key=key)
    assert checked("qdrant:https://vectors.example", embeddings="openai:tiny", key="a-key")


def test_the_commands_need_a_model(db: None) -> None:
    with pytest.raises(CommandError, match="GATEPOST_EMBEDDINGS"):
        command()
