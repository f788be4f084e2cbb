"""docs/howto/models.md is taken at its word: settings are understood, its code works."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import pytest

import gatepost
from checkpoints.state.model_configuration import joined_config
from gatepost import END, Context, Graph, Harness, State
from tests.unit.workers.graphs import bare
from tests.unit.workers.graphs.conversing import read_weather
from workers.language.configuration import model_of
from workers.language.endpoints import Endpoint, WireEndpoint
from workers.language.providers import PROVIDERS, REQUIREMENT

from .model_server import Say, serving_models

PAGE = Path(__file__).resolve().parents[4] / "docs/howto/models.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def block(word: str) -> str:
    """The one block of code with this word in it."""
    (code,) = [code for _, code in BLOCKS if word in code]
    return code


class Report(State):
    goal: str = "delays"
    text: str = ""


def test_each_setting_is_understood(monkeypatch: Any) -> None:
    own = ModuleType("mine.model")
    own.answer = bare.answer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "mine", ModuleType("mine"))
    monkeypatch.setitem(sys.modules, "mine.model", own)
    values = re.findall(r"GATEPOST_MODEL=([^\s`]+)|`(openai:[^\s`]+)`", PAGE.read_text())
    models: list[Any] = [model_of(setting or example) for setting, example in values]
    assert len(models) >= 10
    assert sum(isinstance(model, Endpoint) for model in models) == len(models) - 1
    keys = {model.key for model in models if isinstance(model, WireEndpoint)}
    assert keys == {"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "PROXY_KEY", ""}


def test_all_providers_stand_on_the_page_with_their_keys_and_clients() -> None:
    section = PAGE.read_text().partition("### Other providers")[2].partition("\n##")[0]
    for name, (key, part) in PROVIDERS.items():
        (line,) = [line for line in section.splitlines() if re.match(rf"\| .*`{name}`.*\|", line)]
        assert not key or key in line or "and so on" in line, name
        assert f"`{part}` |" in line or part == name, name
    command = next(code for word, code in BLOCKS if word == "sh" and "pip install" in code)
    assert REQUIREMENT.format(part="google") in command


def test_the_call_works_as_written(settings: Any) -> None:
    say = Say('{"celsius": 3}')
    with serving_models(say) as server:
        model = model_of(f"openai:small@{server.url}")
        graph = Graph("asks", Report, model=model)
        names: dict[str, Any] = {"table": [1], "read_weather": read_weather}

        @graph.node(then=END)
        def ask(state: Report, ctx: Context) -> dict[str, Any]:
            exec(block("How warm is it in Oslo?"), {**names, "ctx": ctx}, names)
            return {"text": names["text"]}

        thread = Harness(graph).play()
    assert (thread.status, thread.reason) == ("succeeded", "")
    answer = names["answer"]
    assert answer.data == {"celsius": 3}
    section = PAGE.read_text().partition("An answer to messages has")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?`) \|", section, re.MULTILINE)
    documented = re.findall(r"`(\w+)`", " ".join(rows))
    assert {"text", "reasoning", "tool_calls", "data", "usage", "message"} <= set(documented)
    for name in documented:
        assert hasattr(answer, name), name


@pytest.mark.requirement("A44")
def test_a_conversation_is_held_as_written(settings: Any) -> None:
    names: dict[str, Any] = {**vars(gatepost), "Annotated": Annotated, "Any": Any}
    # Without the future import of this file, so that pydantic sees the types and not their names.
    exec(compile(block("ConversationId"), "howto", "exec", dont_inherit=True), names)
    with serving_models(Say("Yes.")) as server:
        model = model_of(f"openai-responses:small@{server.url}")
        graph = Graph("chats", names["Chat"], model=model)
        graph.node("reply", then=END)(names["reply"])
        messages = [{"role": "user", "content": "Is it warm?"}]
        thread = Harness(graph).play({"messages": messages})
        assert thread.state["talk"] == "resp_1"
        server.held.forget()
        again = Harness(graph).play({"messages": messages, "talk": "resp_1"})
    assert again.status == "succeeded"
    assert again.state["talk"] == "resp_3"


def test_prompts_are_declared_and_changed_as_written() -> None:
    declare, ask = block('prompts={"brief": "You').strip().split("\n\n")
    names: dict[str, Any] = {"Graph": Graph, "Report": Report}
    exec(declare, names)
    graph: Graph = names["graph"]

    @graph.node(then=END)
    def write(state: Report, ctx: Context) -> dict[str, Any]:
        mine: dict[str, Any] = {"ctx": ctx, "state": state}
        exec(ask, mine)
        return {"text": mine["text"]}

    systems: list[tuple[str, float | None]] = []

    def answer(request: Any) -> str:
        systems.append((request.system, request.temperature))
        return "ok"

    played = Harness(graph).play(model=answer)
    change = json.loads(block('"In verse."'))["config"]
    played.fork(0, config=change)
    assert systems == [("You write for the board.", 0.2), ("In verse.", 0.9)]
    assert joined_config({}, change)["model"].startswith("anthropic:")


def test_a_secret_is_read_as_written(monkeypatch: Any) -> None:
    monkeypatch.setenv("SHOP_KEY", "hunter2-hunter2")
    names: dict[str, Any] = {"gatepost": gatepost}
    exec(block("SHOP_KEY"), names)
    graph = Graph("shops", Report)
    graph.node("charge", then=END)(
        lambda state, ctx: {"text": str(ctx.activity(names["charge"], 5))}
    )
    assert Harness(graph).play().status == "succeeded"


@pytest.mark.parametrize("word", ["429", "408", "500"])
def test_what_the_page_says_of_trying_again_is_what_is_tried_again(word: str) -> None:
    from workers.language.failures import ModelFailed
    from workers.step.retries import Passing, judge

    judged = judge(ModelFailed("x", int(word), {}), lambda: 0.0)
    assert judged.passing in (Passing.REFUSED, Passing.OPEN)
