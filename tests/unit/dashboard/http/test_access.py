"""One line per request, with ids that join them and without anything secret."""

from __future__ import annotations

import io
import json
import logging
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from django.test import Client

from dashboard.configuration.logs import MASK, logging_config, masked
from dashboard.identity import tokens
from tests.faults.embedded.helpers import ROOT, clean_environment, wait_until
from tests.support.cast import Cast, make_cast
from tests.support.logs import logged_by
from tests.support.site import started_site
from tests.unit.dashboard import scene
from workers.celery import app

SECRET = "hush-hush-0123456789"


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """What goes to the log, as JSON lines."""
    config = logging_config(level="DEBUG", form="json")
    stream = io.StringIO()
    config["handlers"]["stderr"]["stream"] = stream
    with logged_by(config):
        yield stream


def lines(written: io.StringIO, event: str = "request") -> list[dict[str, Any]]:
    results = [json.loads(line) for line in written.getvalue().splitlines()]
    return [line for line in results if line["event"] == event]


def test_each_request_leaves_one_line(written: io.StringIO, cast: Cast) -> None:
    thread = scene.start(cast.workspace, scene.make_agent())
    client = cast.client("operator")
    address = f"/threads/{thread}/?utm_source={SECRET}"
    answer = client.get(address, headers={"x-request-id": "proxy-7.a:b"})
    assert answer.status_code == 200
    assert answer.headers["X-Request-ID"] == "proxy-7.a:b"
    (line,) = lines(written)
    assert line["route"] == "/threads/<uuid:thread_id>/"
    assert line["thread"] == str(thread)
    assert line["user"] == f"user:{cast.users['operator'].pk}"
    assert (line["status"], line["method"], line["request"]) == (200, "GET", "proxy-7.a:b")
    assert 0 < line["ms"] < 60_000
    assert line["level"] == "info"
    assert SECRET not in written.getvalue()


@pytest.mark.parametrize(
    "value", ["", "two words", "x" * 101, "line\nbreak", '{"a":1}', "-dash", "ünicode", "<b>"]
)
def test_a_strange_request_id_is_replaced(client: Client, db: None, value: str) -> None:
    answer = client.get("/healthz", headers={"x-request-id": value})
    name = answer.headers["X-Request-ID"]
    assert name != value
    assert len(name) == 32
    assert name.isalnum()
    assert client.get("/healthz").headers["X-Request-ID"] != name


