"""The typed border of a node: what goes in is a read-only view, what comes out is checked JSON.

The state of a thread is checked whole when a lease loads it; after that only what a node returns
is. A view builds an author's types of what the node looks at, so neither side grows with a thread.
"""

from __future__ import annotations

import difflib
import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from pydantic import BaseModel, TypeAdapter, ValidationError

from checkpoints.errors import InvalidValue
from checkpoints.state import deltas

from .frozen import FrozenDict, FrozenList, freeze, jsonable, thaw

type Look = Callable[[Any], Any]

PLAIN_NODE = "Write `def`, and put what must be awaited into an activity (`async def` is fine)."


class Border:
    """The channels of one state schema with their types."""

    def __init__(self, schema: type[BaseModel]) -> None:
        self._schema = schema
        self._channels = tuple(schema.model_fields)

    @cached_property
    def _hints(self) -> dict[str, Any]:
        return get_type_hints(self._schema, include_extras=True)

    @cached_property
    def _adapters(self) -> dict[str, TypeAdapter[Any]]:
        return {name: TypeAdapter(self._hints[name]) for name in self._channels}

    @cached_property
    def _plain(self) -> dict[str, bool]:
        return {name: is_json(self._hints[name]) for name in self._channels}

    @cached_property
    def _looks(self) -> dict[str, Look]:
        """The channels that are no plain JSON, with what makes of a value what a node sees."""
        return {name: self._look(name) for name in self._channels if not self._plain[name]}

    @cached_property
    def _judges(self) -> tuple[str, ...] | None:
        """The author's whole-state validators by name; None when one cannot judge a view."""
        result = self._schema.__pydantic_decorators__.model_validators
        for validator in result.values():
            takes_more = len(inspect.signature(validator.func).parameters) != 1
            if validator.info.mode != "after" or takes_more:
                return None
        return tuple(result)

    def _look(self, channel: str) -> Look:
        whole = self._adapters[channel].validate_python
        kind, item = _items_of(self._hints[channel])
        if kind is None:
            return whole
        view, build = (FrozenList if kind is list else FrozenDict), TypeAdapter(item)

        def look(value: Any) -> Any:
            if type(value) is kind:
                return view(value, channel, build.validate_python)
            return whole(value)

        return look

    def view(self, state: Mapping[str, Any]) -> Any:
        """The state as a node sees it: typed, read-only, O(channels) to make."""
        looks = self._looks
        values = {
            name: looks[name](value)
            if name in looks
            else freeze(value, name)
            if type(value) is list or type(value) is dict
            else value
            for name, value in state.items()
        }
        return self._schema.model_construct(**values)

    def checked_update(self, update: Any, node: str) -> dict[str, Any]:
        """A node's return value as JSON, validated per channel; InvalidValue names the path.

        Strict: a value of another type is refused rather than converted.
        """
        if update is None:
            return {}
        if not isinstance(update, dict):
            if inspect.iscoroutine(update) or inspect.isgenerator(update):
                update.close()  # else Python warns that it was never awaited
                raise InvalidValue("$", f"{node!r} is no plain function. {PLAIN_NODE}")
            raise InvalidValue(
                "$",
                f"{node!r} must return a dict of channels or None, not "
                f"{type(update).__name__}: return {{{self._channels[0]!r}: ...}}",
            )
        checked = {}
        for channel, value in update.items():
            adapter = self._adapters.get(channel)
            if adapter is None:
                if not isinstance(channel, str):
                    raise InvalidValue("$", f"channels have names, not {type(channel).__name__}")
                raise InvalidValue(deltas.at("$", channel), self._no_such(channel))
            try:
                valid = adapter.validate_python(thaw(value), strict=True)
            except ValidationError as error:
                raise _refusal(error, deltas.at("$", channel)) from error
            checked[channel] = valid if self._plain[channel] else jsonable(valid)
        return checked

    def checked_message(self, channel: str, message: Any) -> Any:
        """A person's message as an item of a list channel; InvalidValue names the path in it.

        Judged as JSON, strictly: what comes from outside has no Python types.
        """
        raw = deltas.canonical([message])
        try:
            valid = self._adapters[channel].validate_json(raw, strict=True)
        except ValidationError as error:
            refusal = _refusal(error, "$")
            path = refusal.path.removeprefix("$[0]")
            raise InvalidValue(path if path[:1] == "$" else f"${path}", refusal.reason) from error
        return (valid if self._plain[channel] else jsonable(valid))[0]

    def _no_such(self, channel: str) -> str:
        near = difflib.get_close_matches(channel, self._channels, n=1)
        expected = f"did you mean {near[0]!r}? " if near else ""
        return (
            f"the state has no such channel; {expected}Those of {self._schema.__name__} are "
            f"{', '.join(self._channels)}"
        )

    def check_loaded(self, state: Mapping[str, Any]) -> None:
        """Let the author's types and validators judge a whole state; InvalidValue names the path.

        Channels that this code does not know (any more) are left alone.
        """
        try:
            self._schema.model_validate({c: state[c] for c in self._channels if c in state})
        except ValidationError as error:
            raise _refusal(error, "$") from error

    def check_state(self, state: Mapping[str, Any]) -> None:
        """Let the schema's own whole-state validators judge, where it has any.

        Those of the mode "after" judge a view: they cost what they look at. With others the whole
        state is validated anew, at each step.
        """
        if self._judges is None:
            self.check_loaded(state)
        elif self._judges:
            view = self.view(state)
            try:
                for name in self._judges:
                    getattr(view, name)()
            except (ValueError, AssertionError) as error:
                raise InvalidValue("$", str(error)) from error


def _refusal(error: ValidationError, path: str) -> InvalidValue:
    first = error.errors(include_url=False)[0]
    for key in first["loc"]:
        path = deltas.at(path, key)
    wrong_type = first["type"].endswith("_type")
    shown = f", not {type(first['input']).__name__}" if wrong_type else ""
    return InvalidValue(path, first["msg"] + shown)


def _bare(hint: Any) -> Any:
    """A hint without Annotated and without None as an alternative."""
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    if get_origin(hint) in (typing.Union, types.UnionType):
        others = [a for a in get_args(hint) if a is not type(None)]
        return _bare(others[0]) if len(others) == 1 else hint
    return hint


def _items_of(hint: Any) -> tuple[type | None, Any]:
    """(list or dict, the type of its items); (None, None) for what is neither."""
    bare = _bare(hint)
    origin, args = get_origin(bare), get_args(bare)
    if origin in (list, Sequence) and len(args) == 1:
        return list, args[0]
    if origin in (dict, Mapping) and len(args) == 2 and args[0] is str:
        return dict, args[1]
    return None, None


def holds_list(hint: Any) -> bool:
    """Answer True if a channel of this type can be appended to."""
    bare = _bare(hint)
    return bare in (Any, list, Sequence) or get_origin(bare) in (list, Sequence)


def is_json(hint: Any) -> bool:
    """Answer True if values of this type are stored unchanged, so that no conversion is needed."""
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    if hint in (str, int, float, bool, type(None), Any, list, dict):
        return True
    origin = get_origin(hint)
    if origin in (list, dict, typing.Union, types.UnionType):
        return all(is_json(a) for a in get_args(hint))
    return origin is Literal
