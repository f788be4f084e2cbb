"""Calls of the API as a browser's session makes them, and the form of a refusal."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

from django.test import Client

V1 = "/api/v1"


def post(client: Client, path: str, body: Any = None, **headers: str) -> Any:
    raw = body if isinstance(body, bytes | str) else json.dumps({} if body is None else body)
    return client.post(f"{V1}{path}", raw, content_type="application/json", headers=headers)


def refused(response: Any, status: int, path: str | None = None) -> dict[str, Any]:
    """The problem of a refusal, checked for its form."""
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/problem+json"
    problem: dict[str, Any] = response.json()
    assert problem["status"] == status
    assert problem["type"].startswith("urn:gatepost:problem:")
    assert problem["title"]
    assert problem["detail"]
    if path is not None:
        assert problem["path"] == path
    return problem


def page(answer: Any, status: int = 200) -> str:
    """The text of an answer of this status, as a person reads it."""
    text = unescape(answer.content.decode())
    assert answer.status_code == status, text
    return text


def hidden(html: str, name: str) -> str:
    """The value of a hidden input."""
    match = re.search(rf'name="{name}" value="([^"]*)"', html)
    assert match is not None, name
    return match[1]
