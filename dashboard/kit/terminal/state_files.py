"""A state that somebody exported, changed in an editor and brings back as JSON or YAML.

The form is that of `threads state` and of a capsule's state.json or state.yaml. What a reader of
YAML might take for something else than was meant (a date, `no`, `1_000`, `010`, `1e3`) is refused
with its path: a value is never changed in silence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import yaml

from checkpoints import queries
from checkpoints.errors import InvalidValue, NotFound
from checkpoints.state import deltas
from checkpoints.state.deltas import Limits
from checkpoints.views import CheckpointRow, ThreadRow
from dashboard.documents.state_document import state_answer
from dashboard.errors import Conflict, Invalid, Missing

# A state of 8 MiB, and room for indents and escapes.
BYTES_MAX = 32 * 1024 * 1024
_LIMITS = Limits(request_bytes=BYTES_MAX)
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
# Text for some readers, a number or a truth for others.
_AMBIGUOUS = re.compile(
    r"[-+]?(0[box][0-9a-f_]+|([0-9][0-9_]*(\.[0-9_]*)?|\.[0-9_]+)(e[-+]?[0-9]+)?)|[yn]|yes|no|on|off",
    re.IGNORECASE,
)
_TAG = "tag:yaml.org,2002:"
_QUOTE = "would not be read alike everywhere; quote it if it is text"
# What moves without the state: these may differ from what the thread says now.
_MOVING = frozenset({"version", "status", "thread_status", "updated_at"})


@dataclass(frozen=True, slots=True)
class Changed:
    """Changes that a file makes to the state of one checkpoint: {channel: new value}."""

    point: CheckpointRow
    changes: dict[str, Any]


def changed_in(path: Path, thread: ThreadRow, *, at: CheckpointRow | None = None) -> Changed:
    """The changes of a file against the checkpoint that it was exported from.

    Everything beside the state has to be as it was exported. Raises Invalid with the path, and
    Conflict where the file is of another thread, or of another checkpoint than `at`.
    """
    text = read(path)
    if not isinstance(text, dict):
        raise Invalid("$", "must be an object as `threads state` writes it")
    context = text.get("context")
    if not isinstance(context, dict) or not isinstance(text.get("state"), dict):
        raise Invalid("$", "must have the members context and state as `threads state` writes them")
    if context.get("thread") != str(thread.id):
        raise Conflict("The file is the state of another thread.")
    point = at or _point(thread, context.get("checkpoint"))
    if context.get("checkpoint") != str(point.id):
        raise Conflict(
            f"The file is the state at checkpoint {context.get('number')}, not at {point.number}: "
            "the thread has continued since. Export it again, or fork from that checkpoint."
        )
    payload = json.loads(state_answer(thread, point).model_dump_json())
    # What the head is now says nothing about the state.
    payload["context"].pop("head"), context.pop("head", None)
    for name in _MOVING:
        payload.pop(name), text.pop(name, None)
    old, new = payload.pop("state"), text.pop("state")
    for changed in _differing("$", payload, text):
        raise Invalid(changed, "cannot be changed here; only what is below $.state can")
    for channel in old.keys() - new.keys():
        raise Invalid(deltas.at("$.state", channel), "is missing; write null to empty it")
    return Changed(point, {c: v for c, v in new.items() if c not in old or not _same(old[c], v)})


def read(path: Path) -> Any:
    """The value in a JSON or YAML file, by the end of its name; raises Invalid, Missing."""
    try:
        if path.stat().st_size > BYTES_MAX:
            raise Invalid("$", f"has more than {BYTES_MAX:,} bytes")
        raw = path.read_bytes()
    except OSError as error:
        raise Missing(f"{path}: {error.strerror}.") from error
    try:
        if path.suffix.lower() in (".yaml", ".yml"):
            value = read_yaml(raw)
        elif path.suffix.lower() == ".json":
            value = deltas.decode_request(raw, _LIMITS)
        else:
            raise Invalid("$", f"{path.name} must end in .json, .yaml or .yml")
        deltas.check(value, limits=_LIMITS)
    except InvalidValue as error:
        raise Invalid(error.path, error.reason) from error
    return value


def read_yaml(raw: bytes) -> Any:
    """YAML that says nothing but what JSON can say, and says it plainly; raises InvalidValue."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise InvalidValue("$", f"not UTF-8 at byte {error.start}") from None
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        return None if node is None else _value(node, "$", set(), 0)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        path = f" at line {mark.line + 1} column {mark.column + 1}" if mark else ""
        message = getattr(error, "problem", None) or "a character that YAML does not take"
        raise InvalidValue("$", f"not YAML: {message}{path}") from None
    except RecursionError:
        raise InvalidValue("$", "nested too deeply") from None


