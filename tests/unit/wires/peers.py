"""Read the shapes with another library, in an environment of its own: peers.py LIBRARY FOLDER.

Prints {shape: {text, calls} or {error}}. Stands alone: it imports nothing of the product.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from tests.unit.wires.recorded_shapes import Shape, shapes
from tests.unit.wires.replay import replaying

MESSAGES = [{"role": "user", "content": "Look at the cities."}]
SECONDS = 10


def _choice(message: Any) -> dict[str, Any]:
    calls = [[call.function.name, call.function.arguments] for call in message.tool_calls or ()]
    return {"text": message.content or "", "calls": calls}


def _sdk(shape: Shape, url: str) -> dict[str, Any]:
    """The official client of the wire, with its own parser of streams."""
    if shape.wire == "anthropic":
        import anthropic

        query: Any = {"model": "some-model", "max_tokens": 100, "messages": MESSAGES}
        client = anthropic.Anthropic(
            api_key="k", base_url=url.removesuffix("/v1"), max_retries=0, timeout=SECONDS
        )
        if shape.answer.is_stream:
            with client.messages.stream(**query) as stream:
                message: Any = stream.get_final_message()
        else:
            message = client.messages.create(**query)
        blocks = message.content
        return {
            "text": "".join(block.text for block in blocks if block.type == "text"),
            "calls": [[b.name, b.input] for b in blocks if b.type == "tool_use"],
        }
    import openai

    query = {"model": "some-model", "messages": MESSAGES}
    sdk = openai.OpenAI(api_key="k", base_url=url, max_retries=0, timeout=SECONDS)
    if shape.answer.is_stream:
        with sdk.chat.completions.stream(**query) as stream:
            return _choice(stream.get_final_completion().choices[0].message)
    return _choice(sdk.chat.completions.create(**query).choices[0].message)


def _litellm(shape: Shape, url: str) -> dict[str, Any]:
    import litellm

    litellm.suppress_debug_info = True
    base = url if shape.wire == "openai" else url.removesuffix("/v1")
    answer: Any = litellm.completion(
        model=f"{shape.wire}/some-model",
        api_base=base,
        api_key="k",
        messages=MESSAGES,
        stream=shape.answer.is_stream,
        num_retries=0,
        timeout=SECONDS,
    )
    if shape.answer.is_stream:
        answer = litellm.stream_chunk_builder(list(answer), messages=MESSAGES)
    return _choice(answer.choices[0].message)


def _pydantic_ai(shape: Shape, url: str) -> dict[str, Any]:
    from pydantic_ai import direct
    from pydantic_ai.messages import ModelRequest

    model: Any
    if shape.wire == "anthropic":
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        base = url.removesuffix("/v1")
        model = AnthropicModel("some-model", provider=AnthropicProvider(api_key="k", base_url=base))
    else:
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider

        model = OpenAIChatModel("some-model", provider=OpenAIProvider(api_key="k", base_url=url))
    messages = [ModelRequest.user_text_prompt(MESSAGES[0]["content"])]
    settings: Any = {"timeout": SECONDS, "max_retries": 0}
    if shape.answer.is_stream:
        with direct.model_request_stream_sync(model, messages, model_settings=settings) as stream:
            for _ in stream:
                pass
            answer = stream.response
    else:
        answer = direct.model_request_sync(model, messages, model_settings=settings)
    calls = [[call.tool_name, call.args or ""] for call in answer.tool_calls]
    return {"text": answer.text or "", "calls": calls}


LIBRARIES: dict[str, Callable[[Shape, str], dict[str, Any]]] = {
    "SDKs": _sdk,
    "litellm": _litellm,
    "pydantic-ai": _pydantic_ai,
}


def readings(library: str) -> dict[str, dict[str, Any]]:
    """The reading of each shape by a library."""
    result = {}
    for shape in shapes():
        with replaying(shape.answer) as server:
            try:
                result[shape.name] = LIBRARIES[library](shape, server.url)
            except Exception as error:  # each is a reading
                result[shape.name] = {"error": f"{type(error).__name__}: {error}"[:200]}
    return result


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    Path(sys.argv[2]).write_text(json.dumps(readings(sys.argv[1])))
