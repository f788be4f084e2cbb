"""Soundness of a JSON Schema (2020-12): each part is visited one time only, in linear time; pure.

A schema leads nowhere else: references name a part of the same schema. It is stricter than the
draft where the rest would let a process compute for long.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import unquote

from .. import deltas
from . import expressions

# Microseconds to build all expressions of a schema, each once.
COST_MAX: Final = 1_000_000
TYPES: Final = ("array", "boolean", "integer", "null", "number", "object", "string")

_ONE: Final = frozenset(
    {"additionalProperties", "items", "contains", "not", "if", "then", "else", "propertyNames"}
    | {"unevaluatedItems", "unevaluatedProperties"}
)
_SEVERAL: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_NAMED: Final = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
)
# Those that judge the same value again: a circle of them has no end.
_IN_PLACE: Final = frozenset(
    {"$ref", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"}
)
_COUNTS: Final = frozenset(
    {"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"}
    | {"minContains", "maxContains"}
)
_NUMBERS: Final = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
_TEXTS: Final = frozenset({"title", "description", "$comment", "format", "$schema", "$id"})
_FLAGS: Final = frozenset({"uniqueItems", "readOnly", "writeOnly", "deprecated"})
# Other ways to refer: looking them up takes long in a large schema.
_ELSEWHERE: Final = frozenset({"$anchor", "$dynamicRef", "$dynamicAnchor"})
_LOCAL: Final = re.compile(r"#(/|\Z)")
# Together they let names be matched by Python's engine, whatever the expression.
NOT_TOGETHER: Final = frozenset({"patternProperties", "unevaluatedProperties"})
TOGETHER: Final = "has patternProperties and unevaluatedProperties; only one of them is taken"


class BrokenSchema(Exception):
    """A schema by which no value can be judged; `path` is within the schema."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path, self.message = path, message


def broken_part(schema: Any, path: str = "$") -> BrokenSchema | None:
    """Name what makes a schema unfit to judge values, with its path; None where nothing does."""
    try:
        _Inspection(schema, path).whole()
    except BrokenSchema as fault:
        return fault
    return None


