"""The page of a thread and its buttons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_safe

from checkpoints import queries
from checkpoints.states import EventKind
from checkpoints.views import ThreadRow, VerificationRow
from dashboard import errors
from dashboard.fields.parameters import ID, NUMBER, NUMBER_OR_ID, one_of
from dashboard.kit.action import Action, read
from dashboard.kit.inputs import from_texts
from dashboard.kit.pages import forms
from dashboard.kit.pages.addresses import takes
from dashboard.kit.pages.base import (
    SeeOther,
    actor,
    flash,
    flash_refusal,
    live_page,
    member,
    next_url,
    number_in,
    show,
    thread_url,
    version_of,
    wants_regions,
)
from dashboard.threads import children_dialog, code_page
from dashboard.threads.actions import BY_BUTTON
from dashboard.threads.artifact_pages import download
from dashboard.threads.capsule import export
from dashboard.threads.capsules import downloads
from dashboard.threads.code import choose_code
from dashboard.threads.page import errors as errors_only
from dashboard.threads.page import published
from dashboard.threads.page.rights import rights_of
from dashboard.threads.page.thread import NOUNS, TABS, ThreadPage
from dashboard.threads.verify import verify as verify_thread

TEMPLATE = "threads/detail.html"
CHOSEN = {
    "pin": "Pinned: it waits for a worker with the code it stopped with.",
    "accept": "It continues with the new code.",
    "unpin": "Unpinned.",
}


@require_GET
@member
def capsule(request: HttpRequest, thread_id: UUID) -> HttpResponseBase:
    """The thread as one file to take elsewhere."""
    return downloads.download(request, export(actor(request), thread_id))


@require_http_methods(["GET", "HEAD", "POST"])
@live_page
@takes(
    cp=NUMBER_OR_ID,
    kind=one_of([errors_only.WORD, *sorted(NOUNS)], also=[*map(str, EventKind)]),
    before=NUMBER,
    event=NUMBER,
    messages_before=NUMBER,
    points_before=ID,
    tab=one_of(TABS),
)
def page(request: HttpRequest, thread_id: UUID) -> HttpResponse:
    """A thread; ?cp=<number or id> looks at the past, ?kind= ?before= ?event= at events, ?tab=.

    ?messages_before= looks at older messages of a conversation, ?points_before= at older
    save points.
    """
    if request.method == "POST":
        queries.thread(thread_id, workspace=actor(request).workspace)
        raise errors.Malformed("Nothing was chosen: use one of the buttons.")
    return _page(request, thread_id, request.GET)


def _page(
    request: HttpRequest,
    thread_id: UUID,
    query: Mapping[str, str] | None = None,
    *,
    status: int = 200,
    row: ThreadRow | None = None,
    typed: Mapping[str, Any] | None = None,
) -> HttpResponse:
    """The thread as its own address with this query shows it."""
    query = query or {}
    shown = ThreadPage(
        actor(request).workspace,
        thread_id,
        cp=query.get("cp", ""),
        kind=query.get("kind", ""),
        before=number_in(query, "before"),
        event=number_in(query, "event"),
        messages_before=number_in(query, "messages_before"),
        points_before=query.get("points_before", "").lower(),
        tab=query.get("tab", "") or TABS[0],
        _thread=row,
    )
    shown.thread, shown.past  # noqa: B018 - unknown ones are refused before anything is shown
    rights = rights_of(actor(request).roles)
    more = {"rights": rights, "newest": shown.thread.number, **(typed or {})}
    return show(request, shown, TEMPLATE, more, status=status)


def _control(
    request: HttpRequest,
    thread_id: UUID,
    act: Callable[[int | None], Any],
    done: Callable[[Any], str],
    opposite: str = "",
    typed: Mapping[str, str] | None = None,
) -> HttpResponse:
    """Do it and show the page again, by 303 when it is done, else as it is with the reason.

    `opposite` names the page's verb that takes it back, `typed` is shown again after a refusal,
    beside the `problems` of its inputs.
    """
    if request.method == "GET":
        # Somebody reloads the answer to a refusal; its polls want the thread's regions.
        if wants_regions(request):
            return _page(request, thread_id)
        # Links of that page are short: they name a checkpoint, a tab or an event alone.
        query = f"?{request.META['QUERY_STRING']}" if request.GET else ""
        return HttpResponseRedirect(thread_url(thread_id) + query)
    try:
        if past := request.POST.get("past", ""):
            raise errors.NotAllowedNow(
                f"That page shows checkpoint #{past[:9]} of the past. Open the newest one to act."
            )
        result = act(version_of(request))
    except (errors.Missing, errors.NeedsSecondPerson):
        raise
    except errors.ActionError as error:
        flash_refusal(request, error)
        again = {**typed, "problems": forms.problems_of(error)} if typed else None
        return _page(request, thread_id, status=error.status, typed=again)
    if text := done(result):
        undo = reverse(opposite, args=[thread_id]) if opposite else ""
        flash(request, text, opposite=undo)
    return SeeOther(next_url(request, thread_url(thread_id)))


_either = require_http_methods(["GET", "POST"])


def button(
    action: Action[Any, Any],
    *,
    values: Callable[[Mapping[str, str]], dict[str, Any]] | None = None,
    typed: Mapping[str, str] | None = None,
    ask: Callable[[HttpRequest, UUID, str], HttpResponse | None] | None = None,
    opposite: Callable[[Mapping[str, str]], str] | None = None,
) -> Callable[..., HttpResponseBase]:
    """The view that a button of the page posts to; a refusal shows the page with its reason.

    `values` reads the input where the form says it otherwise than by a text a field, `typed` names
    what the page shows again after a refusal: {name in the template: field}. `ask` answers a
    question that comes first, `opposite` names the address that takes it back, of the form's texts.
    """

    @_either
    @live_page
    def view(request: HttpRequest, thread_id: UUID) -> HttpResponse:
        if ask and (question := ask(request, thread_id, action.verb)) is not None:
            return question
        texts = forms.posted(request)

        def act(version: int | None) -> str:
            fields = values(texts) if values else from_texts(action.takes, texts)
            wanted = read(action.takes, fields)
            result = action.run(actor(request), wanted, thread_id, expected_version=version)
            return action.done(wanted, result)

        again = {name: texts.get(field, "") for name, field in (typed or {}).items()}
        undo = opposite(texts) if opposite else ""
        return _control(request, thread_id, act, str, opposite=undo, typed=again)

    vars(view)["action"] = action
    return view


# What a button does otherwise than the others of BY_BUTTON, by its verb.
_OTHERWISE: Final[dict[str, dict[str, Any]]] = {
    "pause": {
        "ask": children_dialog.choice,
        "opposite": lambda texts: "" if texts.get("before_node") else "thread_resume",
    },
    "resume": {"ask": children_dialog.choice, "opposite": lambda _: "thread_pause"},
    # A title is what was typed, spaces included.
    "rename": {
        "values": lambda texts: {"title": texts.get("title", ""), "current": texts.get("current")},
        "typed": {"typed_title": "title"},
    },
}
BUTTONS: Final = {one.verb: button(one, **_OTHERWISE.get(one.verb, {})) for one in BY_BUTTON}


@_either
@live_page
def code(request: HttpRequest, thread_id: UUID) -> HttpResponse:
    """Choose which code continues it; a fork is shown immediately."""
    choice = request.POST.get("choice", "")
    if request.method == "GET" and not wants_regions(request):
        return code_page.page(request, thread_id)
    if request.POST.getlist("thread"):
        return code_page.choose(request, thread_id, choice)
    if request.method == "POST" and choice == "fork":
        try:
            new_thread = choose_code(
                actor(request), thread_id, choice, expected_version=version_of(request)
            )
        except errors.Missing:
            raise
        except errors.ActionError as error:
            flash_refusal(request, error)
            return _page(request, thread_id, status=error.status)
        flash(
            request, "Forked: this thread continues with the new code; the original doesn’t change."
        )
        return SeeOther(thread_url(new_thread))
    return _control(
        request,
        thread_id,
        lambda version: choose_code(actor(request), thread_id, choice, expected_version=version),
        lambda _: CHOSEN[choice],
    )


@_either
@live_page
def verify(request: HttpRequest, thread_id: UUID) -> HttpResponse:
    """Compute its past again and say whether anything was altered."""
    return _control(
        request, thread_id, lambda _version: verify_thread(actor(request), thread_id), _verified
    )


def _verified(result: VerificationRow) -> str:
    """Damage is no success: it stands on the page itself, in red, until it is gone."""
    return f"Verified: all {result.n_events:,} events are intact." if result.intact else ""


@require_safe
@live_page
def published_file(request: HttpRequest, thread_id: UUID, slug: str, name: str) -> HttpResponseBase:
    """A file that an effect of this thread published and that is still there."""
    row = queries.thread(thread_id, workspace=actor(request).workspace)
    for file in published.files(row, queries.activities(row.id)):
        if (file.slug, file.name) == (slug, name):
            return download(request, file.path.open("rb"), name=name, size=file.path.stat().st_size)
    raise Http404
