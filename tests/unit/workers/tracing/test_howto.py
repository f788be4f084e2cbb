"""docs/howto/opentelemetry.md is taken at its word."""

from __future__ import annotations

import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
from opentelemetry.propagate import inject
from opentelemetry.sdk.trace import TracerProvider

import gatepost
from checkpoints import queries
from checkpoints.log.traces import read_traceparent
from dashboard.identity import tokens
from gatepost import END, Context, Graph, Harness, State
from tests.support.cast import make_cast
from tests.support.site import started_site
from tests.unit.workers.conftest import bench_of
from tests.unit.workers.graphs import samples
from workers.tracing import environment, spans

PAGE = (Path(__file__).resolve().parents[4] / "docs/howto/opentelemetry.md").read_text()
CALLER, TOOL = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)


class Order(State):
    goal: str = "tea"
    price: str = ""


@pytest.mark.slow
@pytest.mark.requirement("C39")
def test_a_caller_starts_a_thread_in_its_trace(real_db: str) -> None:
    cast = make_cast()
    bench_of(samples)
    token = tokens.make(cast.users["operator"], made_by="user:0")[1]
    with started_site(slots=0) as site:
        names: dict[str, Any] = {
            "httpx": httpx,
            "inject": inject,
            "token": token,
            "gatepost": site.url,
        }
        with TracerProvider().get_tracer("caller").start_as_current_span("caller") as span:
            exec(CALLER, names)
        answer = names["answer"]
        assert answer.status_code == 201, answer.text
        first = queries.events_after(answer.json()["id"], 0)[0]
        broken = httpx.post(
            f"{site.url}/api/v1/threads/",
            json={"agent": "orders"},
            headers={"Authorization": f"Bearer {token}", "traceparent": "00-broken"},
        )
    caller = read_traceparent(first.data["traceparent"])
    assert caller is not None
    assert caller.trace == f"{span.get_span_context().trace_id:032x}"
    assert caller.span == f"{span.get_span_context().span_id:016x}"
    assert broken.status_code == 201
    assert "traceparent" not in queries.events_after(broken.json()["id"], 0)[0].data


@pytest.mark.requirement("C39")
def test_a_tool_hands_the_trace_on() -> None:
    got: list[str] = []

    class Shop(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            got.append(self.headers["traceparent"])
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"3.50")

        def log_message(self, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Shop)
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    names: dict[str, Any] = {
        "httpx": httpx,
        "gatepost": gatepost,
        "shop": f"http://127.0.0.1:{server.server_port}",
    }
    exec(TOOL, names)
    graph = Graph("shops", Order)

    @graph.node(then=END)
    def look(state: Order, ctx: Context) -> dict[str, Any]:
        return {"price": ctx.activity(names["look_up"], state.goal)}

    try:
        played = Harness(graph).play()
    finally:
        server.shutdown()
        server.server_close()
    assert (played.status, played.state["price"]) == ("succeeded", "3.50")
    (header,) = got
    assert read_traceparent(header) is not None


def test_the_page_names_each_span() -> None:
    text = Path(spans.__file__).read_text()
    made = set(re.findall(r'f"(\w+) \{', text)) - {"approval"}
    table = PAGE.partition("| span |")[2].partition("\n\n")[0]
    named = set(re.findall(r"^\| `(\w+)", table, re.M))
    assert named == made | {"approval"}
    points = {"consumed", *re.findall(r'"(requested|decided|expired|withdrawn|refused)"', text)}
    assert points <= set(re.findall(r"`(?:approval )?(\w+)`", table))


def test_the_page_names_what_switches_it_on() -> None:
    read = set(re.findall(r'_read\(f?"([^"]+)"\)', Path(environment.__file__).read_text()))
    names = {name.replace("{_PREFIX}", "OTEL_EXPORTER_OTLP") for name in read}
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in names
    assert names == set(re.findall(r"`(OTEL_\w+)`", PAGE))
