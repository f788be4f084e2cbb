"""Whatever is sent, a refusal is small, and takes time in proportion to what was sent.

Bodies are made up from the good example of each call: very many members, items, long names and
texts, in the place of each member and beside them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from checkpoints.errors import GatepostError
from dashboard import errors
from dashboard.errors import FAULTS_MAX, Fault, Invalid
from tests.contract.calls import address, example
from tests.contract.operations import operations
from tests.contract.world import World

ANSWER_BYTES = 64 * 1024
SMALL, LARGE = 4_000, 16_000
SECONDS = 10.0  # for one answer to the largest body; a machine that others use too
CSRF = "c" * 32
JSON = sorted(one.id for one in operations().values() if one.body_type == "application/json")
SHA = "0123456789abcdef" * 4


def hostile(n: int) -> dict[str, Any]:
    """Values of about n members, items or characters each, by what is wrong with them."""
    return {
        "many members": {f"member-{i}": i for i in range(n)},
        "many named alike": {"x" * 70 + str(i): None for i in range(n)},
        "many items": [None] * n,
        "many wrong items": [{"a": i, "b\u0001": [i]} for i in range(n)],
        "many numbers": list(range(n)),
        "many files": [{"$artifact": f"{i:064x}"} for i in range(n)],
        "a long text": "x" * 10 * n,
        "a text of controls": "\u0001\u001f" * n,
        "a long name": {"k" * 10 * n: 1},
        "long names": {"\u2028" * 200 + str(i): {"é" * 200: i} for i in range(n // 100)},
    }


def bodies(good: Any, n: int) -> Iterator[tuple[str, Any]]:
    """Hostile bodies by what they are; a list of objects is tried in its first object."""
    for what, value in hostile(n).items():
        yield f"{what} as the whole", value
        inner = good[0] if isinstance(good, list) else good
        for member in inner:
            body = {**inner, member: value}
            yield f"{what} as {member}", [body] if isinstance(good, list) else body
        if isinstance(value, dict):
            body = {**inner, **value}
            yield f"{what} beside", [body] if isinstance(good, list) else body


class Sender:
    """The person of the good example; keeps how long answers took and how large they were."""

    def __init__(self, world: World, name: str) -> None:
        operation = operations()[name]
        call = example(world, operation)
        self.good = call.body
        self.path = address(operation, call)
        self.client: Client = world.cast.client(call.who[0], enforce_csrf_checks=True)
        self.client.cookies["csrftoken"] = CSRF
        self.refused = 0

    def seconds(self, what: str, body: Any) -> float:
        raw = json.dumps(body).encode()
        began = time.monotonic()
        answer = self.client.post(
            self.path, raw, content_type="application/json", headers={"X-CSRFToken": CSRF}
        )
        took = time.monotonic() - began
        # What is taken is an answer of another kind, and its size that of the thing.
        if answer.status_code >= 400:
            assert answer.status_code < 500, (what, answer.content[:300])
            assert len(answer.content) < ANSWER_BYTES, (what, len(answer.content))
            assert answer["Content-Type"] == "application/problem+json"
            payload = answer.json()
            assert len(payload.get("errors", ())) <= FAULTS_MAX + 1
            self.refused += 1
        assert took < SECONDS, (what, took)
        return took


@pytest.mark.nightly
@pytest.mark.parametrize("name", JSON)
def test_refusals_are_small_and_take_linear_time(world: World, name: str) -> None:
    sender = Sender(world, name)
    n_bodies = 0
    pairs = zip(bodies(sender.good, SMALL), bodies(sender.good, LARGE), strict=True)
    for (what, small), (_, large) in pairs:
        n_bodies += 2
        # A machine that others use too may be slow once: only what is slow again counts.
        for _ in range(3):
            allowed = 4 * LARGE / SMALL * (sender.seconds(what, small) + 0.02)
            if (took := sender.seconds(what, large)) < allowed:
                break
        else:
            pytest.fail(f"{what}: {took:.2f} s where {allowed:.2f} s are linear")
    assert sender.refused >= n_bodies / 2, "most of these have to be refused"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["threads_start", "policies_make", "approvals_decide_many"])
def test_the_largest_bodies(world: World, name: str) -> None:
    """Nearly 5 MiB of members that no call knows: formerly a refusal of 51 MB."""
    sender = Sender(world, name)
    unknown = {f"k{i}": 0 for i in range(380_000)}
    body = [sender.good[0] | unknown] if isinstance(sender.good, list) else sender.good | unknown
    assert 4_500_000 < len(json.dumps(body)) < 5 * 2**20
    sender.seconds("unknown members", body)
    assert sender.refused == 1


def test_a_refusal_says_how_many_more_there_are(world: World) -> None:
    sender = Sender(world, "threads_edit")
    changes = {f"unknown{i}": 1 for i in range(4_932)}
    answer = sender.client.post(
        sender.path,
        json.dumps({"changes": changes, "reason": "r"}),
        content_type="application/json",
        headers={"X-CSRFToken": CSRF},
    )
    payload = answer.json()
    assert answer.status_code == 422
    assert len(payload["errors"]) == FAULTS_MAX + 1
    assert payload["errors"][-1] == {"path": "$.changes", "message": "and 4,912 more"}


def test_every_refusal_is_bounded_by_itself() -> None:
    """Whichever entry point shows it: API, page, hook, command."""
    long = "\u0001" * 1_000_000
    several = Invalid.of(Fault(f"$.{long}{i}", long) for i in range(1_000))
    refusals = [
        Invalid(long, long),
        several,
        errors.of(GatepostError(long)),
        errors.Malformed(long, path=long),
        errors.Missing(long),
    ]
    for error in refusals:
        assert len(json.dumps(error.detail + error.path)) < ANSWER_BYTES
        faults = getattr(error, "faults", ())
        assert sum(len(json.dumps(f.path + f.message)) for f in faults) < ANSWER_BYTES
        assert len(faults) <= FAULTS_MAX + 1
    assert several.faults[-1].message == "and 980 more"
