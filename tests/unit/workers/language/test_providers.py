"""Providers that are asked through pydantic-ai: named, found, refused; test_wires says the rest."""

from __future__ import annotations

import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from checkpoints.states import Status
from tests.unit.workers.conftest import bench_of
from tests.unit.workers.graphs import conversing
from workers.authoring.errors import StepFailed
from workers.authoring.language_models import Request
from workers.language.configuration import Configured, model_of, models_of
from workers.language.providers import PROVIDERS, REQUIREMENT

from .model_server import Say, serving_models

ROOT = Path(__file__).resolve().parents[4]
REQUEST = Request(("x",))


def ask(name: str, request: Request = REQUEST) -> Any:
    """What the model of this name answers."""
    return model_of(name)(request)


@pytest.mark.parametrize("name", PROVIDERS)
def test_the_library_knows_each_provider_by_its_name_and_variable(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.providers import infer_provider_class

    key, part = PROVIDERS[name]
    module = {"openai-chat": "openai", "openai-responses": "openai"}.get(name, name)
    spec = find_spec(f"pydantic_ai.providers.{module.replace('-', '_')}")
    assert spec is not None
    assert spec.origin is not None
    assert f"'{key}'" in Path(spec.origin).read_text() or not key
    if part == "openai":  # the client that the tests have
        monkeypatch.delenv(key, raising=False)
        with pytest.raises(UserError, match=key):
            infer_provider_class(name)()
    else:
        if name == "bedrock":  # its client is that of buckets, which the tests have
            monkeypatch.setitem(sys.modules, "boto3", None)
        with pytest.raises(ImportError, match=rf"pydantic-ai-slim\[{part}\]"):
            infer_provider_class(name)


def test_what_is_missing_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "gsk_0123456789abcdef")
    install = r'Call: pip install "pydantic-ai-slim\[groq\]>=2.68,<3"'
    with pytest.raises(StepFailed, match=install) as without_client:
        ask("groq:llama-3.3-70b")
    assert "groq:llama-3.3-70b needs packages that are not installed here" in str(
        without_client.value
    )
    for name in [name for name in sys.modules if name.split(".")[0] == "pydantic_ai"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(StepFailed, match=install):
        ask("groq:llama-3.3-70b")


def test_no_installation_has_to_have_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (extra,) = project["optional-dependencies"]["models"]
    assert extra == REQUIREMENT.replace("[{part}]", "")
    locks = {name: (ROOT / name).read_text() for name in ("requirements.lock",)}
    assert "pydantic-ai" not in locks["requirements.lock"]
    assert "openai" not in locks["requirements.lock"]
    assert "\npydantic-ai-slim==" in (ROOT / "requirements-dev.lock").read_text()


def test_only_the_key_that_is_named_goes_to_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment-0123456789")
    with serving_models(Say("fine")) as server:
        assert ask(f"openai-chat:a@{server.url}").text == "fine"
        monkeypatch.setenv("MODEL_TEST_KEY", "sk-named-0123456789")
        ask(f"openai-chat:a@{server.url}#MODEL_TEST_KEY")
    sent = [got.headers["authorization"] for got in server.got]
    assert sent == ["Bearer none", "Bearer sk-named-0123456789"]
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(StepFailed, match="set OPENAI_API_KEY or OPENAI_API_KEY_FILE"):
        ask("openai-chat:a")


def test_what_a_provider_would_not_do_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-0123456789abcdef")
    with serving_models(Say("fine")) as server:
        with pytest.raises(StepFailed, match="openai-responses takes no stop: leave it out"):
            ask(f"openai-responses:a@{server.url}", Request(("x",), stop=("END",)))
        with pytest.raises(StepFailed, match="deepseek has one address only"):
            ask(f"deepseek:a@{server.url}")
    assert server.got == []


@pytest.mark.django_db
@pytest.mark.requirement("A39")
def test_a_thread_keeps_the_provider_of_its_start_and_a_fork_may_name_one(settings: Any) -> None:
    with serving_models(Say("first")) as server, serving_models(Say("second")) as other:
        settings.GATEPOST_MODEL = f"openai-chat:a@{server.url}"
        settings.GATEPOST_MODELS = [f"openai-chat:b@{other.url}"]
        assert models_of(Configured("x")) == {"": f"openai-chat:a@{server.url}"}
        bench = bench_of(conversing)
        thread = bench.start()
        assert bench.advance(thread).status is Status.SUCCEEDED
        fork = bench.fork(thread, 0, {}, config={"model": f"openai-chat:b@{other.url}"})
        assert bench.advance(fork).status is Status.SUCCEEDED
        texts = [bench.state(t)["answers"][0]["text"] for t in (thread, fork)]
        assert texts == ["first", "second"]
        stranger = bench.fork(thread, 0, {}, config={"model": "openai-chat:c@http://127.0.0.1:9"})
        row = bench.advance(stranger)
    assert row.status is Status.FAILED
    assert "the settings no longer name that server" in row.status_reason
