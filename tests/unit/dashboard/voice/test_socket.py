"""The voice socket on a real server: acknowledged, played back, refused with a reason."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from pytest_django import DjangoDbBlocker
from websockets.exceptions import InvalidStatus

from approvals.policies import changes as policies
from approvals.policies.drafts import Draft
from checkpoints import queries, store
from checkpoints.queries.conversations.utterances import recorded_utterances
from dashboard.identity import tokens
from dashboard.wire.progress import read_progress
from tests.conftest import real_database
from tests.faults.bench import wait_until
from tests.support.cast import Cast, make_cast
from tests.unit.dashboard import scene
from tests.unit.dashboard.live.following import RECHECK, Server, started
from tests.unit.workers.graphs import voiced
from workers.code.registry import announce

from .talking import Talker

pytestmark = [pytest.mark.requirement("A33"), pytest.mark.usefixtures("hot_store")]


class Voice:
    """A server, people, and conversations of one test."""

    def __init__(self, server: Server, cast: Cast) -> None:
        self.server, self.cast = server, cast

    def talk(self, name: str, person: str = "operator", **more: Any) -> Talker:
        if not more.keys() & {"token", "key"}:
            more["key"] = str(self.cast.client(person).session.session_key)
        return Talker(self.server.origin, name, **more)

    def thread(self, name: str, agent: str = "voiced") -> Any:
        row = queries.thread_named(name, agent=agent, workspace=self.cast.workspace)
        assert row is not None
        return row


@pytest.fixture(scope="module")
def served(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[tuple[Server, Cast]]:
    with django_db_blocker.unblock(), real_database("gatepost_test_voice"):
        cast = make_cast()
        announce(voiced.graph, {}, [voiced])
        scene.make_agent("research", inbox="findings")
        with started(600) as server:
            yield server, cast


@pytest.fixture
def voice(served: tuple[Server, Cast], hot_store: redis.Redis) -> Voice:
    return Voice(*served)


@pytest.mark.slow
def test_an_utterance_is_buffered_recorded_and_played_back(voice: Voice) -> None:
    with voice.talk("greeting") as one:
        assert one.join()["next"] == 1
        joined = one.heard[0]
        assert (joined["type"], joined["limits"]["bytes"]) == ("joined", 16_384)
        for number in (1, 2, 3):
            answer = one.say(number, f"words {number}")
            assert answer == {"type": "buffered", "number": number, "again": False}
        # The acknowledgement of one that is sent again is the same, and it is there once.
        assert one.say(2, "words 2") == {"type": "buffered", "number": 2, "again": True}
        one.recorded(3)
    thread = voice.thread("greeting")
    rows = recorded_utterances(thread.id, first=1, limit=10)
    assert [row.value for row in rows] == [
        {"number": number, "text": f"words {number}"} for number in (1, 2, 3)
    ]
    assert {row.actor for row in rows} == {f"user:{voice.cast.users['operator'].pk}"}
    with voice.talk("greeting") as again:
        assert again.join(2)["next"] == 4
        assert again.played() == [(2, "words 2"), (3, "words 3")]
        assert again.join(4)["next"] == 4
        assert again.played() == []


def test_a_hot_store_that_forgot_plays_back_from_the_log(
    voice: Voice, hot_store: redis.Redis
) -> None:
    with voice.talk("forgetful") as one:
        one.join()
        one.say(1, "first")
        one.recorded(1)
        hot_store.flushall()
        # On the same socket: it opens the buffer anew, behind what is recorded.
        assert one.say(2, "second")["type"] == "buffered"
        assert one.say(1, "first") == {"type": "buffered", "number": 1, "again": True}
        assert one.say(1, "not first")["code"] == "other-words"
        one.recorded(2)
        assert one.join()["next"] == 3
        assert one.played() == [(1, "first"), (2, "second")]


def test_what_is_wrong_is_refused_with_its_reason_and_nothing_is_lost(voice: Voice) -> None:
    with voice.talk("strict") as one:
        one.send("say", number=1, text="too early")
        assert "join" in one.message("closed")["reason"]
    with voice.talk("strict") as one:
        one.join()
        one.say(1, "first")
        late = one.say(3, "third")
        assert (late["code"], late["expected"], late["number"]) == ("out-of-order", 2, 3)
        other = one.say(1, "not first")
        assert (other["code"], other["expected"]) == ("other-words", 2)
        long = one.say(2, "x" * 16_385)
        assert (long["code"], long["detail"]) == (
            "invalid",
            "text: This has 16,385 bytes; an utterance may have 16,384.",
        )
        assert one.say(2, "ä" * 8_192)["type"] == "buffered"
        with voice.talk("another") as two:
            two.join()
            thread = str(voice.thread("another").id)
        assert "another conversation" in one.say(3, "there", thread=thread)["detail"]
        for number in (0, -1, True, "3", None, 2**60, 1.5):
            assert one.say(number, "words")["code"] == "invalid"  # type: ignore[arg-type]
        for text in (None, 7, {"a": 1}, "\ud800", "\u0000"):
            assert one.say(3, text)["code"] == "invalid", text  # type: ignore[arg-type]
        for raw in ("{", "[]", '"say"', '{"type": "dance"}', "x" * 200_000, b"\x00\x01"):
            one.line.send(raw)
            assert one.message("refused")["code"] == "invalid"
        secret = "sk-" + "a1B2c3D4" * 6
        assert one.say(3, f"my key is {secret}")["code"] == "invalid"
        assert one.say(3, "third")["type"] == "buffered"
        one.join()
        assert [number for number, _ in one.played()] == [1, 2, 3]


def test_only_who_may_send_messages_talks_and_only_as_long(voice: Voice) -> None:
    for person in ("viewer", "auditor"):
        with voice.talk("rights", person) as one:
            assert one.closed() == (4403, "Needs the role operator.")
    with voice.talk("rights", key="") as one:
        assert one.closed() == (4403, "You are signed out.")
    user = voice.cast.users["operator"]
    token = tokens.make(user, made_by="user:0", scopes=["read"])[1]
    with voice.talk("rights", token=token) as one:
        assert one.closed() == (4403, "This token lacks the scope 'start'.")
    with pytest.raises(InvalidStatus):  # a page from elsewhere
        Talker(voice.server.origin, "rights", key="x", origin="http://evil.example").close()
    row, token = tokens.make(user, made_by="user:0", scopes=["start"])
    with voice.talk("rights", token=token) as one:
        one.join()
        assert one.say(1, "by token")["type"] == "buffered"
        one.recorded(1)
        began = time.monotonic()
        tokens.revoke(row.prefix, by="user:0")
        code, reason = one.closed(seconds=RECHECK + 10)
        assert (code, reason[:22]) == (4403, "This token was revoked")
        assert time.monotonic() - began < RECHECK + 10
    with voice.talk("rights", token=token) as one:
        assert one.closed()[0] == 4403
    with voice.talk("rights") as one:
        one.join()
        assert one.played() == [(1, "by token")]


def test_workspaces_do_not_meet(voice: Voice) -> None:
    with voice.talk("shared") as one:
        one.join()
        one.say(1, "here")
    with voice.talk("shared", "stranger") as other:
        assert other.join()["next"] == 1
        assert other.played() == []


def test_an_agent_that_takes_messages_gets_messages(voice: Voice) -> None:
    with voice.talk("findings", agent="nobody") as one:
        one.send("join")
        assert "an agent named" in one.closed()[1]
    scene.start(voice.cast.workspace, queries.agent("research", workspace=voice.cast.workspace).id)
    thread = store.start(
        queries.agent("research", workspace=voice.cast.workspace).id,
        input={"goal": "delays"},
        workspace=voice.cast.workspace,
        actor="user:1",
        name="findings",
    )
    with voice.talk("findings", agent="research") as one:
        one.join()
        assert one.say(1, "the north")["type"] == "buffered"
        one.recorded(1)
        assert [row.message for row in queries.waiting_inputs(thread)] == ["the north"]
        store.cancel(thread, actor="user:1")
        one.join(2)
        assert "takes nothing more" in one.say(2, "the south")["detail"]


def test_partial_words_are_progress_and_no_event(voice: Voice) -> None:
    with voice.talk("partial") as one:
        one.join()
        before = voice.thread("partial").last_seq
        for text in ("What", "What will", "What will the weather"):
            one.send("partial", text=text)
        thread = voice.thread("partial").id
        wait_until(lambda: read_progress([thread]), seconds=10)
        wait_until(
            lambda: read_progress([thread])[thread]["stream"] == "What will the weather", seconds=10
        )
        one.send("partial", text="")
        wait_until(lambda: not read_progress([thread]), seconds=10)
        assert voice.thread("partial").last_seq == before


def test_a_policy_that_holds_signals_holds_them_by_voice(voice: Voice) -> None:
    draft = Draft("Signals", "operation == 'signal'")
    rule = policies.make(voice.cast.workspace, draft, actor="user:9")
    try:
        with voice.talk("held") as one:
            one.send("join")
            code, reason = one.closed()
            assert code == 4409
            assert "policy lets somebody else decide" in reason
    finally:
        policies.switch(rule.policy, False, workspace=voice.cast.workspace, actor="user:9")


def test_sockets_of_a_person_are_limited(voice: Voice) -> None:
    opened = [voice.talk("many", "operator") for _ in range(10)]
    for one in opened:
        one.join()
    with voice.talk("many") as more:
        assert more.closed() == (4429, "10 conversations are open already. Close one.")
    opened.pop().close()

    def another() -> bool:
        with voice.talk("many") as more:
            more.send("join")
            return str(more.message("joined", "closed")["type"]) == "joined"

    wait_until(another, seconds=10)
    for one in opened:
        one.close()


def test_names_are_texts(voice: Voice) -> None:
    for name in ("with/slash", "mit Umlaut ä", "a?b#c"):
        with voice.talk(name) as one:
            one.join()
            assert voice.thread(name).name == name
    with voice.talk("x" * 256) as one:
        one.send("join")
        assert "longer than 255" in one.closed()[1]
