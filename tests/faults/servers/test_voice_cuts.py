"""Sockets cut in mid-utterance, two web processes, one worker: every utterance, in order, once."""

from __future__ import annotations

import json
import random
import socket
import statistics
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import redis

from checkpoints import queries
from checkpoints.chain import verify_thread
from checkpoints.queries.conversations.utterances import recorded_utterances
from dashboard.identity import tokens
from tests.faults.bench import Worker, wait_until, workers
from tests.faults.web import Web
from tests.support.cast import make_cast
from tests.unit.dashboard.voice.talking import Talker

pytestmark = [pytest.mark.slow, pytest.mark.hazard, pytest.mark.requirement("A33")]
CUTS = 200
AGENT = "tests.unit.workers.graphs.voiced"


def cut(talker: Talker) -> None:
    """Take the connection away without a word: a reset, as of a phone that lost its network."""
    line = talker.line.socket
    line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    line.close()
    talker.close()


def half(talker: Talker, message: dict[str, Any]) -> None:
    """Send the first half of a message's frame, and cut."""
    payload = json.dumps(message).encode()
    frame = bytes([0x81, 0x80 | 126]) + len(payload).to_bytes(2) + b"\0\0\0\0" + payload
    talker.line.socket.sendall(frame[: len(frame) // 2])


class Speaker:
    """Says numbered things and keeps each until it is acknowledged, as the page does."""

    def __init__(self, webs: list[Web], token: str) -> None:
        self.webs, self.token, self.joins = webs, token, 0
        self.sent = self.acknowledged = 0
        self.again = 0
        self.took: list[float] = []

    def connect(self) -> Talker:
        """A new socket, at the other web process; all that was said before is played back."""
        web = self.webs[self.joins % len(self.webs)]
        self.joins += 1
        talker = Talker(web.address, "phone", token=self.token)
        following = talker.join()["next"]
        texts = [text for _, text in talker.played()]
        assert [number for number, _ in talker.played()] == list(range(1, following))
        assert texts == [words(number) for number in range(1, following)]
        # Nothing that was acknowledged is missing, nothing came that was not said.
        assert self.acknowledged <= following - 1 <= self.sent
        self.acknowledged = following - 1
        return talker

    def say(self, talker: Talker, number: int) -> None:
        self.sent = max(self.sent, number)
        began = time.perf_counter()
        answer = talker.say(number, words(number))
        self.took.append((time.perf_counter() - began) * 1000)
        assert answer["type"] == "buffered", answer
        self.again += answer["again"]
        self.acknowledged = number


def words(number: int) -> str:
    return f"utterance {number}" + " of some length" * (number % 7)


def test_every_utterance_of_a_cut_conversation_is_there_once_in_order(
    real_db: str, hot_store: redis.Redis, tmp_path: Path, record_property: Any
) -> None:
    cast = make_cast()
    token = tokens.make(cast.users["operator"], made_by="user:0", scopes=["start"])[1]
    chosen = random.Random(42)
    limits = {"GATEPOST_UTTERANCES_PER_MINUTE": "0", "GATEPOST_POLL_SECONDS": "1"}
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    worker = Worker(tmp_path, "talks", environment={"GATEPOST_AGENTS": AGENT})
    webs = [Web(tmp_path / "one", **limits), Web(tmp_path / "other", **limits)]
    places: Counter[str] = Counter()
    try:
        with workers(worker):
            for web in webs:
                web.wait_ready()
            speaker = Speaker(webs, token)
            talker = speaker.connect()
            number = 0
            for _ in range(CUTS):
                for _ in range(chosen.randint(0, 2)):
                    number = speaker.acknowledged + 1
                    speaker.say(talker, number)
                number = speaker.acknowledged + 1
                where = chosen.choice(["partial", "half a frame", "before the answer", "twice"])
                message = {"type": "say", "number": number, "text": words(number)}
                talker.send("partial", text=words(number)[:9])
                if where == "half a frame":
                    half(talker, message)
                elif where != "partial":
                    speaker.sent = number
                    for _ in range(2 if where == "twice" else 1):
                        talker.line.send(json.dumps(message))
                    if chosen.random() < 0.5:
                        time.sleep(0.003)  # maybe it is on disk, maybe not
                cut(talker)
                places[where] += 1
                talker = speaker.connect()
                if speaker.acknowledged < number:
                    speaker.say(talker, number)
            total = speaker.acknowledged
            talker.close()
            thread = queries.thread_named("phone", agent="voiced", workspace=cast.workspace)
            assert thread is not None
            wait_until(
                lambda: len(recorded_utterances(thread.id, first=1, limit=5_000)) >= total,
                what=lambda: queries.thread(thread.id, workspace=cast.workspace),
            )

            def heard() -> list[str]:
                head = queries.thread(thread.id, workspace=cast.workspace).head
                messages = queries.state_at(thread.id, head)["messages"]
                return [m["content"] for m in messages if m["role"] == "user"]

            wait_until(lambda: len(heard()) >= total, seconds=120, what=lambda: len(heard()))
            # The answers, on a socket of either process.
            with Talker(webs[0].address, "phone", token=token) as again:
                again.join(total + 1)
                answers = [text for _, text in again.played("answer")]
    finally:
        for web in webs:
            web.kill()
    rows = recorded_utterances(thread.id, first=1, limit=5_000)
    assert [row.number for row in rows] == list(range(1, total + 1))
    assert [row.value["text"] for row in rows] == [words(n) for n in range(1, total + 1)]
    assert heard() == [words(n) for n in range(1, total + 1)]
    assert answers == [f"You said {words(n)}" for n in range(1, total + 1)]
    assert verify_thread(thread.id).intact
    assert sum(places.values()) == CUTS
    assert min(places.values()) > 20, places
    p99 = statistics.quantiles(speaker.took, n=100)[98]
    record_property("utterances", total)
    record_property("say_to_buffered_p99_ms", round(p99, 1))
    print(
        f"{CUTS} cuts {dict(places)}, {total} utterances, {speaker.joins} joins; say -> buffered: "
        f"p50 {statistics.median(speaker.took):.1f} ms, p99 {p99:.1f} ms"
    )
