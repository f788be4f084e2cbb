"""Names by which spans describe agents, in four conventions; pure.

The GenAI conventions of OpenTelemetry, their older names (`gen_ai.system`, `gen_ai.prompt`),
OpenInference and OpenLLMetry (traceloop). A span without any of them describes no agent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from checkpoints.limits import AGENT_MAX

from ..language.prices import price
from .otlp_wire import ReceivedSpan, as_text

TEXT_MAX: Final = 16_000
NAME_MAX: Final = 150
CONVERSATION_MAX: Final = 200
TOKENS_MAX: Final = 10**9
MODEL, TOOL, AGENT, OTHER = "model", "tool", "agent", "other"
_OPERATIONS: Final = {
    **dict.fromkeys(("chat", "text_completion", "generate_content", "completion"), MODEL),
    "execute_tool": TOOL,
    **dict.fromkeys(("invoke_agent", "invoke_workflow", "create_agent", "plan"), AGENT),
    **dict.fromkeys(("embeddings", "retrieval", "rerank"), OTHER),
}
_INFERENCE: Final = {
    "LLM": MODEL,
    "TOOL": TOOL,
    **dict.fromkeys(("AGENT", "CHAIN"), AGENT),
    **dict.fromkeys(("RETRIEVER", "EMBEDDING", "RERANKER", "GUARDRAIL", "EVALUATOR"), OTHER),
}
_TRACELOOP: Final = {"tool": TOOL, "agent": AGENT, "workflow": AGENT, "task": OTHER}
_OF_PROVIDER: Final = {
    "gcp.gemini": "google",
    "gcp.vertex_ai": "google",
    "gcp.gen_ai": "google",
    "aws.bedrock": "aws",
    "azure.ai.openai": "azure",
    "azure.ai.inference": "azure",
    "mistral_ai": "mistral",
    "x_ai": "x-ai",
}
_MODEL_NAMES: Final = (
    *("gen_ai.response.model", "gen_ai.request.model", "llm.model_name"),
    *("llm.response.model", "llm.request.model"),
)
_PROVIDERS: Final = ("gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system")
_CONVERSATIONS: Final = (
    *("gen_ai.conversation.id", "session.id"),
    "traceloop.association.properties.session_id",
)
_AGENTS: Final = (
    *("gen_ai.agent.name", "gen_ai.workflow.name", "agent.name", "traceloop.workflow.name"),
)
_TOOLS: Final = ("gen_ai.tool.name", "tool.name", "traceloop.entity.name")
_INPUTS: Final = (
    *("gen_ai.input.messages", "gen_ai.tool.call.arguments", "gen_ai.prompt", "input.value"),
    *("traceloop.entity.input", "tool.parameters"),
)
_OUTPUTS: Final = (
    *("gen_ai.output.messages", "gen_ai.tool.call.result", "gen_ai.completion", "output.value"),
    "traceloop.entity.output",
)
_COUNTS: Final = {
    "tokens_in": (
        *("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"),
        "llm.usage.prompt_tokens",
    ),
    "tokens_out": (
        *("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
        *("llm.token_count.completion", "llm.usage.completion_tokens"),
    ),
    "tokens_cached": (
        *("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens"),
        "llm.token_count.prompt_details.cache_read",
    ),
    "tokens_reasoning": (
        *("gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens"),
        "llm.token_count.completion_details.reasoning",
    ),
}
_WRITTEN: Final = (
    *("gen_ai.usage.cache_creation.input_tokens", "gen_ai.usage.cache_creation_input_tokens"),
    "llm.token_count.prompt_details.cache_write",
)


@dataclass(frozen=True, slots=True)
class SpanOfAgent:
    """A span as the record of a thread takes it.

    `kind` is model or activity, `name` what was called, `agent` and `conversation` "" where it
    names none. `usage` is counted for calls of models only: agents repeat the sums of theirs.
    """

    span: ReceivedSpan
    kind: str
    name: str
    agent: str
    conversation: str
    args: dict[str, Any]
    result: Any
    usage: dict[str, Any] = field(default_factory=dict)


def span_of_agent(span: ReceivedSpan) -> SpanOfAgent | None:
    """Read a span by these names; None where it describes no agent."""
    a = span.attributes
    sort = _sort(a)
    if sort is None:
        return None
    model = _first(a, _MODEL_NAMES)[:NAME_MAX]
    tool = _first(a, _TOOLS) if sort == TOOL else ""
    args: dict[str, Any] = {"span": span.name[:NAME_MAX]}
    if text := _content(a, _INPUTS, "gen_ai.prompt."):
        args["input"] = text
    if model:
        args["model"] = model
    usage: dict[str, Any] = {}
    if sort == MODEL:
        usage = _usage(a, model)
    if took := max(0, span.end - span.start) // 1_000_000:
        usage["milliseconds"] = took
    return SpanOfAgent(
        span,
        "model" if sort == MODEL else "activity",
        "model" if sort == MODEL else (tool or span.name or sort)[:NAME_MAX],
        _first(a, _AGENTS)[:AGENT_MAX],
        _first(a, _CONVERSATIONS)[:CONVERSATION_MAX],
        args,
        _content(a, _OUTPUTS, "gen_ai.completion."),
        usage,
    )


def _sort(a: Mapping[str, Any]) -> str | None:
    known = _OPERATIONS.get(str(a.get("gen_ai.operation.name")))
    known = known or _INFERENCE.get(str(a.get("openinference.span.kind")).upper())
    known = known or _TRACELOOP.get(str(a.get("traceloop.span.kind")).lower())
    if known is None and ("llm.request.type" in a or "gen_ai.request.model" in a):
        return MODEL
    return known


def _first(a: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next((as_text(a[name]) for name in names if a.get(name)), "")


def _content(a: Mapping[str, Any], names: tuple[str, ...], prefix: str) -> str:
    """The query or answer, where the sender records it, as text of bounded length."""
    text = _first(a, names)
    if not text:
        parts = [as_text(a[n]) for n in sorted(a) if n.startswith(prefix) and n.endswith("content")]
        text = "\n\n".join(parts)
    return text if len(text) <= TEXT_MAX else f"{text[:TEXT_MAX]}…"


def _usage(a: Mapping[str, Any], model: str) -> dict[str, Any]:
    counts = {name: _count(a, names) for name, names in _COUNTS.items()}
    tokens_in, tokens_out = counts["tokens_in"], counts["tokens_out"]
    provider = _first(a, _PROVIDERS).lower()
    cost = price(
        _OF_PROVIDER.get(provider, provider),
        model,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        read=min(counts["tokens_cached"], tokens_in),
        written=min(_count(a, _WRITTEN), tokens_in),
    )
    return {
        "model": model,
        "tokens": tokens_in + tokens_out,
        "tokens_in": tokens_in,
        "tokens_out": tokens_out,
        **({"unpriced": True} if cost is None else {"cost": f"{cost.normalize():f}"}),
        **{n: counts[n] for n in ("tokens_cached", "tokens_reasoning") if counts[n]},
    }


def _count(a: Mapping[str, Any], names: tuple[str, ...]) -> int:
    for name in names:
        value = a.get(name)
        if isinstance(value, int | float) and 0 <= value <= TOKENS_MAX:
            return int(value)
    return 0
