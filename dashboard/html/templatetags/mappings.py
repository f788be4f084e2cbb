"""The filter for mappings whose keys people and agents choose."""

from __future__ import annotations

from collections.abc import ItemsView, Mapping

from django import template

register = template.Library()


@register.filter
def pairs(mapping: Mapping[str, object] | None) -> ItemsView[str, object]:
    """Keys with their values; a template reads `mapping.items` as the value of the key `items`."""
    return (mapping or {}).items()
