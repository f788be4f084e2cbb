"""Shared parts of the forms over an agent's state: fields, files, faults beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest

from checkpoints.errors import InvalidValue
from checkpoints.state import deltas
from dashboard import errors
from dashboard.fields import form as fields
from dashboard.fields.faults import beside, sentence
from dashboard.fields.shapes import Field
from dashboard.identity.permissions import Actor
from dashboard.kit.pages.uploads import upload

WHOLE = ""  # the key of what belongs beside no field
OVERTAKEN = "Somebody else changed this meanwhile; saving now replaces it with yours."

# A form comes back with what stands there now and with what was written: to reload would lose it.
STALE = (
    "The thread changed after you opened this page. Your text is still here; check it and "
    "send it again."
)


def editable(schema: Mapping[str, Any]) -> list[str]:
    """The channels that people may write: those that the schema does not call read-only."""
    properties: Mapping[str, Any] = schema.get("properties") or {}
    return [name for name, part in properties.items() if not _is_read_only(part)]


def _is_read_only(part: Any) -> bool:
    return isinstance(part, Mapping) and bool(part.get("readOnly"))


def posted(request: HttpRequest) -> dict[str, str]:
    """The texts of a form; of a name that came twice the last one."""
    return {name: str(text) for name, text in request.POST.items()}


def text(request: HttpRequest, name: str) -> str:
    """A text that was written in a form, without blanks around it; a line ends as in a call."""
    return str(fields.from_text(request.POST.get(name, "").strip(), "textarea"))


def state_fields(
    schema: Mapping[str, Any],
    values: Mapping[str, Any],
    request: HttpRequest,
    problems: Mapping[str, str],
    *,
    compare: bool,
    draft: Mapping[str, str] | None = None,
    omittable: bool = False,
) -> list[Field]:
    """Inputs for the channels people may write, filled with the values or what was posted.

    Of a `draft` only its texts stand in place of the values.
    """
    if draft is None and request.method == "POST":
        draft = posted(request)
    return fields.build(
        schema,
        values,
        posted=draft,
        errors=problems,
        only=editable(schema),
        compare=compare,
        omittable=omittable,
    )


def overtaken(
    draft: Mapping[str, str], shown: Mapping[str, Any], now: Mapping[str, Any]
) -> dict[str, str]:
    """{channel: warning} for each input of the draft whose value somebody else changed, too."""
    channels = map(fields.channel_of, draft)
    return {channel: OVERTAKEN for channel in channels if now.get(channel) != shown.get(channel)}


def read(
    request: HttpRequest,
    who: Actor,
    schema: Mapping[str, Any],
    values: Mapping[str, Any],
    *,
    omittable: bool = False,
) -> tuple[dict[str, Any], dict[str, str]]:
    """({channel: new value}, {channel: problem}) of what was posted; uploads are kept.

    What was left out is not among the values: with `omittable` it need not be there.
    """
    changes, problems = fields.parse(
        schema, values, posted(request), only=editable(schema), omittable=omittable
    )
    changes = fields.without_absent(changes)
    for channel in editable(schema):
        file = request.FILES.get(fields.PREFIX + channel)
        if file is None:
            continue
        try:
            changes[channel] = upload(who, file)
        except errors.Invalid as error:
            problems[channel] = error.reason
    return changes, problems


def changed_config(known: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Compute the changes of a posted configuration; null for omitted keys. Raises Invalid."""
    try:
        value = deltas.decode_request((text.strip() or "{}").encode())
    except InvalidValue as error:
        raise errors.Invalid("$.config", f"is not JSON that can be stored: {error}") from error
    if not isinstance(value, dict):
        raise errors.Invalid("$.config", "must be an object")
    changes = _changes(known, value)
    old, new = known.get("prompts"), value.get("prompts")
    if "prompts" in changes and isinstance(old, Mapping) and isinstance(new, Mapping):
        changes["prompts"] = _changes(old, new)  # those that stay as they are stay named by hash
    return changes


def _changes(known: Mapping[str, Any], value: Mapping[str, Any]) -> dict[str, Any]:
    gone = dict.fromkeys(known.keys() - value.keys())
    return gone | {name: v for name, v in value.items() if name not in known or v != known[name]}


def problems_of(
    error: errors.ActionError, schema: Mapping[str, Any] | None = None
) -> dict[str, str]:
    """{channel or parameter: sentence} of a refusal; what belongs to no field under ""."""
    if isinstance(error, errors.Stale):
        return {WHOLE: STALE}
    if not isinstance(error, errors.Invalid):
        return {WHOLE: error.detail}
    shown = set(editable(schema)) if schema else set()
    results: dict[str, str] = {}
    for fault in error.faults:
        name, words = beside(fault)
        if error.within and name not in shown:
            results[WHOLE] = sentence(f"{name}: {fault.message}" if name else fault.message)
        else:
            results.setdefault(name, words)
    return results
