"""What nodes are refused, said with the author's line, while they work and beforehand."""

from __future__ import annotations

import asyncio
import gc
import json
import multiprocessing
import os
import shutil
import socket
import sqlite3
import subprocess
import tempfile
import threading
import urllib.request
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, Self

import httpx
import psycopg
import pytest
from django.contrib.auth.models import User
from django.db import connection
from pydantic import AfterValidator, model_validator

from tests.unit.workers.conftest import bench_of
from tests.unit.workers.graphs.guarded import Notes, played
from workers.authoring.graph import END, Append, Custom, Graph, State
from workers.checking.outside import check_outside
from workers.node.context import Context
from workers.testing.harness import Harness, Played

FIX = "put it into a function and call it with ctx.activity(...)"


def lines_of(function: Callable[..., Any]) -> set[int | None]:
    """The numbers of a function's own lines in this file."""
    return {line for _, _, line in function.__code__.co_lines()}


def refused(do: Callable[..., Any], says: str, *value: Any) -> None:
    """In a node it fails the step at the very line that would do it."""

    def node(state: Notes, ctx: Context) -> Any:
        do(*value)

    thread = played(node)
    assert thread.status == "failed"
    assert says in thread.reason, thread.reason
    assert FIX in thread.reason
    assert thread.reason.startswith("one: test_guard.py, line ")
    assert int(thread.reason.split("line ")[1].partition(",")[0]) in lines_of(do)
    assert (thread.state["out"], thread.step) == ([], 0)
    failed = [e for e in thread.events if e.kind == "step.failed"]
    assert FIX in failed[0].data["error"]
    thread.retry()  # it may be tried again, and ends alike
    assert thread.status == "failed"


def done(do: Callable[[], Any]) -> None:
    """In an activity it is done."""

    def act() -> str:
        do()
        return "done"

    thread = played(lambda state, ctx: {"out": [ctx.activity(act)]})
    assert thread.state["out"] == ["done"], thread.reason


# ---- a model, asked directly ---------------------------------------------------------------------


