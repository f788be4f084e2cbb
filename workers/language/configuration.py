"""Which model is asked: settings name it, a graph names none.

GATEPOST_MODEL is for all agents, GATEPOST_WORKSPACE_MODELS for those of a workspace ("name=model",
commas between), GATEPOST_AGENT_MODELS for an agent ("agent=model"). The nearest holds: agent,
workspace, installation. A thread keeps the one it started with; a fork may name another:

    openai:gpt-5                                 OpenAI, key in OPENAI_API_KEY
    anthropic:claude-sonnet-4-5                  Anthropic, key in ANTHROPIC_API_KEY
    openai:llama3@http://127.0.0.1:11434/v1      another server that speaks the protocol, no key
    openai:gpt-5@https://proxy/v1#PROXY_KEY      its key is in PROXY_KEY
    openai:gpt-5@https://proxy/v1?prices=openai  its price is that of the provider
    openai:gpt-5@https://proxy/v1?stream=no      it is asked for the whole answer in one piece
    google:gemini-2.5-pro                        another provider (workers.language.providers)
    package.module:function                      a function of a Request

A server of one's own has to stand in the settings, if only in GATEPOST_MODELS, the list of other
models that threads and forks may name: no key goes to an address that somebody else has written.
A key is a secret (workers.step.secret_values).
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Awaitable
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from typing import Any

from approvals.policies.reservations import NO_BOUND, Estimate
from checkpoints.outbound import addresses
from checkpoints.outbound.own_secrets import is_own

from ..authoring.errors import StepFailed
from ..authoring.former_names import current_name
from ..authoring.language_models import SETTING, Model, Reply, Request, missing
from .endpoints import WIRES, Endpoint, WireEndpoint
from .providers import PROVIDERS, ProviderEndpoint

OF_AGENTS = "GATEPOST_AGENT_MODELS"
OF_WORKSPACES = "GATEPOST_WORKSPACE_MODELS"
OTHERS = "GATEPOST_MODELS"
NAMED = {**dict.fromkeys(WIRES, WireEndpoint), **dict.fromkeys(PROVIDERS, ProviderEndpoint)}
_FORM = re.compile(
    rf"(?P<provider>{'|'.join(NAMED)}):(?P<name>[^@\s]+)(?:@(?P<url>https?://[^\s#?]+)"
    r"(?:\?prices=(?P<prices>[\w-]+))?(?:[?&]stream=(?P<stream>no))?"
    r"(?:#(?P<key>[A-Z][A-Z0-9_]*))?)?"
)


@dataclass(frozen=True)
class Configured:
    """The model that the settings name for an agent, looked up when it is asked."""

    agent: str = ""

    def __call__(self, request: Request, /) -> Reply | Awaitable[Reply]:
        """Ask it, or the one that the request names in full; StepFailed where there is none."""
        if is_full(request.model):
            return permitted(request.model)(replace(request, model=""))
        return self.model(request)

    @property
    def model(self) -> Model:
        """The model that the settings name now."""
        own = _pairs(OF_AGENTS)
        value = own.get(self.agent) or _setting(SETTING)
        return model_of(value, OF_AGENTS if self.agent in own else SETTING) if value else missing


def models_of(model: Model) -> dict[str, str]:
    """{workspace's name or "": the model's name in full} that an agent would ask now."""
    if not isinstance(model, Configured):
        return {}
    own = _pairs(OF_AGENTS).get(model.agent)
    all_ = {"": own} if own else {"": _setting(SETTING), **_pairs(OF_WORKSPACES)}
    return {workspace: name for workspace, name in all_.items() if is_full(name)}


configured = Configured()


def answering(model: Model) -> Model:
    """The model that really answers: for a configured one, the model that the settings name now."""
    return model.model if isinstance(model, Configured) else model


def estimate_of(model: Model, request: Request) -> Estimate:
    """Estimate the most that a call of a model costs; a function may have `estimate(request)`."""
    answers = permitted(request.model) if _names_another(model, request) else answering(model)
    if isinstance(answers, Endpoint):
        request = replace(request, model="") if _names_another(model, request) else request
        return answers.estimate(request)
    own = getattr(answers, "estimate", None)
    bound = None if own is None else own(request)
    if bound is None or isinstance(bound, Estimate):
        return bound or NO_BOUND
    return Estimate(Decimal(bound))


def _names_another(model: Model, request: Request) -> bool:
    return isinstance(model, Configured) and is_full(request.model)


def is_configured(model: Model, name: str) -> bool:
    """Answer True if a model would be called: this one, or the one that a thread names in full."""
    return answering(model) is not missing or (isinstance(model, Configured) and is_full(name))


def is_full(name: str) -> bool:
    """Answer True if a model's name includes its provider."""
    return name.partition(":")[0] in NAMED