class _Inspection:
    """One look at each part of a schema and at what its references lead to."""

    def __init__(self, schema: Any, path: str) -> None:
        self._root, self._path = schema, path
        self._expressions: set[str] = set()
        self._cost = 0  # of all expressions
        # By the id of a part: others that judge the same value again, with their paths.
        self._again: dict[int, list[tuple[Any, str]]] = {}

    def whole(self) -> None:
        """Raise BrokenSchema for the first part that is."""
        names = names_of(self._root)
        _need(not names >= NOT_TOGETHER, self._path, TOGETHER)
        waiting = [(self._root, self._path)]
        while waiting:
            part, at = waiting.pop()
            if isinstance(part, Mapping) and id(part) not in self._again:
                self._again[id(part)] = []
                for name, value in part.items():
                    waiting += self._keyword(id(part), name, value, deltas.at(at, name))
            else:
                _need(isinstance(part, bool | Mapping), at, "must be an object, true or false")
        self._circles()

    def _keyword(self, part: int, name: str, value: Any, at: str) -> list[tuple[Any, str]]:
        """Judge one keyword of a part; returns the schemas that it leads to."""
        below: list[tuple[Any, str]] = []
        if name in _ONE:
            below = [(value, at)]
        elif name in _SEVERAL:
            _need(isinstance(value, list) and value, at, "must be a list of schemas")
            below = [(item, deltas.at(at, i)) for i, item in enumerate(value)]
        elif name in _NAMED:
            _need(isinstance(value, Mapping), at, "must be an object of schemas")
            below = [(item, deltas.at(at, key)) for key, item in value.items()]
            for key in value if name == "patternProperties" else ():
                self._expression(key, at)
        elif name == "$ref":
            below = [(self._target(value, at), at)]
        elif name == "pattern":
            self._expression(value, at)
        elif name in _ELSEWHERE or (name == "$id" and part != id(self._root)):
            raise BrokenSchema(at, "is not taken: refer to a part by its place, #/...")
        elif (form := _FORMS.get(name)) is not None:
            _need(form[0](value), at, form[1])
        if name in _IN_PLACE:
            self._again[part] += below
        return below

    def _expression(self, value: Any, at: str) -> None:
        _need(isinstance(value, str), at, "must be a regular expression")
        if value in self._expressions:
            return
        self._expressions.add(value)
        try:
            expressions.check(value)
            self._cost += min(expressions.cost(value), expressions.COST_MAX)
        except (expressions.SpacedOut, expressions.TooCostly):
            message = "is a regular expression that could take for ever; repeat no group"
            raise BrokenSchema(at, message) from None
        except (re.error, OverflowError, RecursionError):
            raise BrokenSchema(at, "is not a regular expression") from None
        _need(self._cost <= COST_MAX, at, "is one large regular expression too many")

    def _target(self, ref: Any, at: str) -> Any:
        """The part that a reference leads to."""
        _need(isinstance(ref, str) and _LOCAL.match(ref), at, "must name a part of it, as #/...")
        target = self._root
        for step in ref.split("/")[1:]:
            name = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(target, Mapping) and name in target:
                target = target[name]
            elif isinstance(target, list) and name.isascii() and name.isdigit() and len(name) < 8:
                _need(int(name) < len(target), at, "leads nowhere")
                target = target[int(name)]
            else:
                raise BrokenSchema(at, "leads nowhere")
        return target

    def _circles(self) -> None:
        """Refuse parts that come back to themselves without a step into the value."""
        on_way: dict[int, bool] = {}  # False: done
        for begin in self._again:
            stack: list[tuple[int, str, bool]] = [(begin, self._path, False)]
            while stack:
                part, at, is_left = stack.pop()
                if is_left:
                    on_way[part] = False
                    continue
                _need(not on_way.get(part, False), at, "leads back to itself for ever")
                if part in on_way:
                    continue
                on_way[part] = True
                stack.append((part, at, True))
                stack += [
                    (id(other), at_other, False) for other, at_other in self._again.get(part, ())
                ]


def _need(condition: Any, path: str, message: str) -> None:
    if not condition:
        raise BrokenSchema(path, message)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _are_types(value: Any) -> bool:
    names = value if isinstance(value, list) else [value]
    return bool(names) and all(isinstance(name, str) and name in TYPES for name in names)


def _forms() -> Mapping[str, tuple[Callable[[Any], bool], str]]:
    """{keyword: (what fits, what to say where it does not)} of those that hold no schemas."""
    count = (lambda v: _is_number(v) and v >= 0 and v == int(v), "must be a whole number from 0")
    number = (_is_number, "must be a number")
    text = (lambda v: isinstance(v, str), "must be a text")
    flag = (lambda v: isinstance(v, bool), "must be true or false")
    return {
        "type": (_are_types, f"must be one or some of {', '.join(TYPES)}"),
        "enum": (lambda v: isinstance(v, list), "must be a list of values"),
        "multipleOf": (lambda v: _is_number(v) and v > 0, "must be a number above 0"),
        "required": (_are_names, "must be a list of names"),
        "dependentRequired": (
            lambda v: isinstance(v, Mapping) and all(map(_are_names, v.values())),
            "must be an object of lists of names",
        ),
        "examples": (lambda v: isinstance(v, list), "must be a list of values"),
        **dict.fromkeys(_COUNTS, count),
        **dict.fromkeys(_NUMBERS, number),
        **dict.fromkeys(_TEXTS, text),
        **dict.fromkeys(_FLAGS, flag),
    }


_FORMS: Final = _forms()


def names_of(schema: Any) -> set[str]:
    """All names of members, wherever they stand."""
    names: set[str] = set()
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Mapping):
            names.update(one)
            waiting += one.values()
        elif isinstance(one, list | tuple):
            waiting += one
    return names
