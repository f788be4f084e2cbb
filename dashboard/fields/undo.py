"""The address that takes back what a message says is done, carried by the tags of the message."""

from __future__ import annotations

from typing import Final

_PREFIX: Final = "undo:"


def tags_of(address: str) -> str:
    """The tags of a message whose act is taken back by a POST to this address of ours, if any."""
    return _PREFIX + address if address else ""


def address_in(tags: str) -> str:
    """The address in the tags of a message; "" where nothing takes its act back."""
    return tags.removeprefix(_PREFIX) if tags.startswith(_PREFIX) else ""
