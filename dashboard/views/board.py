"""The board."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from checkpoints.states import Status
from dashboard.errors import Invalid
from dashboard.pages.board import BoardPage
from dashboard.pages.rights import rights_of
from dashboard.wording import savings

from .addresses import takes
from .base import actor, live_page, show

TEMPLATE = "thread/list.html"
SEARCH_MAX = 200


@require_safe
@live_page
@takes("status", "agent", "q", "damaged", "after")
def board(request: HttpRequest) -> HttpResponse:
    """All threads by status; ?status=a,b &agent= &q= &damaged=1 narrow it, &after= goes on."""
    who = actor(request)
    known = {str(status) for status in Status}
    wanted = [s for s in request.GET.get("status", "").split(",") if s]
    if unknown := [s for s in wanted if s not in known]:
        raise Invalid(
            "$.status",
            f"There is no status “{unknown[0]}”. Choose from {', '.join(sorted(known))}.",
        )
    page = BoardPage(
        who.workspace,
        statuses=tuple(Status(s) for s in dict.fromkeys(wanted)),
        agent=_text(request, "agent"),
        q=_text(request, "q"),
        after=_text(request, "after") if wanted else "",
        damaged=bool(_text(request, "damaged")),
    )
    return show(
        request,
        page,
        TEMPLATE,
        {
            "rights": rights_of(who.roles),
            "saved": savings.shown(page.saved),
            "without_agent": page.address(page.statuses, agent=""),
        },
    )


def _text(request: HttpRequest, name: str) -> str:
    # NUL cannot be asked of PostgreSQL; nothing that is stored contains it.
    return request.GET.get(name, "").replace("\0", "")[:SEARCH_MAX].strip()
