"""The scenarios of that API by each client: the Python one, blocking and async, curl and node."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from gatepost_client import Refused
from gatepost_client.wire.requests import request
from gatepost_client.wire.transports import Awaiting, Blocking
from tests.contract.external.entry import Agent, Answer, Driver
from tests.contract.external.scenarios import SCENARIOS

from .bench import SCRIPTS, Server

pytestmark = pytest.mark.nightly  # nine scenarios on a server, four times


def _answered(perform: Callable[[], Any]) -> Answer:
    try:
        answer = perform()
    except Refused as error:
        return Answer(error.status, error.problem)
    return Answer(answer.status, answer.data, answer.headers)


@contextmanager
def blocking(url: str, token: str) -> Iterator[Driver]:
    """The transport of plain functions."""
    with Blocking(url, {"Authorization": f"Bearer {token}"}) as transport:

        def send(method: str, path: str, body: Any, headers: Mapping[str, str]) -> Answer:
            flow = request(method, path, body, headers=headers)
            return _answered(lambda: transport.perform(flow))

        yield send


@contextmanager
def awaiting(url: str, token: str) -> Iterator[Driver]:
    """The transport of `async def`."""
    with asyncio.Runner() as runner:
        transport = Awaiting(url, {"Authorization": f"Bearer {token}"})

        def send(method: str, path: str, body: Any, headers: Mapping[str, str]) -> Answer:
            flow = request(method, path, body, headers=headers)
            return _answered(lambda: runner.run(transport.perform(flow)))

        yield send
        runner.run(transport.close())


def _plain(
    url: str, token: str, method: str, path: str, body: Any, headers: Mapping[str, str]
) -> dict[str, Any]:
    sent = {"Authorization": f"Bearer {token}", **headers}
    if body is not None:
        sent["Content-Type"] = "application/json"
    text = None if body is None else json.dumps(body)
    return {"method": method, "url": f"{url}/api/v1{path}", "headers": sent, "body": text}


@contextmanager
def curl(url: str, token: str) -> Iterator[Driver]:
    """A process of curl for each request."""

    def send(method: str, path: str, body: Any, headers: Mapping[str, str]) -> Answer:
        call = _plain(url, token, method, path, body, headers)
        command = ["curl", "--silent", "--request", method, call["url"]]
        for name, value in call["headers"].items():
            command += ["--header", f"{name}: {value}"]
        if call["body"] is not None:
            command += ["--data-binary", "@-"]
        command += ["--write-out", "\n%{http_code}"]
        done = subprocess.run(
            command, input=call["body"] or "", capture_output=True, text=True, check=True
        )
        text, _, status = done.stdout.rpartition("\n")
        return Answer(int(status), json.loads(text))

    yield send


@contextmanager
def node(url: str, token: str) -> Iterator[Driver]:
    """One process of node."""
    with subprocess.Popen(
        ["node", str(SCRIPTS / "bridge.mjs")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        requests, answers = process.stdin, process.stdout

        def send(method: str, path: str, body: Any, headers: Mapping[str, str]) -> Answer:
            requests.write(json.dumps(_plain(url, token, method, path, body, headers)) + "\n")
            requests.flush()
            answer = json.loads(answers.readline())
            return Answer(answer["status"], json.loads(answer["text"]), answer["headers"])

        yield send


CLIENTS = {"blocking": blocking, "async": awaiting, "curl": curl, "node": node}


@pytest.mark.parametrize("client", CLIENTS)
def test_each_client_does_every_scenario_of_the_entry(client: str, server: Server) -> None:
    driver = CLIENTS[client]
    done = []
    agents, people = server.operator.token, server.manager.token
    with driver(server.url, agents) as send, blocking(server.url, people) as decide:
        for name, scenario in SCENARIOS.items():
            agent = Agent(send, decide)
            scenario(agent)
            done.append(name)
            assert server.verify(agent.thread)["intact"] is True
    assert done == list(SCENARIOS)
    assert len(done) >= 9
