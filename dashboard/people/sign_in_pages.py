"""The person's sign-ins, and the end of each."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from dashboard.identity.sign_ins.records import ID
from dashboard.kit.pages.addresses import takes
from dashboard.kit.pages.base import SeeOther, actor, flash, member
from dashboard.people.sign_ins import end_other_sign_ins, end_sign_in, list_sign_ins

PAGE = "people/sign_ins.html"
HOME = "sign_ins"


@require_safe
@member
@takes()
def index(request: HttpRequest) -> HttpResponse:
    """All browsers that are signed in; the one that asks is marked."""
    rows = list_sign_ins(actor(request))
    others = sum(not row.current for row in rows)
    return render(request, PAGE, {"rows": rows, "others": others})


@require_POST
@member
def end(request: HttpRequest, sign_in_id: UUID) -> HttpResponse:
    """Sign one out; ending the one that asks leads to the sign-in page."""
    end_sign_in(actor(request), sign_in_id)
    if _ends_itself(request, sign_in_id):
        request.session.flush()
        return SeeOther(reverse("login"))
    flash(request, "Signed out there.")
    return SeeOther(reverse(HOME))


@require_POST
@member
def end_others(request: HttpRequest) -> HttpResponse:
    """Sign all others out."""
    n = end_other_sign_ins(actor(request))
    flash(request, f"{n:,} other sign-in{'' if n == 1 else 's'} ended.")
    return SeeOther(reverse(HOME))


def _ends_itself(request: HttpRequest, sign_in_id: UUID) -> bool:
    return bool(request.session.get(ID) == str(sign_in_id))