@pytest.fixture
def model() -> Iterator[tuple[str, list[str]]]:
    """(address, what was asked) of a server that answers like a model."""
    requests: list[str] = []

    class Answering(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"  # the connection stays open

        def do_POST(self) -> None:
            requests.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            message = json.dumps({"choices": [{"message": {"content": "Tea."}}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(message)))
            self.end_headers()
            self.wfile.write(message)

        def log_message(self, *_: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1/chat/completions", requests
        server.shutdown()


def by_urllib(address: str) -> str:
    call = urllib.request.Request(address, data=b'{"messages": []}')
    with urllib.request.urlopen(call, timeout=20) as answer:
        return str(json.load(answer)["choices"][0]["message"]["content"])


def by_httpx(address: str) -> str:
    answer = httpx.post(address, json={"messages": []}, timeout=20)
    return str(answer.json()["choices"][0]["message"]["content"])


class Client:
    """As the libraries of model services do it: one client, its connection open."""

    def __init__(self) -> None:
        self._http = httpx.Client(timeout=20)

    def create(self, address: str) -> str:
        answer = self._http.post(address, json={"messages": []})
        return str(answer.json()["choices"][0]["message"]["content"])

    def close(self) -> None:
        self._http.close()


async def by_async_client(address: str) -> str:
    async with httpx.AsyncClient(timeout=20) as client:
        answer = await client.post(address, json={"messages": []})
        return str(answer.json()["choices"][0]["message"]["content"])


@pytest.mark.requirement("C19")
@pytest.mark.parametrize("ask", [by_urllib, by_httpx], ids=["urllib", "httpx"])
def test_a_model_asked_in_a_node_is_refused(
    model: tuple[str, list[str]], ask: Callable[[str], str]
) -> None:
    address, request = model

    def node(state: Notes, ctx: Context) -> dict[str, Any]:
        return {"out": [ask(address)]}

    thread = played(node)
    assert request == []
    assert thread.status == "failed"
    assert int(thread.reason.split("line ")[1].partition(",")[0]) in lines_of(ask)
    assert "speaks to the network" in thread.reason
    assert FIX in thread.reason

    assert played(lambda state, ctx: {"out": [ctx.activity(ask, address)]}).state["out"] == ["Tea."]
    assert len(request) == 1


@pytest.mark.requirement("C19")
def test_an_open_connection_of_a_client_is_no_way_round(model: tuple[str, list[str]]) -> None:
    address, request = model
    client = Client()

    def node(state: Notes, ctx: Context) -> dict[str, Any]:
        first = ctx.activity(client.create, address)
        return {"out": [first, client.create(address)]}

    thread = played(node)
    client.close()
    assert (thread.status, len(request)) == ("failed", 1)
    assert "speaks to the network" in thread.reason


@pytest.mark.requirement("C19")
def test_an_activity_may_be_async_and_a_node_cannot_hide_in_a_loop(
    model: tuple[str, list[str]],
) -> None:
    address, request = model
    thread = played(lambda state, ctx: {"out": [ctx.activity(by_async_client, address)]})
    assert (thread.state["out"], len(request)) == (["Tea."], 1)
    thread = played(lambda state, ctx: {"out": [asyncio.run(by_async_client(address))]})
    assert (thread.status, len(request)) == ("failed", 1)
    assert "outside of an activity" in thread.reason


# ---- everything else ----------------------------------------------------------------------------


def idle() -> None: ...


def shouted(_: Path) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as speaking:
        speaking.sendto(b"x", ("127.0.0.1", 9))


REFUSED: dict[str, tuple[Callable[[Path], Any], str]] = {
    "socket": (lambda p: socket.create_connection(("localhost", 9)), "the network (localhost)"),
    "datagram": (shouted, "the network (127.0.0.1)"),
    "run": (lambda p: subprocess.run(["ls", "--secret"], check=True), "starts a process (ls)"),
    "shell": (lambda p: os.system("ls --secret"), "starts a process (ls)"),
    "fork": (lambda p: os.fork() or os._exit(0), "starts a process"),
    "spawn": (
        lambda p: multiprocessing.get_context("spawn").Process(target=idle).start(),
        "starts a process",
    ),
    "thread": (lambda p: threading.Thread(target=idle).start(), "starts a thread"),
    "write": (lambda p: (p / "a").write_text("x"), "writes a file"),
    "append": (lambda p: (p / "there").open("a").close(), "writes a file"),
    "os.open": (lambda p: os.open(p / "a", os.O_WRONLY | os.O_CREAT), "writes a file"),
    "temporary": (lambda p: tempfile.TemporaryFile().close(), "writes a file"),
    "folder": (lambda p: (p / "sub").mkdir(), "changes files"),
    "rename": (lambda p: (p / "there").rename(p / "b"), "changes files"),
    "copy": (lambda p: shutil.copy(p / "there", p / "b"), "writes a file"),
    "delete": (lambda p: (p / "there").unlink(), "deletes files"),
    "delete all": (lambda p: shutil.rmtree(p / "empty"), "deletes files"),
    "sqlite": (lambda p: sqlite3.connect(p / "a.db"), "opens a database"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_may_happen_once_only_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "there").write_text("x")
    (tmp_path / "empty").mkdir()
    before = sorted(tmp_path.iterdir())
    do, says = REFUSED[name]
    refused(do, says, tmp_path)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.nightly
def test_an_activity_may_do_all_of_it(tmp_path: Path) -> None:
    for number, name in enumerate(sorted(REFUSED.keys() - {"socket", "fork", "run", "shell"})):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "there").write_text("x")
        (folder / "empty").mkdir()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            done(lambda d=folder, n=name: REFUSED[n][0](d))
            gc.collect()
    done(lambda: subprocess.run(["true"], check=True))
    for child in multiprocessing.active_children():
        child.join(20)


def test_a_running_pool_is_no_way_round(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(idle).result()
        refused(lambda: pool.submit((tmp_path / "a").write_text, "x").result(), "another thread")
        done(lambda: pool.submit((tmp_path / "b").write_text, "x").result())
    assert [p.name for p in tmp_path.iterdir()] == ["b"]


def test_reading_sleeping_and_devices_are_fine(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("x")

    def node(state: Notes, ctx: Context) -> dict[str, Any]:
        with open(os.devnull, "w") as nothing:
            print("gone", file=nothing)
        results = [p.read_text() for p in sorted(tmp_path.iterdir())]
        return {"out": [*results, tempfile.gettempdir()[:1], socket.gethostname()[:0]]}

    assert played(node).state["out"] == ["x", "/", ""]


def test_except_exception_does_not_swallow_it_and_base_exception_does_not_save_the_node(
    tmp_path: Path,
) -> None:
    after: list[str] = []

    def polite(state: Notes, ctx: Context) -> dict[str, Any]:
        try:
            (tmp_path / "a").write_text("x")
        except Exception:
            after.append("swallowed")
        return {"out": ["went on"]}

    def greedy(state: Notes, ctx: Context) -> dict[str, Any]:
        try:
            (tmp_path / "a").write_text("x")
        except BaseException:
            after.append("greedy")
        ctx.activity(after.append, "paid")
        return {"out": ["went on"]}

    for node in (polite, greedy):
        thread = played(node)
        assert (thread.status, thread.state["out"]) == ("failed", [])
        assert "writes a file" in thread.reason
    # What a node would do after it swallowed a refusal is not done either.
    assert after == ["greedy"]
    assert list(tmp_path.iterdir()) == []


def test_after_it_is_mended_the_thread_goes_on(tmp_path: Path) -> None:
    graph = Graph("one", Notes, on_code_change="go_on")
    graph.node("one", then=END)(lambda state, ctx: (tmp_path / "a").write_text("x"))
    harness = Harness(graph)
    thread = harness.play()
    assert thread.status == "failed"
    assert isinstance(thread.error, Exception)
    assert "writes a file" in str(thread.error)

    mended = Graph("one", Notes, on_code_change="go_on")
    write = (tmp_path / "a").write_text
    mended.node("one", then=END)(lambda state, ctx: {"out": [str(ctx.activity(write, "x"))]})
    harness.install(mended)
    thread.retry()
    assert (thread.status, thread.state["out"]) == ("succeeded", ["1"])


# ---- what counts as node code --------------------------------------------------------------------


NEVER = Path(tempfile.gettempdir(), f"gatepost-never-{os.getpid()}")


def touch(value: Any = None) -> Any:
    NEVER.touch()
    return value


def judge(value: str) -> str:
    return str(touch(value)) if value == "touch" else value


def join(old: Any, new: Any) -> Any:
    return touch(new)


def test_edges_reducers_and_validators_count_as_node_code() -> None:
    class Checked(State):
        own: Annotated[str, AfterValidator(judge)] = ""
        kept: Annotated[list[str], Custom(join)] = []
        all: str = ""
        heard: Annotated[list[str], Append()] = []

        @model_validator(mode="after")
        def whole(self) -> Self:
            if self.all == "touch" or "touch" in self.heard:
                touch()
            return self

    def ending(update: dict[str, Any], then: Any = END, **value: Any) -> Played:
        graph = Graph("checked", Checked, message_channel="heard")
        graph.node("one", then=then, ways=(END,))(lambda state, ctx: update)
        thread = Harness(graph).play({}, pause_at="one")
        if "edit" in value:
            thread.edit(value["edit"])
        if "send" in value:
            thread.send(value["send"])
        return thread.resume()

    assert ending({"own": "fine"}).status == "succeeded"
    threads = [
        ending({"own": "touch"}),
        ending({"kept": ["a"]}),
        ending({"all": "touch"}),
        ending({}, then=lambda state: touch(END)),
    ]
    assert not NEVER.exists()
    # Whoever edits in a play lets the validators judge outside of any node.
    threads.append(ending({}, edit={"own": "touch"}))
    NEVER.unlink()
    for thread in threads:
        assert thread.status == "failed", thread.reason
        assert "test_guard.py, line" in thread.reason, thread.reason
        assert FIX in thread.reason
    # A message that the validators refuse stops nobody.
    thread = ending({}, send="touch")
    assert thread.status == "succeeded"
    (message,) = [e.data["why"] for e in thread.events if e.kind == "update.rejected"]
    assert FIX in message
    assert not NEVER.exists()


def test_pieces_of_a_file_are_made_under_the_guard(tmp_path: Path) -> None:
    def pieces(worse: bool) -> Iterator[bytes]:
        yield b"a"
        if worse:
            (tmp_path / "beside").write_text("x")
        yield b"b"

    def node(worse: bool) -> Callable[[Any, Context], Any]:
        return lambda state, ctx: {
            "out": [str(ctx.artifact("a.bin", pieces(worse), "application/octet-stream")["size"])]
        }

    assert played(node(False)).state["out"] == ["2"]
    thread = played(node(True))
    assert (thread.status, list(tmp_path.iterdir())) == ("failed", [])
    assert "writes a file" in thread.reason


# ---- databases -----------------------------------------------------------------------------------


def address() -> str:
    at = connection.settings_dict
    return f"host={at['HOST']} dbname={at['NAME']} user={at['USER']}"


def test_queries_in_a_node_are_refused_and_those_of_the_engine_are_not(db: None) -> None:
    graph = Graph("asks", Notes)
    warm = psycopg.connect(address(), autocommit=True)
    ways: dict[str, Callable[[], Any]] = {
        "orm": lambda: User.objects.count(),
        "cursor": lambda: connection.cursor().execute("SELECT 1"),
        "connect": lambda: psycopg.connect(address()),
        "warm": lambda: warm.execute("SELECT 1"),
        "many": lambda: warm.cursor().executemany("SELECT %s", [(1,)]),
    }

    @graph.node(then=END)
    def one(state: Notes, ctx: Context) -> dict[str, Any]:
        ctx.think("the engine writes this")
        before = ctx.activity(lambda: User.objects.count(), key="count")
        ctx.now(), ctx.uuid(), ctx.random()
        if state.what in ways:
            ways[state.what]()
        return {"out": [f"{before} users, {len(ctx.config)} settings"]}

    bench = bench_of(SimpleNamespace(__name__="asks", __file__=__file__, graph=graph))
    for name in ways:
        row = bench.advance(bench.start(what=name))
        assert row.status == "failed", name
        says = "opens a database" if name == "connect" else "asks a database"
        assert says in row.status_reason, row.status_reason
        assert "test_guard.py, line" in row.status_reason
    row = bench.advance(bench.start(what="nothing"))
    assert row.status == "succeeded", row.status_reason
    assert User.objects.count() >= 0
    warm.close()


# ---- what `agent check` sees of it beforehand ----------------------------------------------------

CLIENT = httpx.Client()
FOLDER = Path(tempfile.gettempdir())


def test_the_check_names_plain_cases_in_the_same_words() -> None:
    graph = Graph("checked", Notes)

    @graph.node(then="two")
    def one(state: Notes, ctx: Context) -> dict[str, Any]:
        CLIENT.post("http://localhost:9/")
        with open(FOLDER / "never", "w") as file:
            file.write("x")
        return {}

    @graph.node(then=END)
    def two(state: Notes, ctx: Context) -> dict[str, Any]:
        def fetch() -> Any:
            return urllib.request.urlopen("http://localhost:9/")

        ctx.activity(fetch)
        ctx.activity(lambda: os.remove(FOLDER / "never"))
        os.path.exists(FOLDER / "never")
        (FOLDER / "never").unlink(missing_ok=True)
        return {"out": [open(os.devnull).read()]}

    results = list(check_outside(graph))
    first, second = one.__code__.co_firstlineno, two.__code__.co_firstlineno
    assert [(f.level, f.place, f.line) for f in results] == [
        ("error", "node one", first + 2),
        ("error", "node one", first + 3),
        ("error", "node two", second + 8),
    ]
    messages = [f.said for f in results]
    for says, words in zip(
        ("the network", "writes a file", "deletes files"), messages, strict=True
    ):
        assert says in words
        assert "outside of an activity" in words
    # The guard says the same of the first, at the same line.
    thread = Harness(graph).play()
    assert thread.reason.startswith(f"one: test_guard.py, line {results[0].line}, speaks to the")
    assert f"{results[0].fix[0].lower()}{results[0].fix[1:]}" in thread.reason
