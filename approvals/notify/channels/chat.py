"""Slack and the like through apprise, which is imported only where something is sent.

Apprise opens its connections by itself, follows redirects and can reach anything an address names;
so only services with a fixed public host are taken (GATEPOST_APPRISE_SCHEMES), no free address.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any

from django.conf import settings

from checkpoints.errors import InvalidValue
from checkpoints.server_packages import CHATS, INSTALL, is_installed

from ..texts.kinds import ADDRESS_MAX, NotDelivered

_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]{1,20})://[\x21-\x7e]+")


def check_address(address: str, path: str = "target") -> str:
    """Check an address and return the part that may be shown: its scheme. Raises InvalidValue."""
    match = _ADDRESS.fullmatch(address)
    if match is None or len(address) > ADDRESS_MAX:
        raise InvalidValue(path, "must be an address of apprise, such as slack://...")
    scheme = match[1]
    if scheme not in settings.GATEPOST_APPRISE_SCHEMES:
        known = ", ".join(settings.GATEPOST_APPRISE_SCHEMES)
        raise InvalidValue(path, f"must begin with one of {known}")
    if not is_installed(CHATS):
        raise InvalidValue(path, f"is a chat, which needs {INSTALL}")
    if _sender(address) is None:
        # Not what apprise says of it: that repeats the address.
        raise InvalidValue(path, f"is not complete for {scheme}://")
    return f"{scheme}://…"


def prepared(address: str, title: str, text: str) -> Callable[[], int]:
    """Build the call that sends title and text; it returns 200, as apprise reports only success."""
    if address.partition("://")[0] not in settings.GATEPOST_APPRISE_SCHEMES:
        raise NotDelivered("This kind of address is no longer allowed.", final=True)
    if not is_installed(CHATS):
        raise NotDelivered(f"A chat needs {INSTALL}")
    sender = _sender(address)
    if sender is None:
        raise NotDelivered("The address of the endpoint is not complete.", final=True)

    def send() -> int:
        try:
            sent = sender.notify(title=title, body=text, body_format="text")
        except Exception:  # a plugin may raise anything, with the address in it
            raise NotDelivered("The notification could not be delivered.") from None
        if not sent:
            raise NotDelivered("The service did not take the message.")
        return 200

    return send


def _sender(address: str) -> Any:
    import apprise

    # Its lines may hold addresses, and those are secrets.
    logging.getLogger("apprise").setLevel(logging.CRITICAL + 1)
    asset = apprise.AppriseAsset(app_id="Gatepost", app_desc="Gatepost", plugin_paths=[])
    result = apprise.Apprise(asset=asset)
    return result if result.add(address) else None
