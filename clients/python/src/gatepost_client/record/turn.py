"""Waiting for the right to work on a thread, without holding anything meanwhile."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from ..wire import api
from ..wire.errors import Cancelled, Ended, Refused, Waiting
from ..wire.flow import Flow, Sleep
from ..wire.settings import Settings
from . import undo

Json = dict[str, Any]
logger = logging.getLogger("gatepost_client")
LONGEST_PAUSE = 5.0


def wait_for_turn(
    thread: str, settings: Settings, describe: Callable[[], Json] | None = None
) -> Flow[Json]:
    """Wait until the thread can be worked on and take its lease, with the agent's announcement.

    Raises Waiting when the settings say not to stay, Ended or Cancelled when nothing is left.
    """
    ends_at = None if settings.wait is True else time.monotonic() + float(settings.wait)
    announced = ""
    after = None
    while True:
        left = api.POLL_SECONDS if ends_at is None else max(0.0, ends_at - time.monotonic())
        wait = 0.0 if after is None else min(left, api.POLL_SECONDS)
        news = yield from api.read_next(thread, after=after, wait=wait)
        after = int(news["seq"])
        if news["do"] == "ended":
            raise _ended(news)
        if news["do"] in ("take", "undo"):
            try:
                lease = yield from api.take_lease(
                    thread,
                    owner=settings.owner,
                    seconds=settings.lease_seconds,
                    announced=None if describe is None else describe(),
                )
            except Refused as error:
                if error.code not in ("leased", "not-allowed-now"):
                    raise
                news = {**news, "reason": error.detail}
            else:
                if news["do"] == "take":
                    return lease
                yield from undo.take_back(thread, lease, news["undo"])
                after = None
                continue
        if (reason := _reason(news, settings.url)) != announced:
            logger.warning("%s", reason)
            announced = reason
        if ends_at is not None and time.monotonic() >= ends_at:
            raise Waiting(announced)
        if news["lease"] == "other" or news["do"] == "take":
            # The log says nothing when a lease expires: look again after a while.
            yield Sleep(LONGEST_PAUSE if ends_at is None else min(LONGEST_PAUSE, left))
            after = None


def _reason(news: Json, url: str) -> str:
    """Explain why the thread waits, with the addresses of its open requests."""
    requests = [f"{one['title']} {url}/approvals/{one['id']}/" for one in news["approvals"]]
    return " ".join([str(news["reason"]), *requests])


def _ended(news: Json) -> BaseException:
    status = str(news["thread"]["status"])
    if status == "cancelled":
        return Cancelled("A person cancelled the thread.")
    return Ended(status, str(news["reason"]))
