"""Errors of a value under a JSON Schema (2020-12) that others wrote, within bounds; pure.

Agents elsewhere, MCP servers and capsules bring schemas. None of them makes this process fetch an
address or compute for long: references lead to parts of the same schema, expressions are asked
within bounds, and a value is judged in a bounded number of steps.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from itertools import islice
from typing import Any, Final

from jsonschema import Draft202012Validator, FormatChecker, validators
from jsonschema.exceptions import ValidationError
from referencing import Registry
from referencing.exceptions import Unresolvable

from . import expressions
from .soundness import NOT_TOGETHER, TOGETHER, BrokenSchema, broken_part, names_of

# Steps that judging a value may take: a schema may refer to one part very often.
STEPS_MAX: Final = 20_000
STEPS_PER_VALUE: Final = 20
_left: ContextVar[list[int]] = ContextVar("steps_left")


def errors_of(
    schema: Any,
    value: Any,
    *,
    limit: int,
    formats: FormatChecker | None = None,
    judge: Callable[..., Any] | None = None,
) -> list[ValidationError]:
    """The first errors of a value, at most `limit`; raises BrokenSchema.

    `judge` is what `with_keywords` made.
    """
    if names_of(schema) >= NOT_TOGETHER:
        raise BrokenSchema("$", TOGETHER)
    before = _left.set([STEPS_MAX + STEPS_PER_VALUE * _n_values(value)])
    try:
        made = (judge or JUDGE)(schema, registry=Registry(), format_checker=formats)
        return list(islice(made.iter_errors(value), limit))
    except BrokenSchema:
        raise
    except (Unresolvable, RecursionError, re.error, expressions.TooCostly) as error:
        raise BrokenSchema("$", "is broken") from error
    except Exception as error:
        # A keyword of another type than it takes is met only when it is used.
        if (fault := broken_part(schema)) is None:
            raise
        raise fault from error
    finally:
        _left.reset(before)


def with_keywords(keywords: Mapping[str, Any]) -> Any:
    """A judge with these keywords in place of those of the draft, for `errors_of`."""
    made: Any = validators.extend(Draft202012Validator, {**KEYWORDS, **keywords})
    made.evolve = _evolve
    return made


def _evolve(self: Any, **changes: Any) -> Any:
    """The same judge for a part of the schema, whatever draft that part names; counts the step."""
    left = _left.get()
    left[0] -= 1
    if left[0] < 0:
        raise BrokenSchema("$", "takes too many steps")
    return type(self)(
        changes.get("schema", self.schema),
        registry=self._registry,
        format_checker=self.format_checker,
        _resolver=changes.get("_resolver", self._resolver),
    )


def _pattern(judge: Any, wanted: Any, value: Any, _schema: Any) -> Iterator[ValidationError]:
    if not judge.is_type(value, "string"):
        return
    try:
        fits = expressions.is_match(wanted, value)
    except expressions.TooCostly:
        expressions.check(wanted)  # of a shorter text it could be asked
        fits = False
    if not fits:
        yield ValidationError(f"{value!r} does not match {wanted!r}")


def _pattern_properties(
    judge: Any, wanted: Any, value: Any, _schema: Any
) -> Iterator[ValidationError]:
    if judge.is_type(value, "object"):
        for expression, part in wanted.items():
            for name in value:
                if expressions.is_match(expression, name):
                    yield from judge.descend(value[name], part, path=name, schema_path=expression)


def _additional_properties(
    judge: Any, wanted: Any, value: Any, schema: Any
) -> Iterator[ValidationError]:
    if not judge.is_type(value, "object"):
        return
    known, matched = schema.get("properties", {}), schema.get("patternProperties", {})
    extras = [
        name
        for name in value
        if name not in known and not any(expressions.is_match(one, name) for one in matched)
    ]
    if judge.is_type(wanted, "object"):
        for name in extras:
            yield from judge.descend(value[name], wanted, path=name)
    elif not wanted and extras:
        names = ", ".join(repr(name) for name in sorted(extras))
        yield ValidationError(f"Additional properties are not allowed ({names})")


def _references(keyword: str) -> Any:
    """The keyword as the draft has it, for parts of the same schema alone."""
    follow = Draft202012Validator.VALIDATORS[keyword]

    def judged(judge: Any, wanted: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
        if not isinstance(wanted, str) or not wanted.startswith("#"):
            raise BrokenSchema("$", "refers to something else than its own parts")
        yield from follow(judge, wanted, value, schema)

    return judged


KEYWORDS: Final[Mapping[str, Any]] = {
    **Draft202012Validator.VALIDATORS,
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "$ref": _references("$ref"),
    "$dynamicRef": _references("$dynamicRef"),
}
JUDGE: Final = with_keywords({})


def _n_values(value: Any) -> int:
    count, waiting = 0, [value]
    while waiting:
        one = waiting.pop()
        count += 1
        if isinstance(one, Mapping):
            waiting += one.values()
        elif isinstance(one, list | tuple):
            waiting += one
    return count
