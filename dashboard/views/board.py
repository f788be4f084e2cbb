"""The board."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from checkpoints import queries
from checkpoints.states import Status
from dashboard.embedded.demo import is_of_demo
from dashboard.pages.board import BoardPage
from dashboard.pages.rights import rights_of
from dashboard.wording import savings

from .addresses import UnknownParameter, takes
from .base import actor, live_page, show
from .parameters import CURSOR, DEPTH, FLAG, ID, QUERY, TEXT, some_of

TEMPLATE = "thread/list.html"
# What narrows a board, for each page that has the address of one.
NARROWS = {
    "status": some_of([*map(str, Status)]),
    "agent": TEXT,
    "framework": TEXT,
    "q": QUERY,
    "damaged": FLAG,
    "parent": ID,
    "root": ID,
    "depth": DEPTH,
    "children": FLAG,
    "held": FLAG,
}


@require_safe
@live_page
@takes(**NARROWS, after=CURSOR)
def board(request: HttpRequest) -> HttpResponse:
    """All threads by status; ?status=a,b &agent= &framework= &q= &damaged=1 narrow it.

    &q= is a query such as `status:failed age:>2h tea`; one that is wrong is explained at its word.

    &after= goes on in a list.
    So do &parent= (children of a thread), &root= (a whole family tree) and &depth= (below its top).
    Other boards have children with &children=1, and those that are held only with &held=1.
    """
    who = actor(request)
    page = board_page(request)
    return show(
        request,
        page,
        TEMPLATE,
        {
            "rights": rights_of(who.roles),
            "query_filters": queries.FILTERS,
            "stop_address": page.stop_address,
            "many_address": page.many_address,
            "saved": savings.shown(page.saved),
            "first_minute": is_of_demo(request.user) and not page.filtered,
            "without_agent": page.address(page.statuses, agent=""),
            "without_framework": page.address(page.statuses, framework=""),
        },
    )


def board_page(request: HttpRequest) -> BoardPage:
    """The board of this address; raises UnknownParameter."""
    wanted = [s for s in request.GET.get("status", "").split(",") if s]
    after = request.GET.get("after", "")
    if after and not wanted:
        raise UnknownParameter("“after” goes on in a list of one status or several; name “status”.")
    return BoardPage(
        actor(request).workspace,
        statuses=tuple(Status(s) for s in dict.fromkeys(wanted)),
        agent=_text(request, "agent"),
        framework=_text(request, "framework"),
        q=_text(request, "q"),
        after=after,
        damaged=bool(_text(request, "damaged")),
        tree=_tree(request),
        children=bool(_text(request, "children")),
        held=bool(_text(request, "held")),
    )


def _tree(request: HttpRequest) -> queries.TreeFilter:
    parent, root = (
        UUID(value) if (value := request.GET.get(name, "")) else None for name in ("parent", "root")
    )
    depth = request.GET.get("depth", "")
    return queries.TreeFilter(parent, root, int(depth) if depth else None)


def _text(request: HttpRequest, name: str) -> str:
    return request.GET.get(name, "").strip()
