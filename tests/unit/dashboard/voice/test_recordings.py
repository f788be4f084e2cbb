"""Recordings of utterances: kept as files, turned into text by a server, or typed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from pytest_django import DjangoDbBlocker

from checkpoints import queries
from checkpoints.queries.conversations.utterances import recorded_utterances
from tests.conftest import real_database
from tests.faults.bench import wait_until
from tests.support.cast import Cast, make_cast
from tests.unit.dashboard.live.following import Server, started
from tests.unit.workers.graphs import voiced
from workers.code.registry import announce
from workers.language.transcription import NotTranscribed, transcribe

from .speech import Speech, answer_of, speech_server
from .talking import Talker

pytestmark = [pytest.mark.requirement("A33"), pytest.mark.usefixtures("hot_store")]
AUDIO = bytes(range(256)) * 40


@pytest.fixture(scope="module")
def speech() -> Iterator[Speech]:
    with speech_server() as server:
        yield server


@pytest.fixture(scope="module")
def served(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, speech: Speech
) -> Iterator[tuple[Server, Cast]]:
    with (
        django_db_blocker.unblock(),
        real_database("gatepost_test_recordings"),
        pytest.MonkeyPatch.context() as patched,
    ):
        patched.setenv("GATEPOST_SPEECH", speech.setting)
        patched.setenv("GATEPOST_RECORDING_BYTES", "20000")
        cast = make_cast()
        announce(voiced.graph, {}, [voiced])
        with started(600) as server:
            yield server, cast


@pytest.fixture
def talker(
    served: tuple[Server, Cast], hot_store: redis.Redis, speech: Speech, request: Any
) -> Iterator[Talker]:
    server, cast = served
    speech.answer, speech.status = answer_of(" What will the weather be? "), 200
    key = str(cast.client("operator").session.session_key)
    with Talker(server.origin, request.node.name, key=key) as one:
        assert one.join()["next"] == 1
        yield one


def record(talker: Talker, number: int, *chunks: bytes, text: str = "") -> dict[str, Any]:
    talker.send("record", number=number, media_type="audio/webm;codecs=opus")
    for chunk in chunks:
        talker.line.send(chunk)
    return talker.say(number, text)


@pytest.mark.slow
def test_a_recording_is_heard_kept_and_named_by_its_event(
    talker: Talker, served: tuple[Server, Cast], speech: Speech, request: Any
) -> None:
    answer = record(talker, 1, AUDIO[:4_000], AUDIO[4_000:])
    assert answer["type"] == "buffered", answer
    assert talker.heard[-1] == {"type": "heard", "number": 1, "text": "What will the weather be?"}
    assert speech.files[-1] == AUDIO
    assert speech.forms[-1] == {"model": "small", "response_format": "json"}
    assert speech.paths[-1] == "/v1/audio/transcriptions"
    # The same recording once more is the same utterance.
    assert record(talker, 1, AUDIO)["again"] is True
    workspace = served[1].workspace
    thread = queries.thread_named(request.node.name, agent="voiced", workspace=workspace)
    assert thread is not None
    [row] = wait_until(lambda: recorded_utterances(thread.id, first=1, limit=10))
    assert row.value == {"number": 1, "text": "What will the weather be?"}
    assert row.audio is not None
    assert (row.audio["name"], row.audio["media_type"]) == ("utterance-1.webm", "audio/webm")
    assert row.audio["size"] == len(AUDIO)
    assert row.audio["$artifact"] in queries.known_files(
        {row.audio["$artifact"]}, workspace=workspace
    )


def test_typed_words_ask_no_server(talker: Talker, speech: Speech) -> None:
    before = len(speech.files)
    assert record(talker, 1, AUDIO, text="my own words")["type"] == "buffered"
    assert len(speech.files) == before
    talker.join()
    assert talker.played() == [(1, "my own words")]


def test_what_cannot_be_heard_is_refused_and_can_be_typed(talker: Talker, speech: Speech) -> None:
    for answer, status, words in (
        ("{}", 200, "its answer has no text"),
        ("no json", 200, "gave no text"),
        (answer_of(""), 200, "no words were heard"),
        (answer_of("late"), 503, "it answered 503"),
        (json.dumps({"text": "x" * (1 << 20)}), 200, "its answer is too long"),
        (answer_of("x" * 20_000), 200, "20,000 bytes"),
    ):
        speech.answer, speech.status = answer, status
        refused = record(talker, 1, AUDIO)
        assert refused["type"] == "refused", (answer[:40], refused)
        assert words in refused["detail"], refused
    assert record(talker, 1, AUDIO, text="typed")["type"] == "buffered"


def test_bad_recordings_are_refused_and_the_conversation_continues(talker: Talker) -> None:
    for media_type in (None, "text/html", "audio/", "audio/webm\n", 7):
        talker.send("record", number=1, media_type=media_type)
        assert talker.message("refused")["code"] == "invalid"
    talker.line.send(b"no recording was begun")
    assert "`record` comes before" in talker.message("refused")["detail"]
    talker.send("record", number=1, media_type="audio/webm")
    talker.line.send(bytes(20_001))
    assert "more than 20,000 bytes" in talker.message("refused")["detail"]
    assert "without content" in record(talker, 1)["detail"]
    assert talker.say(1, "")["code"] == "invalid"
    assert talker.say(1, "words")["type"] == "buffered"


def test_without_a_server_nothing_is_sent_anywhere(settings: Any) -> None:
    for value in ("", "anthropic:claude", "nobody:x", "openai:x@http://127.0.0.1:1/v1"):
        settings.GATEPOST_SPEECH = value
        with pytest.raises(NotTranscribed):
            transcribe(b"x", name="x.webm", media_type="audio/webm")
