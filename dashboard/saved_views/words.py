"""The parameters of an address as it is saved, without the page in front of it."""

from __future__ import annotations

from urllib.parse import parse_qsl

from dashboard.errors import Invalid


def address_lists(text: str) -> dict[str, list[str]]:
    """{parameter: its values} of a text such as `/?status=failed`; raises Invalid."""
    lists: dict[str, list[str]] = {}
    page, mark, words = text.strip().partition("?")
    if not mark or (page and not page.startswith("/")):
        words = text.strip().removeprefix("/")
    try:
        pairs = parse_qsl(words, keep_blank_values=True, errors="strict")
    except UnicodeDecodeError as error:
        raise Invalid("$.address", "has a % that begins no letter of UTF-8") from error
    for name, value in pairs:
        lists.setdefault(name, []).append(value)
    return lists
