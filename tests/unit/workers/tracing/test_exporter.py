"""Committed events become spans at a real collector: one tree, each once, whatever it answers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction

from checkpoints import queries, store
from checkpoints.log import traces
from checkpoints.queries.installation.event_feed import export_figures
from dashboard.live import metrics
from tests.unit.workers.conftest import Bench, bench_of
from tests.unit.workers.graphs import asking, failing
from tests.unit.workers.tree.conftest import Fleet, fleet  # noqa: F401
from workers.tracing import exporter as tracing
from workers.tracing.environment import is_on
from workers.tracing.exporter import NAME, SpanExporter
from workers.tracing.otlp import OtlpExporter

from .collector import Collector, Received, collecting

pytestmark = pytest.mark.usefixtures("real_db")
TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with collecting() as made:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", made.url)
        yield made


@pytest.fixture
def exporter(collector: Collector) -> Iterator[SpanExporter]:
    made = SpanExporter(OtlpExporter, owner="worker:test")
    made.turn()  # from here on
    yield made
    made.stop()


def drain(exporter: SpanExporter) -> None:
    while exporter.turn():
        pass


def chain_of(thread: UUID) -> UUID:
    with connection.cursor() as cursor:
        cursor.execute("SELECT chain_id FROM gp_thread WHERE id = %s", (thread,))
        return UUID(str(cursor.fetchone()[0]))


def one(spans: list[Received], name: str) -> Received:
    (span,) = (span for span in spans if span.name == name)
    return span


def letter(bench: Bench | None = None, *, traceparent: str = "") -> tuple[Bench, UUID]:
    """A letter that was asked for, decided and sent."""
    asking.answering.then = asking.plainly
    bench = bench or bench_of(asking)
    thread = store.start(
        bench.agent.version_id,
        input={"goal": "thanks"},
        workspace=bench.workspace,
        actor="user:1",
        traceparent=traceparent,
    )
    bench.advance(thread)
    bench.decide(thread, "approve")
    bench.advance(thread)
    return bench, thread


@pytest.mark.requirement("C39")
def test_a_thread_is_one_tree_of_spans(exporter: SpanExporter, collector: Collector) -> None:
    _, thread = letter(traceparent=f"00-{TRACE}-{SPAN}-01")
    drain(exporter)
    spans = collector.of(TRACE)
    assert spans == collector.spans
    assert [span.name for span in spans] == [
        "start letters",
        "chat tiny-1",
        "chat tiny-1",
        "step draft",
        "chat tiny-1",
        "approval requested",
        "approval decided",
        "approval consumed",
        "execute_tool letter.send",
        "step send",
        "invoke_agent letters",
    ]
    ids = [span.id for span in spans]
    assert len(set(ids)) == len(ids)
    assert {span.parent for span in spans} - set(ids) == {SPAN}
    start, whole = one(spans, "start letters"), one(spans, "invoke_agent letters")
    draft, send = one(spans, "step draft"), one(spans, "step send")
    assert (start.parent, whole.parent) == (SPAN, start.id)
    assert draft.parent == send.parent == whole.id
    assert [s.parent for s in spans if s.name == "chat tiny-1"] == [draft.id, draft.id, send.id]
    assert one(spans, "execute_tool letter.send").parent == send.id
    assert whole.start <= draft.start <= draft.end <= send.start <= send.end == whole.end
    chat = spans[1].attributes
    assert chat["gen_ai.operation.name"] == "chat"
    assert chat["gen_ai.response.model"] == "tiny-1"
    assert chat["gen_ai.usage.output_tokens"] == 3
    assert chat["gen_ai.conversation.id"] == str(thread)
    assert whole.attributes["gen_ai.operation.name"] == "invoke_agent"
    assert whole.attributes["gen_ai.agent.name"] == "letters"
    assert whole.attributes["gatepost.thread.status"] == "succeeded"
    tool = one(spans, "execute_tool letter.send").attributes
    assert tool["gen_ai.tool.name"] == "letter.send"
    points = [s.attributes["gatepost.approval.id"] for s in spans if s.name.startswith("approval")]
    assert len(points) == 3
    assert len(set(points)) == 1
    assert {span.resource["service.name"] for span in spans} == {"gatepost"}
    # What people and models wrote stays here.
    assert "answer to" not in str(spans)


def test_without_a_caller_the_chain_is_the_trace(
    exporter: SpanExporter, collector: Collector
) -> None:
    _, thread = letter()
    drain(exporter)
    spans = collector.of(chain_of(thread).hex)
    assert len(spans) == len(collector.spans) == 11
    assert one(spans, "start letters").parent == ""
    assert traces.step_span(chain_of(thread), 0, 1) == one(spans, "step draft").id


def test_a_caller_that_does_not_record_is_followed(
    exporter: SpanExporter, collector: Collector
) -> None:
    letter(traceparent=f"00-{TRACE}-{SPAN}-00")
    drain(exporter)
    assert collector.spans == []


@pytest.mark.requirement("C39")
def test_a_refusal_is_a_span(exporter: SpanExporter, collector: Collector) -> None:
    asking.answering.then = asking.plainly
    bench = bench_of(asking)
    thread = bench.start()
    bench.advance(thread)
    bench.decide(thread, "reject", "Not today")
    bench.advance(thread)
    drain(exporter)
    refused = one(collector.spans, "approval refused")
    assert refused.attributes["gatepost.approval.verdict"] == "reject"
    assert "Not today" not in str(collector.spans)
    assert "approval consumed" not in {span.name for span in collector.spans}


def test_a_failure_and_each_later_end_are_spans_of_their_own(
    exporter: SpanExporter, collector: Collector
) -> None:
    bench = bench_of(failing)
    failing.script.next = [ValueError("no"), ValueError("no")]
    thread = bench.start()
    assert bench.advance(thread).status == "failed"
    bench.retry(thread)
    bench.advance(thread)
    drain(exporter)
    ends = [s for s in collector.spans if s.name == f"invoke_agent {bench.agent.graph.name}"]
    assert len(ends) == 2
    assert ends[1].parent == ends[0].id
    assert all(end.error for end in ends)
    ids = [span.id for span in collector.spans]
    assert len(set(ids)) == len(ids)


@pytest.mark.requirement("C39")
def test_children_and_hand_offs_belong_to_the_trace(
    exporter: SpanExporter,
    collector: Collector,
    fleet: Fleet,  # noqa: F811
) -> None:
    thread = fleet.start("lead", files=["a", "b"])
    giver = fleet.start("researcher", goal="tea")
    fleet.work()
    drain(exporter)
    for first, names in ((thread, {"lead", "reader"}), (giver, {"researcher", "writer"})):
        spans = collector.of(chain_of(first).hex)
        starts = {s.name.removeprefix("start ") for s in spans if s.name.startswith("start ")}
        assert starts == names
        ids = {span.id for span in spans}
        assert {span.parent for span in spans} - ids == {""}
        whole = traces.thread_span(chain_of(first))
        below = [s for s in spans if s.name in ("start reader", "start writer")]
        assert {span.parent for span in below} == {whole}


@pytest.mark.requirement("C39")
def test_a_collector_that_is_away_costs_no_span(
    exporter: SpanExporter, collector: Collector
) -> None:
    collector.status = 503
    letter()
    assert exporter.turn() == 0
    assert collector.spans == []
    before = export_figures(NAME)
    assert before is not None
    assert (before.sent, before.dropped) == (0, 0)
    assert before.lag_seconds > 0
    collector.status = 200
    drain(exporter)
    assert len(collector.spans) == 11
    after = export_figures(NAME)
    assert after is not None
    assert (after.sent, after.dropped, after.lag_seconds) == (11, 0, 0)


@pytest.mark.requirement("C39")
def test_what_it_does_not_take_for_too_long_is_dropped_and_counted(
    exporter: SpanExporter, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracing, "LATE_SECONDS", 0.0)
    collector.status = 503
    bench, _ = letter()
    drain(exporter)
    text = metrics.exposition().decode()
    assert "\ngatepost_spans_dropped_total 11.0\n" in text
    assert "\ngatepost_spans_sent_total 0.0\n" in text
    collector.status = 200
    letter(bench)
    drain(exporter)
    assert len(collector.spans) == 11


@pytest.mark.requirement("C39")
def test_what_it_refuses_for_good_holds_up_no_later_span(
    exporter: SpanExporter, collector: Collector
) -> None:
    collector.status = 400
    bench, _ = letter()
    drain(exporter)
    collector.status = 200
    letter(bench)
    drain(exporter)
    assert len(collector.spans) == 11
    figures = export_figures(NAME)
    assert figures is not None
    assert (figures.sent, figures.dropped) == (11, 11)


def test_what_was_sent_and_not_noted_is_sent_again_as_it_was(
    exporter: SpanExporter, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    letter()
    with monkeypatch.context() as killed:
        killed.setattr(store, "move_export", raising)
        with pytest.raises(KeyboardInterrupt):
            exporter.turn()
    first = list(collector.spans)
    assert len(first) == 11
    drain(exporter)
    assert collector.spans == [*first, *first]


@pytest.mark.requirement("C39")
def test_an_event_that_is_committed_late_is_not_missed(
    exporter: SpanExporter, collector: Collector
) -> None:
    asking.answering.then = asking.plainly
    bench = bench_of(asking)
    begun, go = Event(), Event()

    def start_slowly() -> UUID:
        with transaction.atomic():
            thread = bench.start(goal="late")
            begun.set()
            assert go.wait(20)
        connection.close()
        return thread

    with ThreadPoolExecutor(1) as pool:
        late = pool.submit(start_slowly)
        assert begun.wait(20)
        letter(bench)  # a younger transaction, committed before
        drain(exporter)
        go.set()
        thread = late.result()
    drain(exporter)
    assert [s.name for s in collector.of(chain_of(thread).hex)] == ["start letters"]
    assert len(collector.spans) == 12
    ids = [span.id for span in collector.spans]
    assert len(set(ids)) == len(ids)


def raising(*_args: Any, **_named: Any) -> None:
    """What kill -9 leaves undone."""
    raise KeyboardInterrupt


def test_only_one_worker_exports(exporter: SpanExporter, collector: Collector) -> None:
    other = SpanExporter(OtlpExporter, owner="worker:other")
    letter()
    assert other.turn() == 0
    drain(exporter)
    assert len(collector.spans) == 11
    assert other.turn() == 0


def test_a_cursor_that_somebody_else_moved_stays(exporter: SpanExporter) -> None:
    cursor = store.begin_export(NAME)
    letter()
    assert store.move_export(NAME, cursor, cursor, sent=1, dropped=0)
    drain(exporter)
    assert not store.move_export(NAME, cursor, cursor, sent=1, dropped=0)


def test_the_cursor_of_another_server_begins_anew(exporter: SpanExporter) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE gp_span_export SET xid = 9000000000000000000")
    assert store.begin_export(NAME).xid < 9000000000000000000


def test_a_call_knows_its_span(exporter: SpanExporter, collector: Collector) -> None:
    seen: list[str] = []

    def answer(request: Any) -> Any:
        from gatepost import current

        seen.append(current().traceparent)
        return asking.plainly(request)

    asking.answering.then = answer
    bench = bench_of(asking)
    thread = bench.start()
    bench.advance(thread)
    asking.answering.then = asking.plainly
    drain(exporter)
    chats = [span for span in collector.spans if span.name == "chat tiny-1"]
    assert seen == [f"00-{span.trace}-{span.id}-01" for span in chats]
    assert len(seen) == 3
    assert queries.thread(thread, workspace=bench.workspace).status == "waiting"


# ---- off ----------------------------------------------------------------------------------------


def test_it_is_off_unless_the_environment_names_a_collector(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)
    assert not is_on()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
    assert is_on()
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    assert not is_on()


def test_the_environment_says_where_and_how_it_sends(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", f"{collector.url}/own/path")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "X-Key=a%20b, other=2")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "service.name=first,deployment=eu")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "second")
    exporter = SpanExporter(OtlpExporter, owner="worker:test")
    exporter.turn()
    letter()
    drain(exporter)
    exporter.stop()
    (request,) = collector.requests
    sent = {name.lower(): value for name, value in request.items()}
    assert (sent[":path"], sent["x-key"], sent["other"]) == ("/own/path", "a b", "2")
    assert sent["content-encoding"] == "gzip"
    assert len(collector.spans) == 11
    about = collector.spans[0].resource
    assert (about["service.name"], about["deployment"]) == ("second", "eu")
    assert about["service.version"]


@pytest.mark.slow
def test_nothing_of_it_is_imported_in_a_worker() -> None:
    program = (
        "import django, sys; django.setup(); import workers.tasks, workers.node.context; "
        "print([n for n in sys.modules if n.startswith('opentelemetry.') "
        "and n.split('.')[1] in ('sdk', 'exporter', 'proto')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
