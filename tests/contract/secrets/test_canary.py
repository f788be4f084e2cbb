"""Canaries: a credential planted in every text that the API takes is found nowhere afterwards.

Generated from the examples of all calls and the text fields of the OpenAPI document, so that a new
call and a new field are covered when they are described.
"""

from __future__ import annotations

import copy
import io
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import override_settings

from dashboard.configuration.logs import logging_config
from tests.contract.calls import EXAMPLES, example, send
from tests.contract.example_calls import Call
from tests.contract.operations import document, operations
from tests.contract.world import World
from tests.contract.written import taken_back
from tests.support.logs import logged_by

from . import grep

pytestmark = pytest.mark.slow
CANARY = "ghp_C4n4ryC4n4ryC4n4ryC4n4ryC4n4ryC4n4ry"
REGISTERED = "canary-of-a-registered-secret-0123"
# What an admin enters about other services is theirs to enter; what holds a secret by its nature
# is shown to nobody (tests/unit/dashboard/administration/test_secrets_stay.py).
ENTERED = {
    "endpoints_make": "a target's address can be a secret; it is shown to nobody",
    "endpoints_change": "the same",
}


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of each text in a body."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))


def planted(body: Any, path: tuple[Any, ...], text: str) -> Any:
    """The body with another text at a place."""
    if not path:
        return text
    result = copy.deepcopy(body)
    at = result
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = text
    return result


def fields(name: str) -> list[str]:
    """The text fields that a call's body may have by the document."""
    spec = operations()[name].spec
    content = next(iter(spec.get("requestBody", {}).get("content", {}).values()), {})
    schema = content.get("schema", {})
    if "$ref" in schema:
        schema = document()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return [
        key
        for key, part in schema.get("properties", {}).items()
        if part.get("type") == "string" or "anyOf" in part or "additionalProperties" in part
    ]


def bodies(name: str, call: Call, text: str) -> Iterator[tuple[str, Any]]:
    """(where, body) for each place that takes a text."""
    for path in leaves(call.body):
        old = call.body
        for step in path:
            old = old[step]
        yield ".".join(map(str, path)), planted(call.body, path, f"{old} {text}")
    if isinstance(call.body, dict):
        for key in fields(name):
            yield key, call.body | {key: text}
            if not isinstance(call.body.get(key), str):
                yield f"{key}.x", call.body | {key: {"x": text}}


CHANGING = sorted(name for name in EXAMPLES if operations()[name].method != "get")


@pytest.mark.parametrize("text", [CANARY, REGISTERED])
def test_no_call_of_the_api_stores_a_credential(world: World, text: str) -> None:
    tried = refused = 0
    clients = {who: world.cast.client(who) for who in ("operator", "manager", "admin")}
    stored: dict[str, set[str]] = {}
    config = logging_config(level="DEBUG", form="json")
    stream = io.StringIO()
    config["handlers"]["stderr"]["stream"] = stream
    with override_settings(GATEPOST_SECRET_VALUES=(REGISTERED,)), logged_by(config):
        for name in CHANGING:
            call = example(world, operations()[name])
            if call.body is None or name in ENTERED:
                continue
            for where, body in bodies(name, call, text):
                with taken_back():
                    answer = send(clients[call.who[0]], operations()[name], call.but(body=body))
                    tried += 1
                    refused += answer.status_code in (400, 409, 422)
                    assert answer.status_code < 500, (name, where)
                    if answer.status_code < 400 and (at := grep.in_database(text)):
                        stored[f"{name} {where}"] = at
        logging.getLogger("gatepost").warning("the end")
    assert not stored, "\n".join(f"{k}: {sorted(v)}" for k, v in stored.items())
    assert tried > 150
    assert refused > 100
    assert "the end" in stream.getvalue()
    assert text not in stream.getvalue()
    assert grep.everywhere(text) == set()
