"""One trace from the caller through web and worker to the tool, whoever is killed in between."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.propagate import inject
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from tests.faults.bench import Case, Field, Worker, ask, wait_until, workers
from tests.faults.web import Person, Web, people
from tests.unit.workers.tracing.collector import Collector, collecting

pytestmark = pytest.mark.hazard
TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
STEPS = ("follow one", "follow two, follow three", "deliver parcel", "follow four")


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as made:
        yield made


@pytest.fixture
def rita(ground: Path, field: Field) -> Iterator[Person]:
    web = Web(ground)
    try:
        web.wait_ready()
        with people(web, field.workspace, "operator", f"rita-{uuid4().hex}") as (rita,):
            yield rita
    finally:
        web.kill()


def tracing(collector: Collector) -> dict[str, str]:
    return {"HAZARD_QUEUE": "traced", "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}


def start(rita: Person, folder: Path, headers: dict[str, str]) -> UUID:
    """A thread that is started over HTTP with these headers."""
    body = {
        "agent": "script-traced",
        "input": {
            "folder": str(folder),
            "script": [[order.split() for order in step.split(", ")] for step in STEPS],
        },
    }
    answer = rita.post("/threads/", body, **headers)
    assert answer.status_code == 201, answer.text
    return UUID(answer.json()["id"])


def called(collector: Collector, rita: Person, folder: Path) -> tuple[str, str, UUID]:
    """(trace, span of the caller, thread) of a start by a caller with the SDK."""
    provider = TracerProvider()
    provider.add_span_processor(
        SimpleSpanProcessor(OTLPSpanExporter(endpoint=f"{collector.url}/v1/traces"))
    )
    with provider.get_tracer("caller").start_as_current_span("caller") as span:
        headers: dict[str, str] = {}
        inject(headers)
        thread = start(rita, folder, headers)
    provider.shutdown()
    context = span.get_span_context()
    return f"{context.trace_id:032x}", f"{context.span_id:016x}", thread


def moved(collector: Collector) -> bool:
    """Whether all that was sent is noted."""
    ((sent,),) = ask("SELECT sent FROM gp_span_export")
    return bool(sent >= len([s for s in collector.spans if s.name != "caller"]))


def ended(collector: Collector, trace: str, case: Case) -> None:
    """Wait until the span of the whole thread has come."""
    wait_until(
        lambda: any(s.name == "invoke_agent script-traced" for s in collector.of(trace)),
        seconds=40,
        what=lambda: f"{[s.name for s in collector.of(trace)]}; {case.summary()}",
    )


@pytest.mark.requirement("C39")
def test_one_trace_though_the_worker_is_killed(
    ground: Path, field: Field, rita: Person, collector: Collector, tmp_path: Path
) -> None:
    folder = tmp_path / "traced"
    folder.mkdir()
    (folder / "in-three.hold").touch()
    first = Worker(ground, "traced-1", queues="traced", environment=tracing(collector))
    with workers(first):
        wait_until(lambda: ask("SELECT 1 FROM gp_span_export"), seconds=20)
        trace, caller, thread = called(collector, rita, folder)
        case = field.adopt(thread, folder)
        case.wait_called("three")
        # Killed between sending and noting it, spans are sent again as they were: not here.
        wait_until(lambda: len(collector.of(trace)) >= 5, seconds=20, what=case.summary)
        wait_until(lambda: moved(collector), seconds=20)
        first.kill()
    case.go("in-three")
    second = Worker(ground, "traced-2", queues="traced", environment=tracing(collector))
    with workers(second):
        case.wait_status("succeeded", seconds=30)
        ended(collector, trace, case)
    spans = collector.of(trace)
    ids = [span.id for span in spans]
    assert len(ids) == len(set(ids)), sorted(span.name for span in spans)
    # Everything hangs together: caller > web > thread > steps > calls.
    assert {span.parent for span in spans} - set(ids) == {""}
    by_name = {span.name: span for span in spans}
    assert by_name["caller"].id == caller
    assert by_name["start script-traced"].parent == caller
    whole = by_name["invoke_agent script-traced"]
    assert whole.parent == by_name["start script-traced"].id
    steps = [span for span in spans if span.name == "step play"]
    assert len(steps) == len(STEPS)
    assert {span.parent for span in steps} == {whole.id}
    # Each tool knew the span that stands for it, also the one that was called twice.
    calls = [span for span in spans if span.name == "activity follow"]
    assert len(calls) == 4
    assert len(case.calls("three")) == 2
    known = {line for name in ("one", "two", "three", "four") for line in case.calls(name)}
    assert known == {f"00-{trace}-{span.id}-01" for span in calls}
    assert "execute_tool deliver-traced" in by_name


@pytest.mark.requirement("C39")
def test_a_collector_that_is_away_delays_no_step(
    ground: Path, field: Field, rita: Person, collector: Collector, tmp_path: Path
) -> None:
    folder = tmp_path / "refused"
    folder.mkdir()
    collector.status = 503
    worker = Worker(ground, "traced-3", queues="traced", environment=tracing(collector))
    with workers(worker):
        wait_until(lambda: ask("SELECT 1 FROM gp_span_export"), seconds=20)
        thread = start(rita, folder, {"traceparent": f"00-{TRACE}-{SPAN}-01"})
        case = field.adopt(thread, folder)
        case.wait_status("succeeded", seconds=30)
        wait_until(lambda: collector.requests, seconds=20)
        assert collector.spans == []
        collector.status = 200
        ended(collector, TRACE, case)
    assert len({span.id for span in collector.spans}) == len(collector.spans)
