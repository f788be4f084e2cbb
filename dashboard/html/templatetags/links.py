"""Addresses of threads in templates, and messages of Django's own that hold links."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import template
from django.utils.safestring import SafeData, SafeString

from checkpoints.addresses import thread_address
from checkpoints.views import CheckpointRow, ThreadRow
from dashboard.fields.undo import address_in
from dashboard.wording import text

register = template.Library()


@register.simple_tag
def thread_url(thread: UUID, checkpoint: UUID | int | None = None, event: int | None = None) -> str:
    """The page of a thread, as of a checkpoint or with an event opened."""
    return thread_address(thread, checkpoint=checkpoint, event=event)


@register.filter
def as_cp(checkpoint: CheckpointRow, thread: ThreadRow) -> object:
    """The value of ?cp= for a checkpoint on a thread's page: its number, of a base its id."""
    return checkpoint.number if checkpoint.thread == thread.id else checkpoint.id


@register.simple_tag
def checkpoint_href(checkpoint: CheckpointRow, thread: ThreadRow) -> str:
    """A link from a thread's page to one of its checkpoints, short: a page has many of them."""
    if checkpoint.id == thread.head:
        return thread_address(thread.id)
    if checkpoint.thread == thread.id:
        return f"?cp={checkpoint.number}"
    return thread_address(checkpoint.thread, checkpoint=checkpoint.id)


@register.filter
def opposite(message: Any) -> str:
    """The address that takes back what a message says is done; "" where nothing does."""
    return address_in(str(message.extra_tags or ""))


@register.filter
def notice(message: object) -> SafeString:
    """A message: Django's own keep their links; hidden characters are written out in all."""
    return text.visible_html(message) if isinstance(message, SafeData) else text.prose(message)
