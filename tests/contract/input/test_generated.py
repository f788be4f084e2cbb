"""schemathesis: requests made up from the OpenAPI document, partly with things that exist.

Each example goes out with the token of each person and with none; whatever it changes is taken
back, so that the next one meets the same world.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core import NOT_SET
from schemathesis.specs.openapi import checks as openapi

from dashboard.identity import tokens
from dashboard.kit.api.long_poll import WAIT_MAX
from tests.contract.calls import example
from tests.contract.example_calls import NO_TOKEN, ROLES, Call
from tests.contract.operations import document, operations
from tests.contract.world import World
from tests.contract.written import taken_back

from .bounds import stands_in

EXAMPLES = 32  # four ways to make one up, in two modes: some four of each, with six people
EVERYBODY = (*ROLES, "viewer", "admin")
NOBODY = "nobody"  # who has no token
CHECKS: list[Any] = [
    not_a_server_error,
    openapi.status_code_conformance,
    openapi.content_type_conformance,
    openapi.response_headers_conformance,
    openapi.response_schema_conformance,
]
# The same examples in every run, and none shrunk: the answer names what was sent.
STEADY = settings(
    max_examples=EXAMPLES,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(autouse=True)
def one_transaction() -> Iterator[None]:
    """Requests leave the connection of the test alone, as those of Django's test client do."""
    request_started.disconnect(close_old_connections)
    request_finished.disconnect(close_old_connections)
    yield
    request_started.connect(close_old_connections)
    request_finished.connect(close_old_connections)


def made_up(operation: Any) -> dict[GenerationMode, Any]:
    """How schemathesis makes up requests that fit the document, and such that do not.

    Built once for all examples of an operation: building takes longer than drawing one.
    """
    modes = [GenerationMode.POSITIVE]
    if operation.body or operation.query or operation.headers:
        modes.append(GenerationMode.NEGATIVE)
    return {mode: operation.as_strategy(mode) for mode in modes}


def without_waits(case: Any) -> Any:
    """The request without what is answered by a stream that stays open: ?format=sse and ?wait=30.

    Those need a server of their own: tests/unit/dashboard/kit/api/test_event_stream.py reads them.
    """
    query = case.query if isinstance(case.query, dict) else {}
    if query.get("format") == "sse":
        del query["format"]
    if str(query.get("wait", "")).isdecimal() and 0 < int(query["wait"]) <= WAIT_MAX:
        del query["wait"]
    return case


@st.composite
def cases(draw: Any, operation: Any, call: Call, ways: dict[GenerationMode, Any]) -> Any:
    """A request as schemathesis makes it up, with more or less of the good example in it.

    Made up whole; about a thing that exists; the example with one member made up; the example.
    """
    draw(st.integers(0, 2**32))  # else a call without parameters has one example only
    case = draw(ways[draw(st.sampled_from(list(ways)))])
    how = draw(st.sampled_from(("made up", "about", "mixed", "example")))
    if how == "made up":
        return case
    case.path_parameters = dict(call.params)
    if how == "about":
        return case
    body: Any = {name: content for name, (_, content) in call.files.items()} or call.body
    query = dict(call.query)
    if how == "mixed":
        if isinstance(body, dict) and isinstance(case.body, dict) and case.body:
            member = draw(st.sampled_from(sorted(case.body)))
            body = {**body, member: case.body[member]}
        query |= case.query
    else:
        case.headers.clear()
    case.headers.update(call.headers)
    case.query = query
    if body is not None:
        case.body = body
        case.media_type = next(one.media_type for one in operation.body)
    elif how == "example":
        case.body = NOT_SET
    return case


def check_places(problem: Any, body: Any) -> None:
    """Fail where a refusal names a place that the body does not have."""
    for path in (problem["path"], *(one["path"] for one in problem.get("errors") or ())):
        assert not path.startswith("$") or stands_in(path, body), (path, body)


def expected_of(people: tuple[str, ...]) -> set[str]:
    """The people of an example; where those of `ROLES` may call it, so may all with a role."""
    return {*EVERYBODY} if {*people} >= {*ROLES} else {*people} - {*NO_TOKEN}


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(operations()))
def test_made_up_requests(world: World, name: str) -> None:
    call, cast = example(world, operations()[name]), world.cast
    schema = schemathesis.openapi.from_dict(document())
    operation = schema.find_operation_by_id(name)
    app = get_wsgi_application()
    headers: dict[str, dict[str, str]] = {NOBODY: {}}
    for who in EVERYBODY:
        scopes = tokens.scopes_of(cast.actor(who))  # all that the roles allow
        _, token = tokens.make(cast.users[who], made_by="test", scopes=scopes)
        headers[who] = {"Authorization": f"Bearer {token}"}
    answered: Counter[tuple[str, int]] = Counter()

    def once(case: Any, who: str) -> None:
        plain = {"Accept-Encoding": "identity"}  # no server in between inflates it
        answer = without_waits(case).call(app=app, headers=headers[who] | plain)
        case.validate_response(answer, checks=CHECKS)
        answered[who, answer.status_code] += 1
        if answer.status_code >= 400:
            assert answer.headers["content-type"] == ["application/problem+json"]
        if answer.status_code == 422 and case.media_type == "application/json":
            check_places(answer.json(), case.body)

    @STEADY
    @given(case=cases(operation, call, made_up(operation)))
    def every(case: Any) -> None:
        for who in headers:
            with taken_back():
                once(case, who)

    every()
    for who in headers:
        assert sum(n for (one, _), n in answered.items() if one == who) >= EXAMPLES, answered
    reached = {who for who, code in answered if code < 300}
    expected = expected_of(call.reach or call.who)
    # Admins reach some things of others too; test_calls.py has what they may change.
    assert expected <= reached <= expected | {"admin"}, answered
    for who in {*EVERYBODY} - reached - expected_of(call.who):
        assert answered[who, 403] > 0, answered
    assert {code for who, code in answered if who == NOBODY} == {401}
