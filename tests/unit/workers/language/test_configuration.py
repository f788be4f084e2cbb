"""Which model is asked: as settings and a thread's configuration name it, at known servers."""

from __future__ import annotations

from typing import Any

import pytest

from checkpoints.states import Status
from tests.unit.workers.conftest import bench_of
from tests.unit.workers.graphs import conversing
from workers.authoring.errors import StepFailed
from workers.authoring.language_models import Request
from workers.language.configuration import Configured, model_of

from .model_server import Say, serving_models

REQUEST = Request(("x",))


def answer_of(agent: str = "", model: str = "") -> str:
    """What the model of an agent says."""
    reply: Any = Configured(agent)(Request(("x",), model=model))
    return str(reply.text)


@pytest.mark.requirement("A39")
def test_the_nearest_setting_holds(settings: Any) -> None:
    with serving_models(Say("all")) as all_, serving_models(Say("one")) as one:
        settings.GATEPOST_MODEL = f"openai:a@{all_.url}"
        settings.GATEPOST_AGENT_MODELS = [f"writer=anthropic:b@{one.url}"]
        assert [answer_of(), answer_of("reader"), answer_of("writer")] == ["all", "all", "one"]
        # A plain name is another model of the same server.
        answer_of("writer", "c")
        assert [b["model"] for b in one.bodies] == ["b", "c"]
        # A name in full is who is asked, by a server that the settings know.
        assert answer_of("writer", f"openai:z@{all_.url}") == "all"
        assert all_.bodies[-1]["model"] == "z"


def test_no_key_goes_to_a_server_that_the_settings_do_not_name(
    settings: Any, monkeypatch: Any
) -> None:
    monkeypatch.setenv("MODEL_TEST_KEY", "sk-0123456789")
    with serving_models(Say("fine")) as server:
        settings.GATEPOST_MODEL = ""
        name = f"openai:a@{server.url}#MODEL_TEST_KEY"
        for others in ([], ["openai:a"], [f"openai:a@{server.url}"], [f"{name}_2"]):
            settings.GATEPOST_MODELS = others
            with pytest.raises(StepFailed, match="the settings no longer name that server"):
                answer_of(model=name)
        assert server.got == []
        settings.GATEPOST_MODELS = [name]
        assert answer_of(model=name) == "fine"
        assert server.got[0].headers["authorization"] == "Bearer sk-0123456789"


def test_a_key_that_is_missing_or_in_a_file(settings: Any, monkeypatch: Any, tmp_path: Any) -> None:
    with serving_models(Say("fine")) as server:
        settings.GATEPOST_MODEL = f"openai:a@{server.url}#MODEL_TEST_KEY"
        with pytest.raises(StepFailed, match="set MODEL_TEST_KEY or MODEL_TEST_KEY_FILE"):
            answer_of()
        monkeypatch.setenv("MODEL_TEST_KEY_FILE", str(tmp_path / "none"))
        with pytest.raises(StepFailed, match="cannot be read"):
            answer_of()
        (tmp_path / "key").write_text("in-a-file\n")
        monkeypatch.setenv("MODEL_TEST_KEY_FILE", str(tmp_path / "key"))
        assert answer_of() == "fine"
        assert server.got[-1].headers["authorization"] == "Bearer in-a-file"


@pytest.mark.parametrize(
    "value", ["openai:", "openai:a b", "anthropic:x@ftp://y", "openai:a@http://x#lower"]
)
def test_a_setting_that_names_no_model(value: str) -> None:
    with pytest.raises(StepFailed, match="is not understood: write openai:NAME"):
        model_of(value)


def test_tools_that_a_wire_cannot_tell_apart_are_refused(settings: Any) -> None:
    tools = tuple(
        {"name": name, "description": "", "schema": {"type": "object"}} for name in ("a.b", "a_b")
    )
    chat = ({"role": "user", "content": "x"},)
    with serving_models(Say("fine")) as server:
        settings.GATEPOST_MODEL = f"openai:a@{server.url}"
        with pytest.raises(StepFailed, match=r"the tools 'a\.b' and 'a_b' apart"):
            Configured()(Request((), chat=chat, tools=tools))


@pytest.mark.django_db
def test_a_fork_asks_the_model_that_it_names(settings: Any) -> None:
    with serving_models(Say("fine")) as server, serving_models(Say("better")) as other:
        settings.GATEPOST_MODEL = f"openai:a@{server.url}"
        settings.GATEPOST_MODELS = [f"anthropic:b@{other.url}"]
        bench = bench_of(conversing)
        thread = bench.start()
        assert bench.advance(thread).status is Status.SUCCEEDED
        config = {"model": f"anthropic:b@{other.url}", "temperature": 0.25}
        fork = bench.fork(thread, 0, {}, config=config)
        assert bench.advance(fork).status is Status.SUCCEEDED
        assert bench.state(fork)["answers"][0]["text"] == "better"
        assert (other.bodies[0]["model"], other.bodies[0]["temperature"]) == ("b", 0.25)
        assert len(server.got) == 1


@pytest.mark.parametrize("name", ["GATEPOST_SECRET_KEY", "DATABASE_PASSWORD", "REDIS_URL_FILE"])
def test_a_setting_of_gatepost_is_no_key_of_a_model(name: str) -> None:
    with pytest.raises(StepFailed, match="is a setting of Gatepost itself"):
        model_of(f"openai:m@https://example.org/v1#{name}")
