"""Reads a page of the web where a policy lets the agent; else says in a sentence why not."""

from __future__ import annotations

from gatepost import Context, Expired, Rejected, WebPage, WebRefused


def read_page(ctx: Context, url: str) -> tuple[WebPage | None, str]:
    """(the page, "") or (None, why it was not read)."""
    try:
        return ctx.read_web(url), ""
    except WebRefused as refused:
        return None, str(refused)
    except Rejected as no:
        return None, f"{url} was not read: {no.comment or 'people decided so'}"
    except Expired:
        return None, f"{url} was not read: nobody decided in time"
