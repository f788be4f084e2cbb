"""Answers as one JSON document for terminals and files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from dashboard.wording.text import HIDDEN


def json_of(shape: BaseModel | Sequence[BaseModel]) -> str:
    """One JSON document; what cannot be seen is written as an escape, so nothing steers."""
    data: Any
    if isinstance(shape, BaseModel):
        data = shape.model_dump(mode="json", by_alias=True)
    else:
        data = [one.model_dump(mode="json", by_alias=True) for one in shape]
    text = json.dumps(data, ensure_ascii=False, indent=2)
    return HIDDEN.sub(lambda m: json.dumps(m[0])[1:-1], text)
