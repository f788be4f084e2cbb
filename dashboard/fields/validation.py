"""Validate a person's values by the agent's stored JSON Schema; runs no agent code.

The agent's own validators speak later, in the worker. Faults carry JSON paths in the state.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from uuid import UUID

from checkpoints import queries
from checkpoints.errors import InvalidValue
from checkpoints.limits import NAME_MAX
from checkpoints.state import deltas
from checkpoints.state.encrypted import is_envelope, readers_of
from checkpoints.views import AgentRow
from dashboard.errors import Fault, Invalid

from .credentials import check_credentials, exempt_of
from .faults import schema_faults

REASON_MAX = 5_000  # of why a person does something; a comment of a verdict is of the same size
MESSAGE_BYTES = 200 * 1024  # its event takes 256 KiB
CONFIG_BYTES = 64 * 1024
LABELS_MAX, LABEL_KEY_MAX = 50, 100
# A character that is no blank. Python, JavaScript and JSON Schema differ in what \s is.
NOT_BLANK = r"[^\s\u001c-\u001f\u0085\ufeff]"


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
    judged = schema_faults(*_readable(agent, agent.schema, result))
    if faults := [*judged, *_lost_files(changes, "$", workspace)]:
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
    judged = schema_faults(*_readable(agent, alone, changes))
    if faults := [*judged, *_lost_files(changes, "$", workspace)]:
        raise Invalid.of(faults, within=within)


def _check_channels(agent: AgentRow, changes: Any, *, within: str) -> None:
    """Refuse what is no object of the agent's channels, or what the database would change."""
    if not isinstance(changes, dict):
        raise Invalid("$", "must be an object of channels", within=within)
    try:
        deltas.check(changes)
    except InvalidValue as error:
        raise Invalid(error.path, error.reason, within=within) from error
    check_credentials("$", changes, within=within, exempt=exempt_of(agent))
    if agent.external is not None and agent.external.is_open:
        return
    if unknown := sorted(changes.keys() - agent.channels.keys()):
        message = _unknown(agent)
        raise Invalid.of((Fault(deltas.at("$", c), message) for c in unknown), within=within)


def _readable(
    agent: AgentRow, schema: Mapping[str, Any], state: Mapping[str, Any]
) -> tuple[Mapping[str, Any], dict[str, Any]]:
    """(schema, state) without ciphertext, which was judged before it was encrypted."""
    encrypted = readers_of(agent.channels)
    hidden = {c for c, value in state.items() if c in encrypted and is_envelope(value)}
    if not hidden:
        return schema, dict(state)
    required = [name for name in schema.get("required", ()) if name not in hidden]
    shown = {channel: value for channel, value in state.items() if channel not in hidden}
    return {**schema, "required": required}, shown


# What says nothing of two channels together, and nothing of how many there are.
_SIMPLE = {"$defs", "$schema", "additionalProperties", "default", "description", "examples"} | {
    "properties", "required", "title", "type",
}  # fmt: skip


def _each_by_itself(schema: Mapping[str, Any]) -> bool:
    """True if a channel's value can be judged without the others."""
    return schema.keys() <= _SIMPLE and all(
        ref.startswith("#/$defs/") for ref in _references(schema)
    )


def _references(schema: Any) -> Iterator[str]:
    """List the references in a schema; an author's own name that looks like one counts too."""
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
    inbox = f"$.{agent.graph.get('inbox')}"
    is_exempt = inbox in exempt_of(agent)
    check_sent(
        *("message", message, inbox_schema(agent)), workspace=workspace, credentials=is_exempt
    )


def check_sent(
    field: str,
    value: Any,
    schema: Mapping[str, Any],
    *,
    workspace: UUID,
    credentials: bool = False,
) -> None:
    """Refuse a value for a thread that no log holds or that does not fit a schema, {} for any.

    Invalid with paths in the field. With `credentials` it may hold some.
    """
    try:
        deltas.check(value)
        deltas.check_size(len(deltas.canonical(value)), MESSAGE_BYTES, f"a {field}")
    except InvalidValue as error:
        raise Invalid(error.path, error.reason, within=field) from error
    if not credentials:
        check_credentials("$", value, within=field)
    if faults := [*schema_faults(schema, value), *_lost_files(value, "$", workspace)]:
        raise Invalid.of(faults, within=field)


def check_config(config: Any) -> None:
    """Refuse a configuration that is no object or too large; Invalid with paths in `$.config`."""
    if not isinstance(config, Mapping):
        raise Invalid("$", "must be an object", within="config")
    try:
        deltas.check(dict(config))
        deltas.check_size(len(deltas.canonical(dict(config))), CONFIG_BYTES, "the configuration")
    except InvalidValue as error:
        raise Invalid(error.path, error.reason, within="config") from error
    check_credentials("$", dict(config), within="config")


def _lost_files(value: Any, path: str, workspace: UUID) -> Iterator[Fault]:
    """References to files that this workspace does not have."""
    named = list(_references_to_files(value, path))
    known = queries.known_files({sha for _, sha in named}, workspace=workspace)
    for at, sha in named:
        if sha not in known:
            yield Fault(at, "names a file that this workspace does not have")


def _references_to_files(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            if isinstance(item, dict | list):
                yield from _references_to_files(item, deltas.at(path, index))
    elif isinstance(value, dict):
        sha = value.get("$artifact")
        if isinstance(sha, str):
            yield path, sha
        for key, item in value.items():
            if isinstance(item, dict | list):
                yield from _references_to_files(item, deltas.at(path, key))


def is_blank(text: str) -> bool:
    """Answer True for a text of blanks alone, as the API's document has it."""
    return re.search(NOT_BLANK, text) is None


def check_text(path: str, value: Any, limit: int, *, required: bool = False) -> None:
    """Refuse what is no text, cannot be stored, is too long, or is missing though required."""
    if not isinstance(value, str):
        raise Invalid(path, "must be text")
    deltas.check(value, path)
    if required and is_blank(value):
        raise Invalid(path, "is required")
    if len(value) > limit:
        raise Invalid(path, f"is longer than {limit:,} characters")
    check_credentials(path, value)


def check_labels(labels: Mapping[str, str]) -> None:
    """Refuse labels that are not a few short texts by name."""
    if not isinstance(labels, Mapping):
        raise Invalid("$.labels", "must be an object of texts")
    if len(labels) > LABELS_MAX:
        raise Invalid("$.labels", f"has more than {LABELS_MAX} members")
    for key, value in labels.items():
        path = deltas.at("$.labels", str(key))
        check_text(path, key, LABEL_KEY_MAX, required=True)
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
