"""Conversations in memory through the API: in order, as a whole, once, each item to one caller."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart

from checkpoints.memories import TEXT_MAX
from dashboard.identity import tokens
from gatepost_client import agent, conversations, step
from gatepost_client.conversations import Conversation
from gatepost_client.pydantic_ai import MessageHistory
from gatepost_client.wire import requests
from gatepost_client.wire.errors import ClientError, NotConfigured, Refused
from gatepost_client.wire.flow import Disconnected, Send
from gatepost_client.wire.settings import Settings
from gatepost_client.wire.transports import Blocking
from tests.contract.clients.bench import ROOT, Server

pytestmark = [pytest.mark.slow, pytest.mark.requirement("A10")]


def named(person: str) -> Any:
    """Somebody of the cast."""
    return get_user_model().objects.get(username=person)


@pytest.fixture
def settings(server: Server) -> Callable[..., Settings]:
    """Settings of a client: of a person, with these scopes."""

    def make(person: str = "operator", *scopes: str) -> Settings:
        user = named(person)
        wanted = ["read", *(scopes or ("memory",))]
        return Settings(server.url, tokens.make(user, made_by="user:0", scopes=wanted)[1])

    return make


@pytest.fixture
def talk(settings: Callable[..., Settings]) -> Callable[..., Conversation]:
    """Makes conversations in the memory of an agent, with one token."""
    chosen = settings()

    def make(name: str) -> Conversation:
        return Conversation(name, scope="agent", owner="talker", settings=chosen)

    return make


def rows_of(conversation: Conversation) -> list[dict[str, Any]]:
    """All memories of a conversation, also those that are not read."""
    with conversation._connected() as perform:
        return list(conversation._rows(perform))


@pytest.fixture
def lossy(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], list[str]]:
    """Lets the answers of writes get lost, every n-th; returns those that were."""
    monkeypatch.setattr(requests, "FIRST_PAUSE", 0.0)
    do = Blocking._do

    def lose(every: int) -> list[str]:
        writes, lost = 0, []

        def done(self: Blocking, command: Any) -> Any:
            nonlocal writes
            answer = do(self, command)
            if isinstance(command, Send) and command.method == "POST":
                writes += 1
                if writes % every == 0:
                    lost.append(command.path.rstrip("/").rpartition("/")[2])
                    raise Disconnected("the answer was lost")
            return answer

        monkeypatch.setattr(Blocking, "_do", done)
        return lost

    return lose


@pytest.mark.parametrize(("seed", "longest"), [(1, TEXT_MAX), (2, 90), (3, 60)])
def test_it_is_a_list_whose_answers_may_get_lost(
    talk: Callable[..., Conversation],
    lossy: Callable[[int], list[str]],
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    longest: int,
) -> None:
    """Generated calls answer what a list answers; a small bound makes many entries of one call."""
    monkeypatch.setattr(conversations, "TEXT_MAX", longest)
    lost = lossy(2)
    chance = random.Random(seed)
    conversation, expected, n = talk(f"sweep.{seed} 100%"), list[Any](), 0
    for _ in range(30):
        call = chance.choice(
            ["add", "add", "add", "pop", "pop", "items", "clear" if n > 20 else "add"]
        )
        if call == "add":
            new = [
                {"n": n + i, "ü": "x" * chance.randrange(30)} for i in range(chance.randrange(6))
            ]
            n += len(new)
            conversation.add(new)
            expected += new
        elif call == "pop":
            assert conversation.pop() == (expected.pop() if expected else None)
        elif call == "clear":
            conversation.clear()
            expected.clear()
        limit = chance.choice([None, 0, 1, 3, 7])
        assert conversation.items(limit) == (
            expected if limit is None else expected[-limit:] if limit else []
        )
    assert {"memories", "correct", "forget"} <= set(lost)


def test_conversations_with_alike_names_are_apart(talk: Callable[..., Conversation]) -> None:
    names = ["a", "a.b", "a%2Eb", "A", "a b"]
    for name in names:
        talk(name).add([name])
    assert [talk(name).items() for name in names] == [[name] for name in names]
    talk("a").clear()
    assert talk("a.b").items() == ["a.b"]


def test_an_addition_that_stopped_half_way_is_not_there(
    talk: Callable[..., Conversation], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversations, "TEXT_MAX", 40)
    conversation = talk("half")
    conversation.add(["before"])
    perform, calls = Blocking.perform, 0

    def third_fails(self: Blocking, flow: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise ConnectionError
        return perform(self, flow)

    with monkeypatch.context() as patched:
        patched.setattr(Blocking, "perform", third_fails)
        with pytest.raises(ConnectionError):
            conversation.add(["x" * 30, "y" * 30, "z" * 30])
    assert conversation.items() == conversation.items(5) == ["before"]
    conversation.add(["after"])
    assert [conversation.pop(), conversation.pop(), conversation.pop()] == ["after", "before", None]
    conversation.clear()
    assert rows_of(conversation) == []


def test_what_is_too_long_is_refused_before_anything_is_added(
    talk: Callable[..., Conversation],
) -> None:
    assert conversations.TEXT_MAX == TEXT_MAX
    conversation = talk("long")
    conversation.add(["x" * (TEXT_MAX - 4), "y" * (TEXT_MAX - 4)])
    with pytest.raises(ValueError, match=r"Item 1 has 100,001 characters as JSON; .* 100,000"):
        conversation.add(["short", "x" * (TEXT_MAX - 3)])
    assert [len(one) for one in conversation.items()] == [TEXT_MAX - 4] * 2


def test_each_item_goes_to_one_of_those_who_remove_at_the_same_time(
    talk: Callable[..., Conversation],
) -> None:
    for name, additions in (("one", [list(range(12))]), ("many", [[n] for n in range(12)])):
        for items in additions:
            talk(name).add(items)
        with ThreadPoolExecutor(4) as pool:
            removed = list(pool.map(lambda _, name=name: talk(name).pop(), range(12)))
        assert sorted(removed) == list(range(12)), name
        assert talk(name).items() == []


def test_what_is_added_at_the_same_time_is_all_there(talk: Callable[..., Conversation]) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: talk("both").add([[n, 0], [n, 1]]), range(12)))
    items = talk("both").items()
    assert sorted(items) == [[n, i] for n in range(12) for i in range(2)]
    assert all(first[0] == second[0] for first, second in zip(items[::2], items[1::2], strict=True))


def test_more_than_a_page_is_read(talk: Callable[..., Conversation]) -> None:
    conversation = talk("pages")
    for n in range(45):
        conversation.add([n])
    assert conversation.items() == list(range(45))
    assert conversation.items(41) == list(range(4, 45))


def test_a_text_that_is_no_list_any_more_is_named(
    server: Server, talk: Callable[..., Conversation], settings: Callable[..., Settings]
) -> None:
    conversation = talk("corrected")
    conversation.add(["a"])
    (row,) = rows_of(conversation)
    change = conversations.api.change_memory(
        row["id"], "correct", {"text": "Not JSON.", "reason": "A test"}
    )
    with conversation._connected() as perform:
        perform(change)
    with pytest.raises(ClientError, match=rf"The memory {row['id']} is no longer a JSON list"):
        conversation.items()
    conversation.clear()
    assert conversation.items() == []


def test_whose_memory_it_is(settings: Callable[..., Settings]) -> None:
    with pytest.raises(ValueError, match="A scope is one of"):
        Conversation("n", scope="thread", owner="x")
    for scope, owner in (("agent", ""), ("workspace", "x")):
        with pytest.raises(ValueError, match="An agent or a person owns it"):
            Conversation("n", scope=scope, owner=owner)
    with pytest.raises(ValueError, match="needs a name"):
        Conversation("")
    chosen = settings()
    own = Conversation("n", scope="person", owner=f"user:{named('operator').pk}", settings=chosen)
    own.add(["mine"])
    assert own.items() == ["mine"]
    manager = f"user:{named('manager').pk}"
    other = Conversation("n", scope="person", owner=manager, settings=chosen)
    with pytest.raises(ClientError, match=f"may write, but not read, the memory of {manager}"):
        other.add(["theirs"])


def test_a_token_without_the_scope_is_refused(settings: Callable[..., Settings]) -> None:
    reading = Conversation("n", settings=settings("operator", "start"))
    with pytest.raises(Refused, match="lacks the scope 'memory'"):
        reading.add(["a"])


def test_a_thread_does_not_read_it_unrecorded(
    server: Server, talk: Callable[..., Conversation], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATEPOST_URL", server.url)
    monkeypatch.setenv("GATEPOST_TOKEN", server.token)
    conversation = talk("thread")

    @step
    def read() -> Any:
        return conversation.items()

    @agent("conversing", thread="{name}")
    def main(name: str) -> Any:
        with pytest.raises(NotConfigured, match="not recorded in the thread"):
            conversation.add([name])
        return read()

    assert main("one") == []


def test_messages_of_pydantic_ai_are_the_same_afterwards(
    settings: Callable[..., Settings],
) -> None:
    history = MessageHistory("typed", settings=settings())
    assert history.load() == []
    first = [
        ModelRequest([UserPromptPart("When is Weber paid?")]),
        ModelResponse([TextPart("Within 30 days.")], model_name="m"),
    ]
    last = [ModelRequest([UserPromptPart(["And", "Sørensen?"])])]
    history.add(first)
    history.add(last)
    assert history.load() == [*first, *last]
    history.clear()
    assert history.load() == []


def test_the_code_of_the_page_continues_a_conversation(
    settings: Callable[..., Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs/howto/pydantic-ai.md").read_text()
    (code,) = re.findall(r'^```python title="support.py"\n(.*?)^```', page, re.M | re.S)
    chosen = settings()
    monkeypatch.setenv("GATEPOST_URL", chosen.url)
    monkeypatch.setenv("GATEPOST_TOKEN", chosen.token)
    names: dict[str, Any] = {"__name__": "support"}
    exec(compile(code, "support.py", "exec"), names)
    with asyncio.Runner() as loops:
        loops.get_loop()  # `run_sync` takes the current loop; one that it makes is never closed
        for question in ("One?", "Two?"):
            assert names["answer"]("7", question, model="test")
    history = MessageHistory("support-7", scope="agent", owner="support", settings=chosen)
    questions = [part.content for one in history.load() for part in one.parts][::2]
    assert questions == ["One?", "Two?"]
