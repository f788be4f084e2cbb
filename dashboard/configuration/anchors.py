"""Destinations of anchors: GATEPOST_ANCHORS, checked."""

from __future__ import annotations

import environ

from approvals.anchors.destinations import Destination, parse
from approvals.hooks.signature import key_of
from checkpoints.server_packages import INSTALL, TIME_STAMPS, is_installed

from .sources import Misconfigured, value

NAME, SECRET = "GATEPOST_ANCHORS", "GATEPOST_ANCHORS_SECRET"


def configured() -> tuple[tuple[Destination, ...], str, float]:
    """(destinations, secret of webhooks, minutes after which one is late)."""
    minutes = environ.Env().float("GATEPOST_ANCHORS_LATE_MINUTES", default=10.0)
    return destinations(), secret(), minutes


def destinations() -> tuple[Destination, ...]:
    """The destinations, separated by commas; raises Misconfigured, which shows no address."""
    results = []
    for number, text in enumerate(filter(None, map(str.strip, value(NAME).split(","))), 1):
        try:
            results.append(parse(text))
        except ValueError as error:
            raise Misconfigured(NAME, f"names no destination: number {number} {error}.") from None
    if len({one.name for one in results}) < len(results):
        raise Misconfigured(NAME, "names a place twice.")
    if any(one.kind == "tsa" for one in results) and not is_installed(TIME_STAMPS):
        raise Misconfigured(NAME, f"names an authority of time stamps, which needs {INSTALL}")
    if any(one.kind == "webhook" for one in results) and not value(SECRET):
        raise Misconfigured(SECRET, "is needed for a webhook: whsec_ with base64 behind it.")
    return tuple(results)


def secret() -> str:
    """The secret that signs anchors for webhooks; raises Misconfigured."""
    text = value(SECRET)
    try:
        if text:
            key_of(text)
    except ValueError as error:
        raise Misconfigured(SECRET, f"{error}.") from None
    return text
