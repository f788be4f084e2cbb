"""Whether a person's values fit an agent's state, judged by its stored JSON Schema; no agent code.

The agent's own validators speak later, in the worker. Faults carry JSON paths in the state.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from uuid import UUID

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from referencing import Registry

from checkpoints import deltas, queries
from checkpoints.errors import InvalidValue, NotFound
from checkpoints.views import AgentRow

from .errors import Fault, Invalid

SHOWN = 5
NAME_MAX = 255
TITLE_MAX = 300
MESSAGE_BYTES = 200 * 1024  # its event takes 256 KiB
CONFIG_BYTES = 64 * 1024
LABELS_MAX = 50
MESSAGE_MAX = 300


def resulting_state(
    agent: AgentRow,
    state: Mapping[str, Any],
    changes: Any,
    *,
    workspace: UUID,
    within: str,
) -> dict[str, Any]:
    """The state after `changes` {channel: new value}; raises Invalid with all faults found.

    Refused: values that JSON or the database would change, channels the agent does not have,
    states its schema does not allow, files that the workspace does not have.
    """
    _check_channels(agent, changes, within=within)
    result = {**state, **changes}
    try:
        size = len(deltas.canonical(result))
    except InvalidValue as error:
        raise Invalid(error.path, error.reason, within=within) from error
    try:
        deltas.check_size(size, deltas.LIMITS.state_bytes, "the state")
    except InvalidValue as error:
        raise Invalid(deltas.heaviest(changes), error.reason, within=within) from error
    faults = [*schema_faults(agent.schema, result), *_lost_files(changes, "$", workspace)]
    if faults:
        raise Invalid.of(faults, within=within)
    return result


def check_changes(
    agent: AgentRow,
    changes: Any,
    *,
    state_bytes: int,
    state: Callable[[], Mapping[str, Any]],
    workspace: UUID,
    within: str,
) -> None:
    """Refuse what `resulting_state` refuses; the state is read only where it has a say.

    A schema that judges each channel by itself says of the changed ones all that is new, and a
    state of `state_bytes` with room for all of them cannot become too large.
    """
    _check_channels(agent, changes, within=within)
    if not changes:
        return
    grown = state_bytes + len(deltas.canonical(changes))
    if grown > deltas.LIMITS.state_bytes or not _each_by_itself(agent.schema):
        resulting_state(agent, state(), changes, workspace=workspace, within=within)
        return
    alone = {key: value for key, value in agent.schema.items() if key != "required"}
    if faults := [*schema_faults(alone, changes), *_lost_files(changes, "$", workspace)]:
        raise Invalid.of(faults, within=within)


def _check_channels(agent: AgentRow, changes: Any, *, within: str) -> None:
    """Refuse what is no object of the agent's channels, or what the database would change."""
    if not isinstance(changes, dict):
        raise Invalid("$", "must be an object of channels", within=within)
    try:
        deltas.check(changes)
    except InvalidValue as error:
        raise Invalid(error.path, error.reason, within=within) from error
    if unknown := sorted(changes.keys() - agent.channels.keys()):
        said = _unknown(agent)
        raise Invalid.of((Fault(deltas.at("$", c), said) for c in unknown), within=within)


# What says nothing of two channels at once, and nothing of how many there are.
_TELLING = {"$defs", "$schema", "additionalProperties", "default", "description", "examples"} | {
    "properties", "required", "title", "type",
}  # fmt: skip


def _each_by_itself(schema: Mapping[str, Any]) -> bool:
    """Whether a channel's value can be judged without the others."""
    return schema.keys() <= _TELLING and all(
        ref.startswith("#/$defs/") for ref in _references(schema)
    )


def _references(schema: Any) -> Iterator[str]:
    """What a schema refers to; a name of somebody's own that looks like a reference counts too."""
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key in ("$ref", "$dynamicRef"):
                yield str(value)
            yield from _references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _references(value)


def _unknown(agent: AgentRow) -> str:
    return f"{agent.agent} has no such channel; it has {', '.join(sorted(agent.channels))}"


def schema_faults(schema: Mapping[str, Any], value: Any) -> list[Fault]:
    """The first faults of a value under a JSON Schema (Draft 2020-12), in the order of paths."""
    # The empty registry: a schema never makes this process fetch an address.
    validator = Draft202012Validator(schema, registry=Registry())
    found: dict[tuple[str, str], Fault] = {}
    for error in validator.iter_errors(value):
        for fault in _faults(error):
            found[fault.path, fault.message] = fault
        if len(found) >= SHOWN:
            break
    return sorted(found.values(), key=lambda f: f.path)[:SHOWN]


def _faults(error: ValidationError) -> Iterator[Fault]:
    path = "$"
    for key in error.absolute_path:
        path = deltas.at(path, key)
    instance: Any = error.instance
    if error.validator == "required" and isinstance(instance, dict):
        for name in error.validator_value:
            if name not in instance:
                yield Fault(deltas.at(path, name), "is required")
    elif error.validator in ("anyOf", "oneOf") and error.context:
        yield from _alternatives(error, path)
    else:
        yield Fault(path, _message(error))


def _alternatives(error: ValidationError, path: str) -> Iterator[Fault]:
    """The faults under the alternative that the value's type meant, else all types it could be."""
    meant: dict[Any, list[ValidationError]] = {}
    types: list[str] = []
    for inner in error.context or ():
        meant.setdefault(inner.schema_path[0], []).append(inner)
    for key, faults in list(meant.items()):
        own = [f for f in faults if f.validator == "type" and not f.relative_path]
        if own:
            del meant[key]
            wanted = own[0].validator_value
            types += [wanted] if isinstance(wanted, str) else wanted
    if meant:
        for inner in min(meant.values(), key=len):
            yield from _faults(inner)
    else:
        yield Fault(path, _wrong_type(types, error.instance))


