"""The kinds of endpoints, and the channels that send texts to an address which an admin gives.

Such a channel is a module with `check_address` and `prepared`, as `chat` has them, and its line in
CHANNELS. Mail and devices belong to people and webhooks sign what they send: `delivery` has those.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Protocol

from ..texts.kinds import CALLED, NEWS, USUAL_COURSE
from . import chat


class Channel(Protocol):
    """A module that sends messages of one kind."""

    def check_address(self, address: str) -> str:
        """Check an address and return the part that may be shown. Raises InvalidValue."""

    def prepared(self, address: str, title: str, text: str) -> Callable[[], int]:
        """Build the call that sends a message; it returns a code. Both raise NotDelivered."""


CHANNELS: Final[Mapping[str, Channel]] = {
    "apprise": chat,
}
# Endpoints that write to people, each by their own address or devices.
TO_PEOPLE: Final = frozenset({"email", "push"})
KINDS: Final = ("email", "push", *CHANNELS, "webhook")


def usual_news(kind: str) -> tuple[str, ...]:
    """News that an endpoint gets where nobody says which it wants."""
    if kind == "webhook":
        return tuple(one for one in NEWS if one not in USUAL_COURSE)
    return CALLED
