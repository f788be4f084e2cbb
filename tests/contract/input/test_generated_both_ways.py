"""Bodies and queries made up whole from the document: what fits it is taken, all else refused.

`test_documented_bounds.py` goes place by place; here members stand together as they may come. The
document's own schema is the judge of each body, so that a member of a good example beside one that
was made up is judged as well.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import jsonschema_rs
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from schemathesis import GenerationMode

from dashboard.external.requests import RenewLease, ReportCheckpoint
from dashboard.threads.skip import Skip
from tests.contract.calls import example, send
from tests.contract.operations import document, operations
from tests.contract.world import World
from tests.contract.written import taken_back

from .bounds import stands_in
from .test_documented_bounds import DEPENDS, REFUSED, faults

EXAMPLES = 24
STEADY = settings(
    max_examples=EXAMPLES,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
CHANGING = sorted(n for n, o in operations().items() if o.body_type == "application/json")
QUERIED = sorted(n for n, o in operations().items() if o.query)


@cache
def judge(name: str) -> Any:
    """The validator of a call's body, with formats."""
    schema = operations()[name].spec["requestBody"]["content"]["application/json"]["schema"]
    whole = {**schema, "components": document()["components"]}
    return jsonschema_rs.validator_for(whole, validate_formats=True)


def place_of(path: str) -> str:
    """A place as DEPENDS calls it: `draft.terms.stages[].count`."""
    return re.sub(r"\[\d+\]", "[]", path.removeprefix("$").removeprefix("."))


def unexplained(name: str, answer: Any) -> list[tuple[str, str]]:
    """(place, message) of what is refused though nothing but the schema could refuse it."""
    return [
        (place_of(path), message)
        for path, message in faults(answer)
        if not any(
            re.fullmatch(key, f"{name} {place_of(path)}") and re.search(why, message)
            for key, why in DEPENDS.items()
        )
    ]


@st.composite
def bodies(draw: Any, good: Any, ways: list[Any]) -> Any:
    """A body as schemathesis makes it up, or the good example with one member of such a body."""
    made = draw(draw(st.sampled_from(ways))).body
    if isinstance(good, dict) and isinstance(made, dict) and made and draw(st.booleans()):
        member = draw(st.sampled_from(sorted(made)))
        return {**good, member: made[member]}
    return made


@pytest.mark.nightly
@pytest.mark.parametrize("name", CHANGING)
def test_bodies_are_taken_or_refused_as_the_document_says(world: World, name: str) -> None:
    call = example(world, operations()[name])
    client = world.cast.client(call.who[0])
    made_up = schemathesis.openapi.from_dict(document()).find_operation_by_id(name)
    ways = [made_up.as_strategy(mode) for mode in GenerationMode]
    wrong: dict[str, Any] = {}

    @STEADY
    @given(body=bodies(call.body, ways))
    def every(body: Any) -> None:
        try:
            raw = json.dumps(body, allow_nan=False).encode()
        except (TypeError, ValueError):
            return
        with taken_back():
            answer = send(client, operations()[name], call.but(body=raw))
        for path, message in faults(answer):
            if not stands_in(path, body):
                wrong[f"no such place: {path}"] = (message, body)
        if not judge(name).is_valid(body):
            if answer.status_code < 400:
                wrong["taken"] = (body, answer.status_code)
        elif answer.status_code in REFUSED and (lines := unexplained(name, answer)):
            for line in lines:
                wrong[str(line)] = body

    every()
    assert not wrong, f"{name}: {wrong}"


@pytest.mark.nightly
@pytest.mark.parametrize("name", QUERIED)
def test_queries_that_fit_the_document_are_taken(world: World, name: str) -> None:
    call = example(world, operations()[name])
    client = world.cast.client(call.who[0])
    made_up = schemathesis.openapi.from_dict(document()).find_operation_by_id(name)
    wrong: dict[str, Any] = {}

    @STEADY
    @given(case=made_up.as_strategy(GenerationMode.POSITIVE))
    def every(case: Any) -> None:
        query = {k: v for k, v in (case.query or {}).items() if k not in ("wait", "format")}
        sent = {k: str(v).lower() if isinstance(v, bool) else v for k, v in query.items()}
        with taken_back():
            answer = send(client, operations()[name], call.but(query={**call.query, **sent}))
        if answer.status_code in REFUSED:
            for line in unexplained(name, answer):
                wrong[str(line)] = sent

    every()
    assert not wrong, f"{name}: {wrong}"


def test_a_whole_number_may_be_written_with_a_point() -> None:
    """JSON Schema takes 3.0 for an integer, and so does the server; 3.5 and "3" it refuses."""
    assert type(RenewLease.model_validate({"seconds": 60.0}).seconds) is int
    taken = ReportCheckpoint.model_validate({"taken": [2.0, 3]}).taken
    assert [type(one) for one in taken] == [int, int]
    for value in (3.5, "3", True, 1e300):
        with pytest.raises(ValidationError):
            RenewLease.model_validate({"seconds": value})


@pytest.mark.parametrize("code", [*range(0x21), 0x7F, 0x85, 0xA0, 0x2028, 0x3000, 0xFEFF])
def test_a_text_of_blanks_is_blank_for_the_server_as_for_the_document(code: int) -> None:
    text = chr(code) * 2
    fits = jsonschema_rs.is_valid(Skip.model_json_schema(), {"node": "n", "reason": text})
    try:
        Skip.model_validate({"node": "n", "reason": text})
    except ValidationError:
        assert not fits
    else:
        assert fits
