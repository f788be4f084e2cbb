"""Spans of agents that are instrumented elsewhere become threads that are watched."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import httpx
import pytest
from django.db import connection, connections
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Status, StatusCode

from checkpoints import queries
from checkpoints.chain import verify_thread
from checkpoints.queries.why import why_waiting
from checkpoints.views import ActivityRow, ThreadRow
from dashboard.external import spans
from dashboard.identity import tokens
from tests.support.cast import Cast, make_cast
from tests.support.site import Site, started_site
from workers.external.otlp_wire import ReceivedSpan

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


# ---- what a real SDK sends to a real web process ------------------------------------------------


@pytest.fixture
def cast_(real_db: str) -> Cast:
    return make_cast()


@pytest.fixture
def server(cast_: Cast) -> Iterator[Site]:
    with started_site(slots=0) as site:
        yield site


def bearer(cast: Cast, *scopes: str) -> dict[str, str]:
    token = tokens.make(cast.users["operator"], made_by="user:0", scopes=list(scopes))[1]
    return {"Authorization": f"Bearer {token}"}


def sent_by_sdk(url: str, headers: dict[str, str], *, conversation: str = "") -> None:
    """An agent that asks a model, calls a tool and asks again, as an instrumented one does."""
    exporter = OTLPSpanExporter(
        endpoint=f"{url}/api/v1/otlp/v1/traces", headers=headers, compression=Compression.Gzip
    )
    provider = TracerProvider(resource=Resource({"service.name": "trips"}))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("test")
    about: dict[str, Any] = {"gen_ai.operation.name": "invoke_agent"}
    about["gen_ai.agent.name"] = "planner"
    if conversation:
        about["gen_ai.conversation.id"] = conversation
    with tracer.start_as_current_span("invoke_agent planner", attributes=about):
        for _ in range(2):
            with tracer.start_as_current_span("chat gpt-4o") as chat:
                chat.set_attributes(
                    {
                        "gen_ai.operation.name": "chat",
                        "gen_ai.provider.name": "openai",
                        "gen_ai.request.model": "gpt-4o",
                        "gen_ai.response.model": "gpt-4o-2024-08-06",
                        "gen_ai.usage.input_tokens": 1_000,
                        "gen_ai.usage.output_tokens": 100,
                        "gen_ai.input.messages": '[{"role": "user"}]',
                        "gen_ai.output.messages": '[{"role": "assistant"}]',
                    }
                )
        with tracer.start_as_current_span("execute_tool book") as tool:
            tool.set_attributes(
                {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "book"}
            )
            tool.set_status(Status(StatusCode.ERROR, "no seats"))
        with tracer.start_as_current_span("GET /seats"):
            pass  # says nothing of an agent
    provider.shutdown()


@pytest.mark.slow
@pytest.mark.requirement("C39")
def test_what_the_sdk_sends_is_a_thread_that_is_watched(server: Site, cast_: Cast) -> None:
    sent_by_sdk(server.url, bearer(cast_, "work"))
    (row,) = threads(cast_)
    assert (row.agent, row.status) == ("planner", "succeeded")
    assert row.tokens == 2_200
    assert float(row.cost) > 0
    recorded = calls(row.id)
    assert sorted((a.kind, a.tool, a.state) for a in recorded) == [
        ("activity", "book", "failed"),
        ("activity", "invoke_agent planner", "done"),
        ("model", "model", "done"),
        ("model", "model", "done"),
    ]
    (tool,) = (a for a in recorded if a.tool == "book")
    assert tool.error == "no seats"
    assert verify_thread(row.id).intact

    reader = bearer(cast_, "read", "control", "fork", "work")
    with httpx.Client(base_url=f"{server.url}/api/v1", headers=reader) as http:
        thread = http.get(f"/threads/{row.id}/").json()
        assert thread["external"] == {"framework": "OpenTelemetry", "can": [], "watched": True}
        for name, allowed in thread["actions"].items():
            assert not allowed["allowed"], name
        assert "watched, not controlled" in thread["actions"]["fork"]["why"]
        for verb, body in (
            ("pause", {}),
            ("cancel", {}),
            ("fork", {"checkpoint": str(row.head), "changes": {}}),
        ):
            refused = http.post(f"/threads/{row.id}/{verb}/", json=body)
            assert refused.status_code == 409, (verb, refused.text)
            assert "watched, not controlled" in refused.json()["detail"], verb
    page = cast_.client("operator").get(f"/threads/{row.id}/").content.decode()
    assert "watched, not controlled" in page
    assert "OpenTelemetry" in page


@pytest.mark.nightly
def test_turns_of_a_conversation_are_one_thread(server: Site, cast_: Cast) -> None:
    for _ in range(2):
        sent_by_sdk(server.url, bearer(cast_, "work"), conversation="talk-7")
    (row,) = threads(cast_)
    assert (row.name, row.tokens) == ("talk-7", 4_400)
    assert len(calls(row.id)) == 8


@pytest.mark.nightly
def test_what_is_no_request_is_refused_by_its_path(server: Site, cast_: Cast) -> None:
    headers = bearer(cast_, "work")
    url = f"{server.url}/api/v1/otlp/v1/traces"

    def post(body: bytes, kind: str = "application/x-protobuf", **more: str) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in more.items()}
        return httpx.post(url, content=body, headers=headers | {"Content-Type": kind} | named)

    assert post(b"").status_code == 200
    assert post(b"{}", "application/json").json() == {
        "partialSuccess": {"rejectedSpans": 0, "errorMessage": ""}
    }
    for refused in (
        post(b"\xff\xff"),
        post(b"{", "application/json"),
        post(b'{"resourceSpans": 7}', "application/json"),
        post(b"x", Content_Encoding="gzip"),
        post(gzip.compress(b"x" * 100)[:-9], Content_Encoding="gzip"),
        post(gzip.compress(b"\0" * 30_000_000), Content_Encoding="gzip"),
        post(b"", Content_Encoding="br"),
    ):
        assert refused.status_code == 400, refused.text
        assert refused.json()["path"] in ("$", "Content-Encoding")
    assert post(b"x", "text/plain").status_code == 415
    assert post(b"x" * 6_000_000).status_code == 413
    no_id = {"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "chat", "spanId": "00"}]}]}]}
    partly = post(json.dumps(no_id).encode(), "application/json").json()["partialSuccess"]
    assert partly["rejectedSpans"] == 1
    stranger = httpx.post(url, content=b"", headers={"Content-Type": "application/x-protobuf"})
    assert stranger.status_code == 401
    reader = bearer(cast_, "read") | {"Content-Type": "application/x-protobuf"}
    assert httpx.post(url, content=b"", headers=reader).status_code == 403
    assert threads(cast_) == []


# ---- late, doubled, out of order -----------------------------------------------------------------


def threads(cast: Cast) -> list[ThreadRow]:
    return list(queries.threads(workspace=cast.workspace).rows)


def calls(thread: UUID) -> list[ActivityRow]:
    return queries.activities(thread)


def span(ident: int, parent: int = 0, *, trace: str = TRACE, **attributes: Any) -> ReceivedSpan:
    """A span; attributes with a dot are written with two underscores."""
    named = {name.replace("__", "."): value for name, value in attributes.items()}
    return ReceivedSpan(
        trace, f"{ident:016x}", f"{parent:016x}" if parent else "", "x", 10**18, 10**18 + 10**9,
        named, "svc",
    )  # fmt: skip


AGENT = {"gen_ai__operation__name": "invoke_agent", "gen_ai__agent__name": "planner"}
CHAT = {"gen_ai__operation__name": "chat", "gen_ai__usage__input_tokens": 7}


@pytest.mark.requirement("C39")
def test_late_doubled_and_disordered_spans_give_the_same_record(cast: Cast) -> None:
    actor = cast.actor("operator")
    own = [span(1, **AGENT), *(span(n, 1, **CHAT) for n in range(2, 12))]
    chance = random.Random(7)
    for _ in range(6):
        some = chance.sample(own, 5)
        spans.take_spans(actor, some + some[:2])
    spans.take_spans(actor, own)
    (row,) = threads(cast)
    assert row.status == "succeeded"
    assert row.tokens == 70
    assert len(calls(row.id)) == 11
    kinds = [e.kind for e in queries.events_after(row.id, 0)]
    assert kinds.count("model.answered") == 10
    assert kinds.count("thread.succeeded") == kinds.count("thread.started") == 1
    assert verify_thread(row.id).intact


def test_the_root_may_come_last_or_first(cast: Cast) -> None:
    actor = cast.actor("operator")
    spans.take_spans(actor, [span(2, 1, **CHAT)])
    (row,) = threads(cast)
    assert (row.agent, row.status) == ("svc", "running")
    why = why_waiting(row)
    assert why is not None
    assert "Watched, not controlled" in why.sentence
    spans.take_spans(actor, [span(1, **AGENT)])
    spans.take_spans(actor, [span(3, 1, **CHAT)])
    (row,) = threads(cast)
    assert (row.status, row.tokens) == ("succeeded", 14)


def test_a_trace_stays_with_its_thread_when_its_conversation_is_named_later(cast: Cast) -> None:
    actor = cast.actor("operator")
    other = "a" * 32
    spans.take_spans(actor, [span(2, 1, **CHAT)])
    spans.take_spans(actor, [span(1, **AGENT, gen_ai__conversation__id="c1")])
    spans.take_spans(actor, [span(5, trace=other, **AGENT, gen_ai__conversation__id="c1")])
    spans.take_spans(actor, [span(6, 5, trace=other, **CHAT)])
    (row,) = threads(cast)
    assert len(calls(row.id)) == 4


def test_a_failed_root_fails_the_thread(cast: Cast) -> None:
    from dataclasses import replace

    spans.take_spans(cast.actor("operator"), [replace(span(1, **AGENT), error="out of luck")])
    (row,) = threads(cast)
    assert (row.status, row.status_reason) == ("failed", "out of luck")


def test_the_same_spans_at_once_are_one_thread(cast_: Cast) -> None:
    actor = cast_.actor("operator")
    own = [span(1, **AGENT), *(span(n, 1, **CHAT) for n in range(2, 30))]

    def take(_: int) -> int:
        try:
            return len(spans.take_spans(actor, own))
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(take, range(16))) == [1] * 16
    (row,) = threads(cast_)
    assert len(calls(row.id)) == 29
    assert (row.status, row.tokens) == ("succeeded", 28 * 7)
    assert verify_thread(row.id).intact
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM gp_watched")
        assert cursor.fetchone() == (1,)


def test_another_workspace_has_threads_of_its_own(cast: Cast) -> None:
    for who in ("operator", "stranger"):
        spans.take_spans(cast.actor(who), [span(1, **AGENT)])
    assert len(threads(cast)) == 1
    assert len(list(queries.threads(workspace=cast.elsewhere).rows)) == 1


# ---- names of other conventions ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attributes", "kind", "tokens"),
    [
        ({"gen_ai__system": "openai", "gen_ai__request__model": "gpt-4o",
          "gen_ai__usage__prompt_tokens": 5, "gen_ai__usage__completion_tokens": 2,
          "gen_ai__prompt__0__content": "hi", "gen_ai__completion__0__content": "ho"}, "model", 7),
        ({"openinference__span__kind": "LLM", "llm__model_name": "gpt-4o",
          "llm__token_count__prompt": 4, "llm__token_count__completion": 3,
          "input__value": "hi", "output__value": "ho"}, "model", 7),
        ({"openinference__span__kind": "TOOL", "tool__name": "book"}, "activity", 0),
        ({"traceloop__span__kind": "tool", "traceloop__entity__name": "book"}, "activity", 0),
        ({"llm__request__type": "chat", "gen_ai__usage__input_tokens": 7}, "model", 7),
        ({"gen_ai__operation__name": "invoke_workflow", "gen_ai__usage__input_tokens": 9},
         "activity", 0),
    ],
)  # fmt: skip
def test_names_of_other_conventions_are_read(
    cast: Cast, attributes: dict[str, Any], kind: str, tokens: int
) -> None:
    spans.take_spans(cast.actor("operator"), [span(1, **attributes)])
    (row,) = threads(cast)
    (call,) = calls(row.id)
    assert (call.kind, row.tokens) == (kind, tokens)
    if "hi" in attributes.values():
        assert (call.args["input"], call.result) == ("hi", "ho")
    if "book" in attributes.values():
        assert call.tool == "book"


def test_spans_of_all_else_are_passed_over(cast: Cast) -> None:
    spans.take_spans(cast.actor("operator"), [span(1, http__method="GET")])
    assert threads(cast) == []


def test_an_agent_of_ours_keeps_its_name(cast: Cast) -> None:
    from tests.unit.workers.graphs import samples
    from workers.code.registry import announce

    announce(samples.graph, {}, [samples])
    spans.take_spans(cast.actor("operator"), [span(1, **AGENT | {"gen_ai__agent__name": "orders"})])
    (row,) = threads(cast)
    assert row.agent == "orders (OpenTelemetry)"
