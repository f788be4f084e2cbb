"""The pages of conversations: whom to talk with, and talking."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from checkpoints import queries
from dashboard import errors
from dashboard.fields.parameters import NUMBER, TEXT
from dashboard.fields.shapes import Option
from dashboard.identity.permissions import require
from dashboard.kit.inputs import declared
from dashboard.kit.pages.addresses import takes
from dashboard.kit.pages.base import SeeOther, actor, live_page, member, number_in, show
from dashboard.threads.page.conversation import thread_conversation
from dashboard.threads.page.thread import ThreadPage, thread_progress
from dashboard.threads.start import StartThread, start_thread
from workers.language.transcription import is_configured

from . import conversations

MICROPHONE = "camera=(), geolocation=(), microphone=(self)"


@require_http_methods(["GET", "POST"])
@member
@takes(agent=TEXT)
def index(request: HttpRequest) -> HttpResponse:
    """The agents that take messages; the form begins a conversation or continues that of a name."""
    who = actor(request)
    require(who, conversations.RIGHT)
    rows = queries.agents(workspace=who.workspace)
    agents = [row for row in rows if row.graph.get("inbox") and not row.graph.get("internal")]
    texts = {"agent": request.GET.get("agent", ""), **request.POST.dict()}
    problems: dict[str, str] = {}
    if request.method == "POST":
        agent, name = texts["agent"], texts.get("name", "").strip()
        try:
            start_thread(who, agent=agent, input={}, name=name)
            return SeeOther(reverse("voice_talk", args=[agent, name]))
        except errors.Invalid as error:
            problems = {error.path.removeprefix("$."): error.reason}
    options = [Option(row.agent, row.label or row.agent) for row in agents]
    fields = declared(StartThread, ["agent", "name"], texts, problems, {"agent": options})
    context = {"agents": agents, "declared": fields, "errors": problems}
    return render(request, "voice/index.html", context, status=422 if problems else 200)


@require_GET
@live_page
@takes(messages_before=NUMBER)
def talk(request: HttpRequest, agent: str, name: str) -> HttpResponse:
    """Talking with an agent; ?messages_before= looks at older messages."""
    who = actor(request)
    require(who, conversations.RIGHT)
    thread = conversations.thread_of(who, agent, name)
    if thread is None:
        raise errors.Missing(f"{agent} has no conversation of this name. Begin it at /voice/.")
    joined = conversations.look(who, thread.id)
    before = number_in(request.GET, "messages_before")
    page = ThreadPage(who.workspace, thread.id, messages_before=before, _thread=joined.thread)
    scheme = "wss" if request.is_secure() else "ws"
    more = {
        **thread_conversation(page, who.roles),
        **thread_progress(page, who.roles),
        "socket": f"{scheme}://{request.get_host()}{request.path}",
        "transcribes": is_configured(),
        "ended": conversations.ended(joined),
        "most": settings.GATEPOST_UTTERANCE_BYTES,
    }
    response = show(request, page, "voice/talk.html", more)
    response["Permissions-Policy"] = MICROPHONE
    return response