def permitted(name: str) -> Model:
    """The model that a thread names; StepFailed for a server that the settings do not know."""
    model = model_of(name, "The thread's model")
    if "@" not in name:
        return model
    known = [_setting(SETTING), *_pairs(OF_AGENTS).values(), *_pairs(OF_WORKSPACES).values()]
    places = {m["url"] + (m["key"] or "") for v in [*known, *_listed(OTHERS)] if (m := _parts(v))}
    parts = _FORM.fullmatch(name)
    if parts is None or parts["url"] + (parts["key"] or "") not in places:
        raise StepFailed(
            f"This thread asks {name!r}, and the settings no longer name that server: add it "
            f"to {OTHERS}, or fork the thread with another model."
        )
    return model


def _parts(value: str) -> re.Match[str] | None:
    """The parts of a setting that names a server of one's own."""
    match = _FORM.fullmatch(value)
    return match if match and match["url"] else None


def _setting(name: str) -> str:
    from django.conf import settings

    return str(getattr(settings, name, ""))


def _listed(name: str) -> list[str]:
    from django.conf import settings

    return list(getattr(settings, name, ()))


def _pairs(name: str) -> dict[str, str]:
    """{agent or workspace: model} of a setting."""
    return dict(pair.partition("=")[::2] for pair in _listed(name))


@lru_cache(maxsize=32)
def model_of(value: str, setting: str = SETTING) -> Model:
    """The model that a setting names; StepFailed where it names none."""
    if is_full(value):
        match = _FORM.fullmatch(value)
        if match is None:
            raise StepFailed(
                f"{setting} is not understood: write openai:NAME or anthropic:NAME, and for "
                "another server @URL behind it, with #VARIABLE for the variable of its key."
            )
        if is_own(match["key"] or ""):
            raise StepFailed(
                f"{setting} is not understood: {match['key']} is a setting of Gatepost itself, "
                "and no key of a model."
            )
        provider, name, url = match["provider"], match["name"], match["url"]
        if url and (problem := addresses.problem_of_setting(url)):
            raise StepFailed(f"{setting} is not understood: its address {problem}.")
        kind = NAMED[provider]
        if url:
            prices, key, stream = match["prices"] or "", match["key"] or "", not match["stream"]
            return kind(provider, name, url, prices, key, stream=stream)
        own = WIRES.get(provider)
        key = own.KEY if own else PROVIDERS[provider].key
        return kind(provider, name, own.URL if own else "", provider, key)
    return _imported(value, setting)


def _imported(value: str, setting: str) -> Model:
    """The function behind "package.module:name"; StepFailed when there is none."""
    module, colon, name = value.partition(":")
    if not colon:
        raise StepFailed(f"{setting} is {value!r}: write package.module:function.")
    try:
        result: Any = importlib.import_module(current_name(module))
        for part in name.split("."):
            result = getattr(result, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise StepFailed(f"{setting} is {value!r}, which cannot be imported: {error}.") from error
    if not callable(result):
        raise StepFailed(f"{setting} is {value!r}, which is not a function.")
    model: Model = result
    return model
