"""Answers as one JSON document for terminals and files."""

from __future__ import annotations

import json
from typing import Any

from dashboard.documents.answer_json import Answer, json_value
from dashboard.wording.text import HIDDEN


def json_of(shape: Answer | list[Any]) -> str:
    """One JSON document; what cannot be seen is written as an escape, so nothing steers."""
    text = json.dumps(json_value(shape), ensure_ascii=False, indent=2)
    return HIDDEN.sub(lambda m: json.dumps(m[0])[1:-1], text)
