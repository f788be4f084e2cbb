"""Shared base of page views: the actor, whole page or some regions, refusals as pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from typing import Any, Concatenate, Final
from urllib.parse import urlsplit
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from approvals import queries as gates
from checkpoints import queries
from checkpoints.addresses import thread_address
from checkpoints.errors import GatepostError
from dashboard import errors
from dashboard.fields.faults import named
from dashboard.fields.undo import tags_of
from dashboard.identity.page_workspace import refuse_other
from dashboard.identity.permissions import Actor, actor_of, require
from dashboard.identity.second_factor import requirement
from dashboard.live import regions
from dashboard.live.served import digest_of
from dashboard.wire.topics import Topic

REGIONS_HEADER = "X-Gatepost-Regions"
REGIONS_MAX = 40
# Marks a request of somebody who may only set up a second factor.
SETS_UP = "sets_up_factor"
FRAME = frozenset({"nav-approvals", "no-worker"})  # the regions of every page
type View[**P] = Callable[Concatenate[HttpRequest, P], HttpResponseBase]


class SeeOther(HttpResponseRedirect):
    """303: what was posted is done, look there."""

    status_code = 303


def member[**P](
    view: View[P], *, live: bool = False, chooses: bool = False, sets_up: bool = False
) -> View[P]:
    """A view for people with a role: sets `request.actor`; refusals become pages of their own.

    A view that is not `live` has no regions but those of every page's frame; one that `chooses`
    the workspace takes forms of pages that showed another one. People who must have a second factor
    and have none are sent to the page that `sets_up` one; they may also choose and sign out.
    """

    @wraps(view)
    def wrapped(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        try:
            actor = actor_of(request.user)
            if actor.lacks_factor:
                if not (sets_up or chooses):
                    return to_set_up(request)
                setattr(request, SETS_UP, True)
                actor = replace(actor, lacks_factor=False)
            request.actor = actor  # type: ignore[attr-defined]
            if not chooses:
                refuse_other(request, actor)
            require(actor, "read")
            if not live and request.method == "GET" and wants_regions(request):
                return _regions(request, _frame(actor), actor.roles)
            return view(request, *args, **kwargs)
        except errors.ActionError as error:
            return refused(request, error)
        except GatepostError as error:
            return refused(request, errors.of(error))

    return wrapped


def to_set_up(request: HttpRequest) -> HttpResponse:
    """Answer of every page to somebody who has to set up a second factor first."""
    if wants_regions(request):
        return JsonResponse({"error": requirement.MESSAGE}, status=403)
    return SeeOther(reverse("second_factor"))


def live_page[**P](view: View[P]) -> View[P]:
    """A view for people with a role whose page has regions of its own."""
    return member(view, live=True)


def actor(request: HttpRequest) -> Actor:
    """The person who makes the request, as read by `member`."""
    actor: Actor = request.actor  # type: ignore[attr-defined]
    return actor


def wants_regions(request: HttpRequest) -> bool:
    """True if the request is a poll for some regions of a page."""
    return REGIONS_HEADER in request.headers


def show(
    request: HttpRequest,
    page: regions.Page,
    template: str,
    extra: dict[str, Any] | None = None,
    *,
    status: int = 200,
) -> HttpResponse:
    """The whole page, or for a poll those of its regions that were asked for."""
    roles = actor(request).roles
    if request.method == "GET" and wants_regions(request):
        return _regions(request, page, roles)
    seq, topic = page.seq, regions.topic_name(page)  # read first: never older than its number
    mark = ""
    if regions.live_topics()[page.topic].by_clock:
        mark = f"{seq}:{digest_of(topic, page.mark)}"
    context = regions.context(page, template, roles)
    context |= {"live_topic": topic, "live_seq": seq, "live_mark": mark} | (extra or {})
    return render(request, template, context, status=status)


def _regions(request: HttpRequest, page: regions.Page, roles: frozenset[str]) -> HttpResponse:
    parts = request.headers[REGIONS_HEADER].split(",")
    names = list(dict.fromkeys(name.strip() for name in parts if name.strip()))
    pages: dict[str, regions.Page] = {page.topic: page}
    if (beside := getattr(page, "beside", None)) is not None:
        pages[beside.topic] = beside
    if page.topic != "approvals":
        pages["approvals"] = _frame(actor(request))
    unknown = [name for name in names if not regions.topic_of(name)]
    if unknown or len(names) > REGIONS_MAX:
        return JsonResponse({"error": f"There is no region {unknown[:1]}."}, status=400)
    seqs, html = {}, {}
    for name in names:
        source = pages.get(regions.topic_of(name))
        if source is None:
            return JsonResponse({"error": f"{name} is not on this page."}, status=400)
        seqs[regions.topic_name(source)] = source.seq
        html[name] = regions.render(source, name, roles)
    return JsonResponse({"seq": seqs, "regions": html})


def _frame(who: Actor) -> regions.Page:
    """The reads of the frame that every page has: what waits for people."""
    return regions.page_of(Topic("approvals", who.workspace))


def _elsewhere(request: HttpRequest) -> tuple[UUID, str] | None:
    """The other workspace of this person in which the thread or request of the address lies."""
    who: Actor | None = getattr(request, "actor", None)
    match = request.resolver_match
    if who is None or match is None:
        return None
    thread, approval = match.kwargs.get("thread_id"), match.kwargs.get("approval_id")
    for membership in who.places:
        if membership[0] == who.workspace:
            continue
        if thread and queries.in_workspace([thread], workspace=membership[0]):
            return membership
        if approval and gates.in_workspace(approval, workspace=membership[0]):
            return membership
    return None


def came_from(request: HttpRequest) -> str:
    """The page of ours that a form was sent from; the board where nobody says."""
    came = urlsplit(request.headers.get("Referer", ""))
    ours = came.netloc == request.get_host() and came.path.startswith("/")
    return f"{came.path}?{came.query}".rstrip("?") if ours else "/"


# What an address is about: the page of it, and how a link to it is called.
_SUBJECTS: Final = {
    "thread_id": ("thread", "Go to the thread"),
    "approval_id": ("approval", "Go to the request"),
    "incident_id": ("incident", "Go to the incident"),
}
# What is refused so may be possible when the same address is opened again.
_PASSING: Final = frozenset({409, 412, 429, 503})


def _way_back(request: HttpRequest, status: int) -> tuple[str, str]:
    """(address, words) of where a refusal leads besides the board; empty for the board alone."""
    match = request.resolver_match
    for name, (page, words) in _SUBJECTS.items():
        if status != 404 and match is not None and name in match.kwargs and match.url_name != page:
            return reverse(page, args=[match.kwargs[name]]), words
    if request.method != "GET":
        came = came_from(request)
        return ("", "") if came == "/" else (came, "Go back")
    return (request.get_full_path(), "Try again") if status in _PASSING else ("", "")


def refused(
    request: HttpRequest, error: errors.ActionError, *, back: str = "", label: str = ""
) -> HttpResponse:
    """A page that says what was refused and why, with the refusal's status."""
    if isinstance(error, errors.NeedsSecondPerson):
        flash(
            request, "This needs a second person. Nothing happens until someone else approves it."
        )
        return SeeOther(error.facts["url"])
    if isinstance(error, errors.NeedsSecondAdmin):
        flash(request, "Another admin has to confirm this. Nothing changes until then.")
        return SeeOther(error.facts["url"])
    who = getattr(request, "actor", None)
    if wants_regions(request):
        if isinstance(error, errors.OtherWorkspace):
            return JsonResponse({"error": error.detail}, status=403)  # the page asks no more
        if who and set(request.headers[REGIONS_HEADER].split(",")) <= FRAME:
            return _regions(request, _frame(who), who.roles)
        return JsonResponse({"error": words_of(error)}, status=error.status)
    way_back = (back, label) if back else _way_back(request, error.status)
    if isinstance(error, errors.BlockedByPolicy):
        way_back = (error.facts["url"], "Open the record")
    if isinstance(error, errors.NeedsOwnPassword):
        way_back = (reverse("own_password"), "Change your password")
    context = {
        "status": error.status,
        "title": error.title,
        "detail": words_of(error),
        "path": "",
        "back_url": way_back[0],
        "back_label": way_back[1],
        "elsewhere": _elsewhere(request) if error.status == 404 else None,
        "other": error.facts["place"] if isinstance(error, errors.OtherWorkspace) else None,
        "came_from": came_from(request),
    }
    response = render(request, "error.html", context, status=error.status)
    if error.retry_after:
        response["Retry-After"] = str(error.retry_after)
    return response


