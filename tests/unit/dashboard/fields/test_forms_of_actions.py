"""The forms of declared actions are made by the one form module, from their inputs' schemas."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any, Literal

import pytest
from django.conf import settings
from pydantic import Field

from dashboard.errors import Invalid
from dashboard.fields.faults import schema_faults
from dashboard.kit.action import ACTIONS, read
from dashboard.kit.inputs import fields_of, from_texts, inputs_of
from dashboard.kit.shapes.requests import Labels, RequestShape
from dashboard.kit.shapes.texts import NotBlank
from tests.unit.dashboard.fields.generated import opened

pytestmark = pytest.mark.requirement("F02")
import_module(settings.ROOT_URLCONF)  # declares all of them
# A value of each kind of field, beside those that lists of choices have.
SOME: dict[str, tuple[Any, ...]] = {
    "text": ("a", " blank first", "two  blanks", "0", "null"),
    "textarea": ("a", "two\nlines", "\nfirst", "ä" * 90, "x "),
    "integer": (1, 90),
    "bool": (True, False),
    "pair": ({"team": "eu"}, {"team": "eu", "x": "y"}),
    "lines": (["a", "b"], [" a"]),
    "datetime": ("2026-11-30T09:30:05Z",),
    "json": ("text", {"a": 1}),
}


class Everything(RequestShape):
    """A field of each kind, and each thing that an empty one can mean."""

    reason: Annotated[str, NotBlank(200)]
    title: Annotated[str, Field(max_length=100)] = ""
    note: Annotated[str, NotBlank(100)] | None = "none yet"
    count: int = 1
    limit: int | None = 5
    active: bool = True
    scope: Literal["thread", "family"] = "thread"
    lines: list[str] = Field(default_factory=lambda: ["a"])
    labels: Labels = Field(default_factory=dict)


SHAPES = {"everything": Everything, **{name: one.takes for name, one in ACTIONS.items()}}


def samples(shape: type[RequestShape]) -> list[dict[str, Any]]:
    """Values for the fields of a shape, as its own schema takes them; none where none is known."""
    inputs, rounds = inputs_of(shape), 5
    results: list[dict[str, Any]] = [{} for _ in range(rounds)]
    for one in inputs.members:
        known = one.options if one.kind == "select" else SOME.get(one.kind, ())
        if words := one.part.get("items", {}).get("enum"):
            known = ([words[0]], words[:2])
        part = {"properties": {"value": one.raw}, "$defs": inputs.schema.get("$defs", {})}
        fits = [value for value in known if not schema_faults(part, {"value": value})]
        if one.part.get("format") == "uuid":
            fits = ["0f8fad5b-d9cb-469f-a165-70867728950e"]
        assert fits or shape is not Everything, one
        for n in range(rounds if fits else 0):
            results[n][inputs.fields[one.name]] = fits[n % len(fits)]
    return results


@pytest.mark.parametrize("name", SHAPES)
def test_each_field_is_drawn_by_its_schema(name: str) -> None:
    shape = SHAPES[name]
    drawn = fields_of(shape, [*shape.model_fields], {}, {}, {})
    names = [inputs_of(shape).fields[one.name] for one in drawn]
    assert names == [*shape.model_fields]
    for one, field in zip(drawn, shape.model_fields.values(), strict=True):
        assert one.required is field.is_required()
        assert (field.description or "").rstrip(".") in one.help
        assert one.readings == ()  # a form of ours asks for values, never for kinds of empty


@pytest.mark.parametrize("name", SHAPES)
def test_an_untouched_form_of_an_action_changes_nothing(name: str) -> None:
    shape = SHAPES[name]
    assert from_texts(shape, {}) == {}
    for values in samples(shape):
        form = opened(fields_of(shape, [*shape.model_fields], {}, {}, {}, values))
        assert from_texts(shape, form.sent, values) == {}


@pytest.mark.parametrize("name", SHAPES)
def test_what_is_written_is_read_as_the_shape_has_it(name: str) -> None:
    """What a form shows of a value is that value again where nothing stood before."""
    shape = SHAPES[name]
    for values in samples(shape):
        if any(isinstance(value, dict) and len(value) > 1 for value in values.values()):
            continue
        stripped = {k: v.strip() if isinstance(v, str) else v for k, v in values.items()}
        drawn = fields_of(shape, [*shape.model_fields], {}, {}, {}, stripped)
        if any(one.kind in ("json", "datetime") for one in drawn):
            # A time has its zone beside it. A list that lines cannot hold is drawn and read as JSON
            # where the form was opened on it.
            continue
        assert from_texts(shape, opened(drawn).sent) == {**stripped}


def test_a_cleared_field_is_null_empty_or_left_out_as_its_shape_takes_it() -> None:
    values = samples(Everything)[0]
    form = opened(fields_of(Everything, [*Everything.model_fields], {}, {}, {}, values)).sent
    cleared: dict[str, dict[str, Any]] = {
        "title": {"title": ""},
        "note": {"note": None},
        "count": {},
        "limit": {"limit": None},
        "lines": {"lines": []},
        "label": {},
    }
    for name, changes in cleared.items():
        assert from_texts(Everything, form | {name: ""}, values) == changes
        read(Everything, {"reason": "x", **changes})
    with pytest.raises(Invalid) as refused:
        from_texts(Everything, form | {"reason": ""}, values)
    assert refused.value.path == "$.reason"
    # Where nothing stood, an empty field says nothing.
    assert from_texts(Everything, dict.fromkeys(form, "")) == {}


@pytest.mark.parametrize(
    ("name", "text"),
    [("count", "two"), ("count", "1.5"), ("label", "team"), ("label", ":eu"), ("limit", "1e999")],
)
def test_a_text_that_is_no_value_is_refused_beside_its_field(name: str, text: str) -> None:
    with pytest.raises(Invalid) as refused:
        from_texts(Everything, {name: text})
    assert refused.value.path == f"$.{name}"
    assert refused.value.reason.endswith((".", "number."))


def test_an_object_of_several_members_keeps_all_of_them() -> None:
    """An input of one line takes one member; where there are more, it is edited as JSON."""
    values = {"labels": {"team": "eu", "x": "y"}}
    [field] = fields_of(Everything, ["labels"], {}, {}, {}, values)
    assert field.kind == "json"
    written = from_texts(Everything, {"label": field.value.replace("eu", "us")}, values)
    assert written == {"labels": {"team": "us", "x": "y"}}
