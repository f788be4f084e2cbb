"""Answers in YAML, for people who read states in a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml
from rest_framework.renderers import BaseRenderer


class YAMLRenderer(BaseRenderer):
    """The same answer as JSON would give, block style, keys in their order."""

    media_type = "application/yaml"
    format = "yaml"
    charset = "utf-8"

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        """Data of plain JSON types as YAML."""
        text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, default_flow_style=False)
        return text.encode()
