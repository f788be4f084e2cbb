"""Forms of generated schemas: nothing is answered for a person, nothing that stood is changed."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from dashboard.approvals.answer import answer_fields, read_answer
from dashboard.fields import form as fields
from dashboard.fields.faults import schema_faults
from tests.unit.dashboard.fields.generated import generated, opened, some_values

pytestmark = pytest.mark.requirement("F02")

BY_DAY, BY_NIGHT = 300, 10_000
BLOCKS = [
    pytest.param(range(BY_DAY), id="by-day"),
    *(
        pytest.param(range(first, first + 1_000), id=f"from-{first}", marks=pytest.mark.nightly)
        for first in range(0, BY_NIGHT, 1_000)
    ),
]
EMPTY: dict[str, Any] = {"omitted": fields.ABSENT, "null": None, "text": "", "list": []}


def exact(value: Any) -> str:
    """A value with its types: true is not 1, and 1.0 is not 1."""
    return "left out" if value is fields.ABSENT else f"{type(value).__name__} {json.dumps(value)}"


@pytest.mark.slow
@pytest.mark.parametrize("seeds", BLOCKS)
def test_an_untouched_form_changes_nothing(seeds: range) -> None:
    for seed in seeds:
        schema, allowed = generated(seed)
        values = some_values(seed, schema, allowed)
        for omittable in (False, True):
            form = opened(fields.build(schema, values, omittable=omittable))
            texts_alone = {name: text for name, text in form.sent.items() if name[:2] == "f-"}
            for sent in (form.sent, texts_alone):
                result = fields.parse(schema, values, sent, omittable=omittable)
                assert result == ({}, {}), (seed, omittable)
            assert [name[2:] for name in form.order if name[:2] == "f-"] == schema["x-order"]


@pytest.mark.parametrize("seeds", BLOCKS)
def test_an_untouched_answer_holds_only_what_the_person_saw(seeds: range) -> None:
    for seed in seeds:
        schema, _ = generated(seed)
        form = opened(answer_fields(schema))
        answer, problems = read_answer(schema, form.sent)
        for name, part in schema["properties"].items():
            shown = form.sent[f"f-{name}"].strip() or form.sent.get(f"e-{name}", "")
            if name in answer:
                assert exact(answer[name]) == exact(part["default"]), (seed, name)
                assert not isinstance(answer[name], bool), (seed, name)
                assert shown, (seed, name)
            else:
                assert (name in problems) == (name in schema["required"]), (seed, name)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", BLOCKS)
def test_a_cleared_input_is_what_the_form_says_it_is(seeds: range) -> None:
    for seed in seeds:
        schema, allowed = generated(seed)
        values = some_values(seed, schema, allowed)
        form = opened(fields.build(schema, values, omittable=True))
        for name in schema["properties"]:
            cleared = form.sent | {f"f-{name}": ""}
            changes, problems = fields.parse(schema, values, cleared, omittable=True)
            assert not changes.keys() - {name}, (seed, name)
            assert not problems.keys() - {name}, (seed, name)
            if name in changes:
                _is_allowed(schema, name, changes[name], seed)
            for reading in form.options.get(f"e-{name}", ()):
                wanted = cleared | {f"e-{name}": reading}
                changes, problems = fields.parse(schema, values, wanted, omittable=True)
                if not reading:
                    assert name in problems, (seed, name)
                    continue
                assert not problems, (seed, name, reading)
                result = changes.get(name, values.get(name, fields.ABSENT))
                assert exact(result) == exact(EMPTY[reading]), (seed, name, reading)
                _is_allowed(schema, name, result, seed)


@pytest.mark.parametrize("seeds", BLOCKS)
def test_what_is_pasted_is_read_exactly_or_refused(seeds: range) -> None:
    for seed in seeds:
        schema, allowed = generated(seed)
        values, others = some_values(seed, schema, allowed), Random(seed + 2)
        form = opened(fields.build(schema, values, omittable=True))
        kinds = {f.channel: f for f in fields.build(schema, values, omittable=True)}
        for name, choices in allowed.items():
            value, field = others.choice(choices), kinds[name]
            text = fields.to_text(value, field.kind)
            if not text.strip() or (field.kind == "lines" and "\n" in "".join(value)):
                continue
            sent = form.sent | {f"f-{name}": text.replace("\n", "\r\n")}
            if field.kind == "select" and not all(isinstance(v, str) for v in choices):
                sent[f"f-{name}"] = json.dumps(value)
            if field.kind == "datetime":
                sent[f"f-{name}"] = value
            changes, problems = fields.parse(schema, values, sent, omittable=True)
            assert not (changes.keys() | problems.keys()) - {name}, (seed, name)
            result = changes.get(name, values.get(name, fields.ABSENT))
            plain = value.replace("\r", "\n") if isinstance(value, str) else value
            same = exact(result) in (exact(value), exact(plain))
            numbers = isinstance(value, float) and result == value
            lines = field.kind == "lines" and result == [v.strip() for v in value if v.strip()]
            assert name in problems or same or numbers or lines, (seed, name, value, result)


def _is_allowed(schema: dict[str, Any], name: str, value: Any, seed: int) -> None:
    if value is fields.ABSENT:
        assert name not in schema["required"], (seed, name)
    else:
        assert not schema_faults({"properties": {name: schema["properties"][name]}}, {name: value})