def _value(node: yaml.Node, path: str, seen: set[int], depth: int) -> Any:
    if id(node) in seen:
        raise InvalidValue(path, "is an alias; write the value out")
    seen.add(id(node))
    if depth > _LIMITS.max_depth:
        raise InvalidValue(path, "nested too deeply")
    if isinstance(node, yaml.SequenceNode):
        _plain_tag(node, "seq", path)
        items = enumerate(node.value)
        return [_value(item, deltas.at(path, i), seen, depth + 1) for i, item in items]
    if isinstance(node, yaml.MappingNode):
        _plain_tag(node, "map", path)
        results: dict[str, Any] = {}
        for key_node, item in node.value:
            key = _key(key_node, path)
            inner = deltas.at(path, key)
            if key in results:
                raise InvalidValue(inner, "the key occurs twice")
            results[key] = _value(item, inner, seen, depth + 1)
        return results
    return _scalar(node, path)


def _plain_tag(node: yaml.Node, kind: str, path: str) -> None:
    if node.tag != _TAG + kind:
        raise InvalidValue(path, f"has the tag {node.tag}, which JSON does not know")


def _key(node: yaml.Node, path: str) -> str:
    value = _scalar(node, path) if isinstance(node, yaml.ScalarNode) else None
    if not isinstance(value, str):
        raise InvalidValue(path, "has a key that isn't text; quote it")
    return value


def _scalar(node: yaml.Node, path: str) -> Any:
    text: str = node.value
    kind = node.tag.removeprefix(_TAG)
    if getattr(node, "style", None) is not None:
        _plain_tag(node, "str", path)
        return text
    if kind == "null" and text in ("null", "~"):
        return None
    if kind == "bool" and text in ("true", "false"):
        return text == "true"
    if kind in ("int", "float") and _NUMBER.fullmatch(text):
        return deltas.decode_request(text.encode())
    if kind == "str" and not _AMBIGUOUS.fullmatch(text):
        return text
    if not text:
        raise InvalidValue(path, "has no value; write null or ''")
    raise InvalidValue(path, f"{text[:80]} {_QUOTE}")


def _point(thread: ThreadRow, value: Any) -> CheckpointRow:
    try:
        return queries.checkpoint(thread.id, UUID(str(value)))
    except (ValueError, NotFound):
        raise Invalid("$.context.checkpoint", "is not a checkpoint of the thread") from None


def _differing(path: str, old: Any, new: Any) -> Iterator[str]:
    """The places where two values differ; unknown and missing members among them."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted({*old, *new}):
            if key not in old or key not in new:
                yield deltas.at(path, key)
            else:
                yield from _differing(deltas.at(path, key), old[key], new[key])
    elif not (_same(old, new) or _same_time(old, new)):
        yield path


def _same(old: Any, new: Any) -> bool:
    """True if two values are the same JSON: 1 equals 1.0, and does not equal true."""
    return deltas.canonical(old) == deltas.canonical(new)


def _same_time(old: Any, new: Any) -> bool:
    try:
        return datetime.fromisoformat(old) == datetime.fromisoformat(new)
    except (TypeError, ValueError):
        return False