_NOUNS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_LIMITS = {
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be more than {}",
    "exclusiveMaximum": "must be less than {}",
    "minLength": "needs at least {} characters",
    "maxLength": "may have at most {} characters",
    "minItems": "needs at least {} items",
    "maxItems": "may have at most {} items",
    "multipleOf": "must be a multiple of {}",
    "pattern": "must match {}",
}


def _message(error: ValidationError) -> str:
    kind, wanted = str(error.validator), error.validator_value
    if kind == "type":
        return _wrong_type([wanted] if isinstance(wanted, str) else wanted, error.instance)
    if kind in _LIMITS:
        return _LIMITS[kind].format(wanted)
    if kind == "enum":
        return _clip(f"must be one of {', '.join(map(_shown, wanted))}")
    if kind == "const":
        return f"must be {_shown(wanted)}"
    return _clip(error.message)


def _wrong_type(types: Iterable[str], value: Any) -> str:
    nouns = dict.fromkeys(_NOUNS.get(t, t) for t in types)
    return f"must be {' or '.join(nouns)}, not {_shown(value)}"


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return _clip(deltas.canonical(value).decode(), 60)


def _clip(text: str, limit: int = MESSAGE_MAX) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def inbox_schema(agent: AgentRow) -> dict[str, Any]:
    """JSON Schema of one message as the agent's inbox takes it; {} where it says nothing."""
    part: Any = (agent.schema.get("properties") or {}).get(agent.graph.get("inbox"), {})
    for _ in range(8):
        if "$ref" in part:
            name = str(part["$ref"]).rpartition("/")[2]
            part = (agent.schema.get("$defs") or {}).get(name, {})
        elif "anyOf" in part:
            part = next((p for p in part["anyOf"] if p.get("type") != "null"), {})
        else:
            break
    items = part.get("items")
    if not isinstance(items, dict):
        return {}
    return {**items, "$defs": agent.schema.get("$defs", {})}


def check_message(agent: AgentRow, message: Any, *, workspace: UUID) -> None:
    """Refuse what cannot be an item of the agent's inbox; Invalid with paths in `$.message`."""
    try:
        deltas.check(message)
        deltas.check_size(len(deltas.canonical(message)), MESSAGE_BYTES, "a message")
    except InvalidValue as error:
        raise Invalid(error.path, error.reason, within="message") from error
    faults = [*schema_faults(inbox_schema(agent), message), *_lost_files(message, "$", workspace)]
    if faults:
        raise Invalid.of(faults, within="message")


def check_config(config: Any) -> None:
    """Refuse a configuration that is no object or too large; Invalid with paths in `$.config`."""
    if not isinstance(config, Mapping):
        raise Invalid("$", "must be an object", within="config")
    try:
        deltas.check(dict(config))
        deltas.check_size(len(deltas.canonical(dict(config))), CONFIG_BYTES, "the configuration")
    except InvalidValue as error:
        raise Invalid(error.path, error.reason, within="config") from error


def _lost_files(value: Any, path: str, workspace: UUID) -> Iterator[Fault]:
    """References to files that this workspace does not have."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _lost_files(item, deltas.at(path, index), workspace)
    elif isinstance(value, dict):
        sha = value.get("$artifact")
        if isinstance(sha, str):
            try:
                queries.artifact(sha, workspace=workspace)
            except NotFound:
                yield Fault(path, "names a file that this workspace does not have")
        for key, item in value.items():
            yield from _lost_files(item, deltas.at(path, key), workspace)


def check_text(path: str, value: Any, limit: int, *, required: bool = False) -> None:
    """Refuse what is no text, cannot be stored, is too long, or is missing though required."""
    if not isinstance(value, str):
        raise Invalid(path, "must be text")
    deltas.check(value, path)
    if required and not value.strip():
        raise Invalid(path, "is required")
    if len(value) > limit:
        raise Invalid(path, f"is longer than {limit:,} characters")


def check_labels(labels: Mapping[str, str]) -> None:
    """Refuse labels that are not a few short texts by name."""
    if not isinstance(labels, Mapping):
        raise Invalid("$.labels", "must be an object of texts")
    if len(labels) > LABELS_MAX:
        raise Invalid("$.labels", f"has more than {LABELS_MAX} members")
    for key, value in labels.items():
        path = deltas.at("$.labels", str(key))
        check_text(path, key, 100, required=True)
        check_text(path, value, NAME_MAX)


def check_node(path: str, name: str, version: AgentRow) -> None:
    """Refuse the name of a node that the agent does not have; empty is none."""
    known = [node["name"] for node in version.graph.get("nodes", [])]
    if name and name not in known:
        raise Invalid(path, f"{version.agent} has no such node; it has {', '.join(known)}")


def clean_name(name: str) -> str:
    """The last part of a file's name without characters that hide, direct or control."""
    text = unicodedata.normalize("NFC", re.split(r"[/\\]", name)[-1])
    text = "".join(c for c in text if unicodedata.category(c)[0] != "C")
    text = " ".join(text.split()).strip(". ")
    stem, dot, suffix = text.rpartition(".")
    if dot and len(text) > NAME_MAX:
        text = stem[: NAME_MAX - len(suffix[:20]) - 1] + "." + suffix[:20]
    return text[:NAME_MAX] or "file"
