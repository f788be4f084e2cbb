"""Pages of the web as an activity: read once, where a policy lets the agent, and recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from approvals.policies.built_in_tools import WEB_READ

from ..authoring.web_pages import WebPage, WebRefused
from ..step.html_text import text_of_html
from ..step.secret_values import masked
from ..step.step import OpenStep

TITLE_MAX: Final = 300
OFF: Final = (
    "Reading the web is off for this agent: no policy lets it read {host}. An admin allows it by a "
    "policy such as tool == 'web.read' && args.host in ['{host}']."
)


def host_of(url: str) -> str:
    """The host that a policy reads; raises WebRefused for what is no address of a page."""
    from ..step import web_pages  # its client takes a while to import

    try:
        return web_pages.host_of(url)
    except web_pages.NotRead as error:
        raise WebRefused(f"The page was not read. {error}") from None


def reader(step: OpenStep, is_approved: Callable[[], bool]) -> Callable[[str, str], dict[str, Any]]:
    """The function of the activity; `is_approved` says whether people approved this very call."""
    from ..step import web_pages

    def may_read(url: str) -> bool:
        args = {"url": url, "host": host_of(url)}
        rule = step.ledger.rule(step.work, WEB_READ, args, "").rule
        return rule is not None and rule.action == "allow"

    def read(url: str, host: str) -> dict[str, Any]:
        """Read a page of the web: its text, title, hash and time."""
        if host_of(url) != host:  # a reviewer may have edited one of them
            return {"refused": f"{url} is not at {host}."}
        if not is_approved() and not may_read(url):
            return {"refused": OFF.format(host=host), "off": True}
        try:
            page = web_pages.read_page(url, networks=_networks(), may_read=may_read)
        except web_pages.NotRead as error:
            return {"refused": f"{url} was not read. {error}"}
        is_html = page.media_type in web_pages.HTML
        title, text = text_of_html(page.text) if is_html else ("", page.text)
        if masked(title, ()) != title or masked(text, ()) != text:
            return {"refused": f"{url} holds what looks like a credential, which no record keeps."}
        return {
            "url": url,
            "address": page.address,
            "title": title[:TITLE_MAX],
            "text": text,
            "media_type": page.media_type,
            "sha256": sha256(page.raw).hexdigest(),
            "size": len(page.raw),
            "at": datetime.fromtimestamp(step.ledger.clock(), UTC).isoformat(),
        }

    read.__name__ = WEB_READ
    return read


def _networks() -> Sequence[str]:
    """The setting; none in a play without settings of Gatepost."""
    try:
        networks: list[str] = settings.GATEPOST_WEB_NETWORKS
    except (AttributeError, ImproperlyConfigured):
        return ()
    return networks


def page_of(result: dict[str, Any]) -> WebPage:
    """The page of a record; raises WebRefused where it says why there is none."""
    if "refused" in result:
        raise WebRefused(result["refused"], is_off=bool(result.get("off")))
    return WebPage(**result)
