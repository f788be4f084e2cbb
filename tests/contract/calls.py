"""Every call of the API with one good example; the calls come from the OpenAPI document.

Whoever adds a call adds its example to the module of its kind in `examples/`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlencode

from django.core.files.uploadedfile import SimpleUploadedFile

from .example_calls import Call
from .examples import approvals, audit, external, fleet, people, settings, threads
from .operations import Operation
from .world import World

EXAMPLES: dict[str, Callable[[World], Call]] = {
    **approvals.EXAMPLES,
    **audit.EXAMPLES,
    **external.EXAMPLES,
    **fleet.EXAMPLES,
    **people.EXAMPLES,
    **settings.EXAMPLES,
    **threads.EXAMPLES,
}


def example(world: World, operation: Operation) -> Call:
    """The good example of a call."""
    assert operation.id in EXAMPLES, f"tests/contract/examples has no example of {operation.id}"
    return EXAMPLES[operation.id](world)


def address(operation: Operation, call: Call) -> str:
    """The path with its parameters and the query."""
    filled = operation.path.format(**{k: quote(v, safe="") for k, v in call.params.items()})
    return f"{filled}?{urlencode(call.query)}" if call.query else filled


def send(client: Any, operation: Operation, call: Call, **headers: str) -> Any:
    """The answer to a call, through Django's test client."""
    path, headers = address(operation, call), call.headers | headers
    if call.files:
        form = {name: SimpleUploadedFile(*file) for name, file in call.files.items()}
        return client.post(path, form, headers=headers)
    if call.body is None:
        return client.generic(operation.method.upper(), path, headers=headers)
    raw = call.body if isinstance(call.body, bytes) else json.dumps(call.body)
    return client.generic(
        operation.method.upper(), path, raw, content_type="application/json", headers=headers
    )
