"""Parameters that a model refuses: the request is sent once more without, which is on record.

A refusal (400, 422) costs nothing. Only parameters whose loss the answer does not show are left
out; a limit of tokens is sent by its other name. What a model refused is known until the worker
ends, so that its next calls are sent once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from ..authoring.language_models import Reply
from ..step.answer_notes import report_change
from .failures import ModelFailed

# {parameter: its other name, "" where it is left out}
CHANGES: Final = {
    "max_tokens": "max_completion_tokens",
    "max_completion_tokens": "max_tokens",
    "temperature": "",
    "seed": "",
    "stream_options": "",
}
KNOWN_MAX = 1000
_REFUSED = re.compile(
    r"unsupported|not support|n't support|deprecated|unknown|unrecogni[sz]ed|unexpected"
    r"|extra[ _]|forbidden|not permitted|not allowed|not compatible|only the default|only 1 is"
    r"|instead",
    re.IGNORECASE,
)
# {(address, model): {parameter: the server's words}}
refusals: dict[tuple[str, str], dict[str, str]] = {}


def with_accepted(
    send: Callable[[dict[str, Any]], tuple[Reply, int]],
    body: Mapping[str, Any],
    target: tuple[str, str],
) -> tuple[Reply, int]:
    """Send the body, changed where the model at `target` refuses a parameter.

    Each parameter is changed once. Raises what `send` does.
    """
    changes = dict(refusals.get(target, {}))
    _report(body, changes)
    while True:
        changed = _changed(body, changes)
        try:
            result = send(changed)
        except ModelFailed as error:
            name = refused_parameter(error, changed)
            if name is None or name in changes or CHANGES[name] in changes:
                raise
            changes[name] = str(error)
            _report(body, {name: str(error)})
            continue
        if changes and len(refusals) < KNOWN_MAX:
            refusals[target] = changes
        return result


def _changed(body: Mapping[str, Any], changes: Mapping[str, str]) -> dict[str, Any]:
    pairs = ((CHANGES[n] if n in changes else n, value) for n, value in body.items())
    return {name: value for name, value in pairs if name}


def _report(body: Mapping[str, Any], changes: Mapping[str, str]) -> None:
    for name, reason in changes.items():
        if name in body and name != "stream_options":  # of the wire, not of the request
            report_change(name, body[name], reason, sent_as=CHANGES[name])


def refused_parameter(error: ModelFailed, body: Mapping[str, Any]) -> str | None:
    """The parameter of the body that a server refuses and that can be changed, None for others."""
    if error.status_code not in (400, 422):
        return None
    words = f"{error} {error.body}"
    if not _REFUSED.search(words):
        return None
    about = error.body.get("error")
    named = about.get("param") if isinstance(about, Mapping) else None
    if named in CHANGES and named in body:
        return str(named)
    present = [name for name in CHANGES if name in body]
    return next((name for name in present if re.search(rf"\b{name}\b", words)), None)
