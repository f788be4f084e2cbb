"""The forms of answers: YAML for people who read states in a terminal, and which form is meant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.http import Http404
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request

from dashboard.documents.yaml_text import yaml_of
from dashboard.errors import Invalid


class ZipRenderer(JSONRenderer):
    """Names the form of a capsule; the answer itself is streamed, refusals stay JSON."""

    media_type = "application/zip"
    format = "zip"


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
        return yaml_of(data)


class Negotiation(DefaultContentNegotiation):
    """By `?format=`, else by the Accept header; an unknown format is a refused value, not 404."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        """The parser of the body's media type; none of `*/*`, which says nothing of a body."""
        kind = (request.content_type or "").partition(";")[0]
        return None if "*" in kind else super().select_parser(request, parsers)

    def filter_renderers(
        self, renderers: Iterable[BaseRenderer], format: str
    ) -> list[BaseRenderer]:
        """Those of this format."""
        some = list(renderers)
        try:
            return list(super().filter_renderers(some, format))
        except Http404:
            known = ", ".join(str(renderer.format) for renderer in some)
            raise Invalid("format", f"knows only {known}") from None
