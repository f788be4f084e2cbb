"""Starting a thread: a form made from the agent's schema."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from checkpoints import queries
from checkpoints.durabilities import DURABLE
from checkpoints.views import AgentRow
from dashboard import errors
from dashboard.fields.parameters import TEXT
from dashboard.fields.shapes import Field, Option
from dashboard.identity.permissions import require
from dashboard.kit.inputs import declared
from dashboard.kit.pages import forms
from dashboard.kit.pages.addresses import takes
from dashboard.kit.pages.base import SeeOther, actor, flash, member, thread_url
from dashboard.threads.start import StartThread, start_thread
from dashboard.wording.durabilities import durability_words

TEMPLATE = "threads/new.html"


@require_http_methods(["GET", "POST"])
@member
@takes(agent=TEXT)
def new(request: HttpRequest) -> HttpResponse:
    """The form for ?agent=, and the start."""
    who = actor(request)
    require(who, "start")
    agents = queries.agents(workspace=who.workspace)
    named = request.POST.get("agent") or request.GET.get("agent", "")
    if named and named not in {a.agent for a in agents}:
        raise errors.Missing("No worker has announced an agent of this name.")
    first = next((a for a in agents if not a.graph.get("internal")), agents[0] if agents else None)
    agent = None
    if first is not None:
        agent = queries.agent(named or first.agent, workspace=who.workspace)
    if request.method != "POST" or agent is None:
        return _form(request, agents, agent, {})
    defaults = {c: spec["default"] for c, spec in agent.channels.items() if "default" in spec}
    values, problems = forms.read(request, who, agent.schema, defaults, omittable=True)
    if problems:
        return _form(request, agents, agent, problems, status=422)
    try:
        thread_id = start_thread(
            who,
            agent=agent.agent,
            input=values,
            title=request.POST.get("title", "").strip(),
            pause_at=request.POST.get("pause_at", ""),
        )
    except errors.ActionError as error:
        problems = forms.problems_of(error, agent.schema)
        return _form(request, agents, agent, problems, status=error.status)
    flash(request, "Started.")
    return SeeOther(thread_url(thread_id))


def _form(
    request: HttpRequest,
    agents: list[AgentRow],
    agent: AgentRow | None,
    problems: dict[str, str],
    *,
    status: int = 200,
) -> HttpResponse:
    internal = [a for a in agents if a.graph.get("internal")]
    context: dict[str, Any] = {
        "agents": [a for a in agents if a not in internal],
        "internal": internal,
        "agent": agent,
        "fields": _fields(request, agent, problems) if agent else [],
        "declared": _declared(request, agent, problems) if agent else {},
        "errors": problems,
        "durability": durability_words(agent) if agent and agent.durability != DURABLE else "",
        "sample": "",
    }
    return render(request, TEMPLATE, context, status=status)


def _declared(request: HttpRequest, agent: AgentRow, problems: dict[str, str]) -> dict[str, Field]:
    nodes = agent.graph.get("nodes", ())
    stops = [Option(one["name"], one.get("label") or one["name"]) for one in nodes]
    stops = [Option("", "nothing: run to the first gate"), *stops]
    names, texts = ["title", "pause_at"], request.POST.dict()
    shown = declared(StartThread, names, texts, problems, {"pause_at": stops})
    title = replace(shown["title"], attrs={"placeholder": agent.label or agent.agent})
    return shown | {"title": title}


def _fields(request: HttpRequest, agent: AgentRow, problems: dict[str, str]) -> list[Any]:
    defaults = {c: spec["default"] for c, spec in agent.channels.items() if "default" in spec}
    return forms.state_fields(
        agent.schema, defaults, request, problems, compare=False, omittable=True
    )