def words_of(error: errors.ActionError) -> str:
    """A refusal as people read it: each value by its name, no JSON path."""
    if not isinstance(error, errors.Invalid):
        return error.detail
    return " ".join(named(fault) for fault in error.faults)


def flash(request: HttpRequest, text: str, *, opposite: str = "") -> None:
    """Show on the next page, once, that something is done.

    `opposite` is the address of ours that takes it back by one POST, as the button Undo.
    """
    messages.success(request, text, extra_tags=tags_of(opposite))


def flash_refusal(request: HttpRequest, error: errors.ActionError) -> None:
    """Show on this page why something was not done."""
    messages.error(request, words_of(error))


def next_url(request: HttpRequest, otherwise: str) -> str:
    """The page of ours that the form came from, else `otherwise`."""
    return page_of_ours(request, request.POST.get("next", ""), otherwise)


def page_of_ours(request: HttpRequest, wanted: str, otherwise: str) -> str:
    """`wanted` where it is an address of ours, else `otherwise`."""
    ours = url_has_allowed_host_and_scheme(
        wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return wanted if wanted and ours else otherwise


def thread_url(thread_id: UUID) -> str:
    """The page of a thread."""
    return thread_address(thread_id)


def version_of(request: HttpRequest) -> int | None:
    """The version that the posting page showed; None where a page shows none."""
    raw = request.POST.get("version", "")
    if not raw:
        return None
    if not raw.isascii() or not raw.isdecimal() or len(raw) > 18:
        raise errors.Malformed("The form's version is not a number.")
    return int(raw)


def number_in(query: Mapping[str, str], name: str) -> int | None:
    """A number from a query whose values were checked; None where it is missing."""
    return int(query[name]) if query.get(name) else None
