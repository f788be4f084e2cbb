"""The form that decides several requests of the inbox together."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST

from approvals.inbox import rows as inbox_rows
from dashboard import errors
from dashboard.kit.pages.base import SeeOther, actor, flash, member, next_url
from dashboard.wording import amounts

from . import decide_many as bulk

DIALOG = "approvals/decide_many.html"
DONE = {"approve": "approved", "reject": "rejected"}


@require_POST
@member
def together(request: HttpRequest) -> HttpResponse:
    """Show the ticked requests once more with their hashes; confirmed, decide each by itself."""
    who = actor(request)
    one = request.POST.get("one", "")  # a button of a row: its verdict and item
    verdict, _, item = one.partition(":") if one else (request.POST.get("verdict", ""), "", "")
    items = bulk.read_items([item] if one else request.POST.getlist("item"))
    comment = request.POST.get("comment", "").replace("\r\n", "\n")
    back = next_url(request, reverse("approvals"))
    context: dict[str, Any] = {"verdict": verdict, "comment": comment, "back": back}
    if not items:
        flash(request, "You ticked nothing, so nothing was decided.")
        return SeeOther(back)
    if verdict not in bulk.TOGETHER:
        raise errors.Invalid("$.verdict", f"together it is {' or '.join(bulk.TOGETHER)} only")
    shown = bulk.preview(who, items, verdict)
    if not request.POST.get("confirmed") or _asks_again(request, shown, verdict):
        context["lasting_error"] = bool(request.POST.get("confirmed"))
        return _dialog(request, shown, context)
    try:
        results = bulk.decide_together(who, items, verdict, comment)
    except errors.Invalid as error:
        context["comment_error"] = error.reason
        return _dialog(request, bulk.preview(who, items, verdict), context, status=error.status)
    done = [result for result in results if result.good]
    refused = [result for result in results if not result.good]
    if refused:
        context |= {"done": done, "refused": refused, "results": True, "did": DONE[verdict]}
        return render(request, DIALOG, context, status=200 if done else 409)
    flash(request, _notice(results, DONE[verdict]))
    return SeeOther(back)


def _asks_again(request: HttpRequest, shown: list[bulk.ItemResult], verdict: str) -> bool:
    """True while nobody has said that they know which of these can't be undone."""
    return bool(verdict == "approve" and _lasting(shown) and not request.POST.get("lasting"))


def _lasting(shown: list[bulk.ItemResult]) -> int:
    """The number of requests to approve whose action can't be undone."""
    return sum(one.good and one.row is not None and one.row.weight == "lasting" for one in shown)


def _notice(results: list[bulk.ItemResult], did: str) -> str:
    """Results in a sentence or two, when nothing was refused."""
    after = [result.after for result in results if result.after is not None]
    parts = [f"{len(results):,} requests {did}."]
    if len(results) == 1 and results[0].row is not None:
        parts = [f"{did.capitalize()}: {results[0].row.headline}"]
    if waiting := sum(row.status == "pending" for row in after):
        parts.append(
            "Others still have to approve."
            if len(results) == 1
            else f"Of {waiting:,} others have to approve, too."
        )
    if held := sum(row.status == "held" for row in after):
        which = "its page" if held == 1 else "their pages"
        parts.append(f"For a few seconds you can undo it on {which}, see Done.")
    return " ".join(parts)


def _dialog(
    request: HttpRequest,
    messages: list[bulk.ItemResult],
    context: dict[str, Any],
    *,
    status: int = 200,
) -> HttpResponse:
    good = [one for one in messages if one.good]
    rows = [one.row for one in good if one.row]
    context |= {
        "good": good,
        "sum": _sum(rows),
        "n_summed": sum(amounts.money_of(row.args) is not None for row in rows),
        "refused": [one for one in messages if not one.good],
        "lasting": _lasting(messages) if context["verdict"] == "approve" else 0,
        "results": False,
    }
    return render(request, DIALOG, context, status=status)


def _sum(rows: list[inbox_rows.InboxRow]) -> amounts.Sum | None:
    """Sum the amounts of requests that name one; None if arguments are too large to be known."""
    if any(row.args is None for row in rows):
        return None
    return amounts.sum_of(row.args for row in rows if amounts.money_of(row.args))
