"""An admin asks a server for its tools: the answer, or a sentence in time why there is none."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from django.test import override_settings

from dashboard.administration.mcp_servers import mcp_server
from dashboard.gateway.registry.changes import Wanted
from dashboard.gateway.upstream import inquiry
from tests.faults.bench import wait_until
from tests.support.cast import Cast
from tests.unit.dashboard.gateway.servers import add_mcp_server

pytestmark = pytest.mark.django_db


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a server that takes a message and never answers it."""
    ending = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            ending.wait(60)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/mcp"
    ending.set()
    server.shutdown()
    server.server_close()


def test_a_person_waits_for_45_seconds_at_the_most() -> None:
    assert inquiry.SECONDS == 45


def _list_tools(cast: Cast, server: Any) -> tuple[Any, float]:
    """What the API answers an admin who asks for the tools, and after how long."""
    began = time.monotonic()
    path = f"/api/v1/mcp-servers/{server.id}/tools/"
    answer = cast.client("admin").post(path, {}, content_type="application/json")
    return answer, time.monotonic() - began


def test_a_server_that_says_nothing_is_given_up_in_time(
    cast: Cast, silent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inquiry, "SECONDS", 1)
    server = add_mcp_server(cast.actor("admin"), "mute", Wanted(url=silent))
    answer, seconds = _list_tools(cast, server)
    assert answer.status_code == 409
    body = answer.json()
    assert body["type"] == "urn:gatepost:problem:server-unanswered"
    assert body["detail"] == "mute took more than 1 seconds."
    assert 1 <= seconds < 20
    assert mcp_server(cast.actor("admin"), server.id)[1] == []


@pytest.mark.slow
@override_settings(GATEPOST_MCP_COMMANDS=["sh"])
def test_a_program_that_says_nothing_is_ended_with_the_inquiry(
    cast: Cast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import mcp.client.stdio  # noqa: F401  (it takes a second, which is not the program's)

    monkeypatch.setattr(inquiry, "SECONDS", 4)
    noted = tmp_path / "pid"
    command = ["sh", "-c", f"echo $$ > '{noted}'; exec sleep 600"]
    server = add_mcp_server(cast.actor("admin"), "mute", Wanted(command=command))
    answer, seconds = _list_tools(cast, server)
    assert answer.status_code == 409
    assert "took more than 4 seconds" in answer.json()["detail"]
    assert seconds < 30
    process = Path(f"/proc/{noted.read_text().strip()}")
    wait_until(lambda: not process.exists(), seconds=10, what="the end of the program")


def test_a_server_that_is_not_there_is_said_at_once(cast: Cast) -> None:
    server = add_mcp_server(cast.actor("admin"), "gone", Wanted(url="http://127.0.0.1:9/mcp"))
    answer, seconds = _list_tools(cast, server)
    assert (answer.status_code, "gone can't be reached" in answer.json()["detail"]) == (409, True)
    assert seconds < 20