def test_what_is_said_meanwhile_carries_the_id(
    written: io.StringIO, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def loud(*_args: Any) -> None:
        structlog.get_logger("gatepost.test").info("inside")
        logging.getLogger("elsewhere").warning("inside")
        raise ValueError(f"postgresql://me:{SECRET}@host/db")

    monkeypatch.setattr("dashboard.people.login_page.SignIn.get", loud)
    client = Client(raise_request_exception=False)
    answer = client.get("/login/", headers={"x-request-id": "abc"})
    assert answer.status_code == 500
    assert [line["request"] for line in lines(written, "inside")] == ["abc", "abc"]
    (line,) = lines(written)
    assert (line["status"], line["request"]) == (500, "abc")
    failed = [json.loads(line) for line in written.getvalue().splitlines()]
    messages = [line for line in failed if line["level"] == "error"]
    assert len(messages) == 1
    assert "ValueError" in messages[0]["exception"]
    assert MASK in messages[0]["exception"]
    assert SECRET not in written.getvalue()
    structlog.get_logger("gatepost.test").info("later")
    assert "request" not in lines(written, "later")[0]


def test_who_comes_by_a_token_is_named_with_it(written: io.StringIO, cast: Cast) -> None:
    row, made = tokens.make(cast.users["operator"], made_by="test")
    answer = Client().get("/api/v1/threads/", headers={"authorization": f"Bearer {made}"})
    assert answer.status_code == 200
    (line,) = lines(written)
    assert line["user"] == f"user:{cast.users['operator'].pk}/token:{row.prefix}"
    assert made[12:] not in written.getvalue()


def test_probes_are_quiet(written: io.StringIO, client: Client, db: None) -> None:
    client.get("/healthz")
    assert [line["level"] for line in lines(written)] == ["debug"]


def test_nothing_secret_of_a_request_is_written(
    written: io.StringIO, client: Client, cast: Cast
) -> None:
    """Passwords, cookies, tokens, login links: in bodies, headers, queries and paths."""
    client.cookies["sessionid"] = SECRET
    token = f"gp_abcd1234_{'x' * 43}"
    for headers in (
        {"authorization": f"Bearer {token}"},
        {"authorization": f"Basic {SECRET}"},
        {"x-api-key": SECRET},
    ):
        client.get(f"/api/v1/threads/?token={SECRET}", headers=headers)
        client.get(f"/welcome/?sesame={SECRET}", headers=headers)
        client.get(f"/nothing/sesame={SECRET}/{token}", headers=headers)
    client.post("/login/", {"username": "operator", "password": SECRET})
    client.post("/login/", {"username": SECRET, "password": SECRET})
    text = written.getvalue()
    assert len(lines(written)) == 11
    assert SECRET not in text.replace(json.dumps(f"username={SECRET}"), "")
    assert token not in text


@pytest.mark.parametrize(
    "text",
    [
        f"redis://me:{SECRET}@host/0",
        f"postgresql://me:p@ss:{SECRET}@host/db",
        f"host=h password={SECRET} dbname=x",
        f"password='{SECRET} more' x",
        f'{{"password": "{SECRET}"}}',
        f"Authorization: Bearer {SECRET}",
        f"Authorization: Token {SECRET}",
        f"Cookie: csrftoken=x; sessionid={SECRET}; other={SECRET}",
        f"/welcome/?sesame={SECRET}&next=/",
        f"DETAIL:  Key (token)=({SECRET}) already exists.",
        f"gp_abcd1234_{SECRET}{SECRET}",
        f"api_key={SECRET}",
    ],
)
def test_texts_are_masked(text: str) -> None:
    class Odd:
        def __repr__(self) -> str:
            return f"<Odd {text}>"

    for value in (text, [text], {"a": (text,)}, Odd(), ValueError(text)):
        payload = str(masked(value))
        assert SECRET not in payload
        assert MASK in payload


def test_ordinary_words_stay() -> None:
    for text in (
        "step.failed: the tool said no",
        "tokens: 12, saved_tokens: 3",
        "http://localhost:8000/threads/1/",
        "Key (thread_id, seq)=(1, 2) already exists.",
        "who may sign in with a token must hold one",
    ):
        assert masked(text) == text
    assert masked({"tokens": 12, "ok": True, "none": None}) == {
        "tokens": 12, "ok": True, "none": None,
    }  # fmt: skip


@pytest.mark.slow
def test_servers_speak_through_the_same_lines() -> None:
    """uvicorn sets up its logging before it loads the site; what it says afterwards is JSON."""
    code = (
        "import logging, uvicorn\n"
        "config = uvicorn.Config('dashboard.asgi:application', log_level='info')\n"
        "config.load()\n"
        "logging.getLogger('uvicorn.error').info('listening')\n"
        "logging.getLogger('uvicorn.access').info('GET /?sesame=hush')\n"
        "from celery.app.log import Logging\n"
        "from workers.celery import app\n"
        "Logging(app).setup(loglevel='INFO')\n"
        "logging.getLogger('celery.worker').warning('consumer: cannot connect')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=clean_environment() | {"GATEPOST_LOG_FORMAT": "json", "GATEPOST_DATA": "/tmp/gp-none"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    messages = [json.loads(line) for line in done.stderr.splitlines()]
    assert [line["event"] for line in messages] == ["listening", "consumer: cannot connect"]
    assert done.stdout == ""


def all_slots_free() -> bool:
    """Whether the site's worker says that it does nothing."""
    worker = f"gatepost@{socket.gethostname()}"
    return app.control.inspect([worker], timeout=5).active() == {worker: []}


@pytest.mark.nightly
def test_the_worker_names_the_request_that_rang(real_db: str) -> None:
    """Web and worker are processes of their own; one start is found in both logs by one id."""
    name = "proxy-7.start:1"
    with started_site(
        GATEPOST_LOG_FORMAT="json",
        GATEPOST_AGENTS="tests.unit.workers.graphs.asking",
        GATEPOST_SWEEP_SECONDS="600",  # it rings for nobody, and would ring without an id
        DJANGO_SETTINGS_MODULE="tests.support.inspected_settings",
    ) as site:
        cast = make_cast()
        _, token = tokens.make(cast.users["operator"], made_by="test")
        started: dict[str, str] = {}

        def logged(part: str) -> dict[str, set[str]]:
            """{thread: ids in the lines about it}."""
            results: dict[str, set[str]] = {}
            for line in site.log(part).splitlines(keepends=True):
                is_whole = line.startswith("{") and line.endswith("\n")
                payload = json.loads(line) if is_whole else {}
                if "thread" in payload:
                    results.setdefault(payload["thread"], set()).add(payload.get("request", ""))
            return results

        for value, title in (
            (name, "first"),
            (f"{SECRET} {token}", "second"),
            ("x" * 101, "third"),
        ):
            request = urllib.request.Request(
                f"{site.url}/api/v1/threads/",
                data=json.dumps({"agent": "letters", "input": {}, "title": title}).encode(),
                headers={
                    "Authorization": f"Bearer {token}",
                    "Content-Type": "application/json",
                    "X-Request-ID": value,
                },
            )
            with urllib.request.urlopen(request, timeout=30) as answer:
                assert answer.status == 201
                started[json.load(answer)["id"]] = answer.headers["X-Request-ID"]
            # One after the other: a slot that comes free takes what waits, whoever rang for it.
            wait_until(lambda: set(started) <= set(logged("worker")), seconds=60, what="the worker")
            wait_until(all_slots_free, seconds=60, what="free slots")
        assert next(iter(started.values())) == name

        assert {thread: {ident} for thread, ident in started.items()} == {
            thread: ids for thread, ids in logged("worker").items() if thread in started
        }
        for ident in started.values():
            (line,) = [row for row in site.log("web").splitlines() if f'"{ident}"' in row]
            assert json.loads(line)["status"] == 201
        # Nothing that a client sends in place of an id goes any further.
        both = site.log("web") + site.log("worker")
        assert SECRET not in both
        assert token[12:] not in both
        assert "x" * 101 not in both
        assert len(set(started.values())) == 3
