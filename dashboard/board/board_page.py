"""The board."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from checkpoints import queries
from dashboard.board.filters.address import COLUMN_WORDS, DENSITY, NARROWS
from dashboard.fields.parameters import CURSOR
from dashboard.identity.demo_people import is_of_demo
from dashboard.kit.pages.addresses import UnknownParameter, takes
from dashboard.kit.pages.base import actor, live_page, show
from dashboard.threads.page.rights import rights_of
from dashboard.wording import savings

from . import board_columns
from .board import BoardPage
from .saved_views.view_bar import ViewBar

TEMPLATE = "board/board.html"


@require_safe
@live_page
@takes(COLUMN_WORDS, **NARROWS, density=DENSITY, after=CURSOR)
def board(request: HttpRequest) -> HttpResponse:
    """All threads by status; ?status=a,b &agent= &framework= &q= &damaged=1 narrow it.

    &q= is a query such as `status:failed age:>2h tea`; one that is wrong is explained at its word.

    &after= continues in a list.
    So do &parent= (children of a thread), &root= (a whole family tree) and &depth= (below its top).
    &columns=agent,cost are the columns of its rows, &density=compact makes them low.
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
            "instead": page.instead,
            "stop_address": page.stop_address,
            "stop_narrowed": page.stop_narrowed,
            "many_address": page.many_address,
            "display": board_columns.display(page),
            "views": ViewBar(who, page),
            "saved": savings.shown(page.saved),
            "first_minute": is_of_demo(request.user) and not page.filtered,
        },
    )


def board_page(request: HttpRequest) -> BoardPage:
    """The board of this address; raises UnknownParameter."""
    board = BoardPage.read(dict(request.GET.lists()), workspace=actor(request).workspace)
    if board.after and not board.statuses:
        raise UnknownParameter(
            "“after” continues a list of one or several statuses; name “status”."
        )
    return board
