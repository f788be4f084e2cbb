"""The page of one part of a state: what a light tree leaves out, or an encrypted channel."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.html import format_html
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe
from django.views.decorators.vary import vary_on_headers

from checkpoints import queries
from checkpoints.views import CheckpointRow
from dashboard import errors
from dashboard.fields.parameters import NUMBER, NUMBER_OR_ID, PART, POINT, POINTER, TEXT
from dashboard.kit.pages.addresses import takes
from dashboard.kit.pages.base import actor, member, number_in
from dashboard.threads.checkpoint_forms import checkpoint_of, head_of
from dashboard.threads.page.encrypted_channels import EncryptedChannel, encrypted_channels
from dashboard.threads.page.values import ValuePage
from dashboard.threads.reveal import reveal as reveal_channel
from dashboard.wording.text import prose


@require_safe
@vary_on_headers("HX-Request")
@member
@takes(of=PART, at=POINTER, against=POINT, was=POINTER, start=NUMBER)
def value(request: HttpRequest) -> HttpResponse:
    """?of= names the checkpoint, ?at= the part; ?against= and ?was= what it is compared with."""
    query = request.GET
    if not query.get("of"):
        return render(request, "threads/value.html", {"nothing": True})
    page = ValuePage(
        actor(request).workspace,
        query["of"],
        query.get("at", ""),
        query.get("against", ""),
        query.get("was", ""),
        number_in(query, "start") or 0,
    )
    context = page.context()
    unread = context["unread"]
    if "HX-Request" in request.headers:
        why = prose(unread.why if unread else "")
        away = format_html('<li class="ln" data-value>{}</li>', why)
        # The page stays where it is: htmx would write the address of what it fetched.
        return HttpResponse(context.get("part", away), headers={"HX-Push-Url": "false"})
    return render(request, "threads/value.html", context)


@require_http_methods(["GET", "POST"])
@never_cache
@member
@takes(channel=TEXT, checkpoint=NUMBER_OR_ID)
def reveal(request: HttpRequest, thread_id: UUID) -> HttpResponse:
    """An encrypted channel: who may read it; sent as a form, its value, which is on record."""
    who = actor(request)
    thread = queries.thread(thread_id, workspace=who.workspace)
    point = checkpoint_of(request, thread) or head_of(thread)
    name = request.POST.get("channel") or request.GET.get("channel", "")
    revealed = None
    if request.method == "POST":
        revealed = reveal_channel(who, thread_id, name, point.id)
    channel = _channel(point, name) if revealed is None else revealed.channel
    context = {
        "thread": thread,
        "checkpoint": point,
        "channel": channel,
        "readable": channel.is_readable(who.roles),
        "revealed": revealed,
    }
    return render(request, "threads/reveal.html", context)


def _channel(point: CheckpointRow, name: str) -> EncryptedChannel:
    """The encrypted channel of this name; raises Missing."""
    version = queries.agent_version(point.agent_version_id)
    for one in encrypted_channels(version.channels, queries.state_at(point.thread, point.id)):
        if one.name == name:
            return one
    raise errors.Missing("There is no encrypted channel of this name at this checkpoint.")
