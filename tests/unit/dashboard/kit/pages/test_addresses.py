"""Addresses of listing pages: what a page does not take is refused, never dropped in silence."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.admin import ModelAdmin
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from checkpoints import queries
from dashboard.board.breaker_actions import TRIP, TripBreaker
from dashboard.board.overview.choices import DATE
from dashboard.board.saved_views.view_actions import SAVE, SaveView
from dashboard.fields import parameters
from dashboard.records import site
from tests.support.cast import Cast
from tests.unit.dashboard import scene
from tests.unit.dashboard.examples import Examples, make_examples

pytestmark = pytest.mark.django_db
# Pages without an id in their address that list nothing: what they take narrows nothing.
NO_LISTS = {
    "thread_new",
    "memory_new",
    "memories_forget_after",
    "subscription_new",
    "quiet_hours",
    "push_worker",
    "keyboard",
    "record_export",
    "device_add",
    "sign_ins_end_others",
    "second_factor",
    "second_factor_add",
    "second_factor_remove",
    "passkey_add",
    "passkey_remove",
    "sso",
    "sso_begin",
    "sso_callback",
    "approvals_decide",
    "workspace",
    "login",
    "login_code",
    "logout",
    "welcome",
    "favicon",
    "healthz",
    "readyz",
    "metrics",
    "violations",
    "index",
    "policy_add",
    "policy_cap",
    "password_change",
    "password_change_done",
    "autocomplete",
    "jsi18n",
}
KNOWN = ("utm_source", "utm_campaign", "fbclid", "gclid", "next", "sesame")


def patterns(resolver: Any = None, prefix: str = "") -> Iterator[tuple[str, URLPattern]]:
    """(address without leading slash, pattern) of each page; API and SCIM have their own sweeps."""
    for one in (resolver or get_resolver()).url_patterns:
        address = prefix + str(one.pattern)
        if isinstance(one, URLResolver):
            if not address.startswith(("api/", "scim/")):
                yield from patterns(one, address)
        else:
            yield address, one


def lists() -> dict[str, str]:
    """{name: address} of all listing pages, by the URLs of the product."""
    results = {}
    for address, pattern in patterns():
        plain = "<" not in address and "(?P" not in address
        name = str(pattern.name)
        if plain and name not in NO_LISTS and not name.endswith("_add"):
            results[name] = f"/{address}"
    return results


@pytest.mark.slow
def test_every_list_refuses_a_parameter_that_it_does_not_take(cast: Cast) -> None:
    assert len(lists()) > 20, lists()
    for name, address in lists().items():
        client = cast.client("operator" if name == "voice" else "admin")
        answer = client.get(address, {"zzz": "1"})
        text = answer.content.decode()
        assert answer.status_code == 422, (name, address, answer.status_code)
        assert "zzz" in text, name
        assert "This address has a mistake" in text, name
        known = client.get(address, dict.fromkeys(KNOWN, "1"), follow=True)
        assert known.status_code == 200, name


GARBAGE = {
    "enumerated": ("hgih", "%", "\0", "é" * 300),
    "id": ("zzz", "1", "{0198c5f26d1e7a309b514f0b5a3c2d10}"),
    "number": ("zzz", "-1", "1.5", "٣", "9" * 30),
    "depth": ("zzz", "-1", "1.5", "٣", "32768", "9" * 30),
    "columns": ("zzz", "1.", "--1", "٣"),
    "point": (
        "zzz",
        "0198c5f2-6d1e-7a30-9b51-4f0b5a3c2d10:",
        "0198c5f2-6d1e-7a30-9b51-4f0b5a3c2d10:-1",
        "0198c5f2-6d1e-7a30-9b51-4f0b5a3c2d10:branch-x",
        "0198c5f2-6d1e-7a30-9b51-4f0b5a3c2d10:٣",
    ),
    "part": (
        "zzz",
        "0198c5f2-6d1e-7a30-9b51-4f0b5a3c2d10:event-",
        "0198c5f2-6d1e-7a30-9b51-4f0b5a3c2d10:event-٣",
        "------------------------------------:event-1",
    ),
    "address": ("x" * 2_001, "a\0b"),
    "pointer": ("zzz", "/" + "x" * 1_500, "/a\0b"),
    "day": ("zzz", "2026-13-01", "2026-1-1", "٢٠٢٦-01-01"),
    "cursor": ("zzz", "x" * 201, "-", "a.b", "bnVsbA"),
}


def _garbage(values: parameters.Values) -> tuple[str, ...]:
    if values.words:
        return tuple(word for word in GARBAGE["enumerated"] if not values.fits(word))
    if values.takes.startswith("a whole number up to "):
        return GARBAGE["depth"]
    if length := re.fullmatch(r"at most ([\d,]+) characters", values.takes):
        return ("x" * (int(length[1].replace(",", "")) + 1), "a\0b")
    by_kind = {
        parameters.ID: "id",
        parameters.NUMBER: "number",
        parameters.NUMBER_OR_ID: "number",
        parameters.COLUMNS: "columns",
        parameters.ADDRESS: "address",
        parameters.CURSOR: "cursor",
        parameters.POINT: "point",
        parameters.PART: "part",
        parameters.POINTER: "pointer",
        DATE: "day",
    }
    return GARBAGE[by_kind[values]]


def _taken(cast: Cast, examples: Examples) -> Iterator[tuple[str, dict[str, parameters.Values]]]:
    """(address, {parameter: its values}) of every page that takes any, by the URLs."""
    breaker = TRIP.run(cast.actor("operator"), TripBreaker(agent="none", reason="To look at it"))
    ids = {"thread_id": examples.waiting, "approval_id": examples.request.id}
    ids["breaker_id"] = breaker.id
    ids["erasure_id"] = examples.request.id  # its page takes no parameter
    ids["view_id"] = SAVE.run(cast.actor("admin"), SaveView(name="Failed")).id
    ids["name"] = "throughput"  # a figure of the overview, and a name to talk with
    ids["agent"] = queries.thread(examples.waiting, workspace=cast.workspace).agent
    # They take none.
    ids |= dict.fromkeys(("incident_id", "subscription_id", "sign_in_id"), breaker.id)
    request = cast.client("admin").get("/").wsgi_request
    for address, pattern in patterns():
        view: Any = pattern.callback
        known = view_parameters(view) or list_parameters(view, request) or {}
        if known:
            path = re.sub(r"<[a-z]+:(\w+)>", lambda match: str(ids[match[1]]), address)
            yield f"/{path}", known


def view_parameters(view: Any) -> dict[str, parameters.Values] | None:
    """What `takes` says of a view, through all that is wrapped around it."""
    while view is not None:
        if hasattr(view, "parameters"):
            results: dict[str, parameters.Values] = view.parameters
            return results
        view = getattr(view, "__wrapped__", None)
    return None


def list_parameters(view: Any, request: Any) -> dict[str, parameters.Values] | None:
    """What a list of records takes."""
    records = getattr(view, "model_admin", None)
    if not isinstance(records, ModelAdmin) or view.__name__ != "changelist_view":
        return None
    return site._parameters(records.changelist_view, request)


@pytest.mark.slow
def test_every_value_that_a_parameter_does_not_take_is_refused(cast: Cast) -> None:
    """Every parameter of every page: 422 with the value, the parameter and what it takes."""
    examples = make_examples(cast)
    n_refused, n_listed = 0, 0
    wrong = []
    for address, known in _taken(cast, examples):
        client = cast.client(
            "auditor"
            if address.endswith("/export/")
            else "operator"
            if address.startswith("/voice/")
            else "admin"
        )
        # What goes on in a list of one status says so.
        beside = {"status": "failed"} if "after" in known else {}
        for name, values in known.items():
            for value in _garbage(values):
                answer = client.get(address, beside | {name: value})
                text = html.unescape(answer.content.decode())
                n_refused += 1
                if answer.status_code != 422:
                    wrong.append(f"{address}?{name}={value[:20]!r}: {answer.status_code}")
                    continue
                # A NUL is shown as a sign of its own.
                if not all(part in text for part in (name, *value[:20].split("\0"))):
                    wrong.append(f"{address}?{name}={value[:20]!r}: does not name it")
                wrong += [f"{address}?{name}: {w}" for w in values.words if w not in text]
            assert all(map(values.fits, values.words))
            for word in values.words[-1:]:
                n_listed += 1
                answer = client.get(address, {name: word})
                if answer.status_code != 200:
                    wrong.append(f"{address}?{name}={word}: {answer.status_code}")
    assert not wrong, "\n".join(wrong)
    assert n_refused > 200
    assert n_listed > 20


def test_records_refuse_values_that_they_do_not_know(cast: Cast) -> None:
    address = reverse("admin:checkpoints_thread_changelist")
    answer = cast.client("auditor").get(address, {"status": "faild"})
    assert answer.status_code == 422
    assert "“status” does not take “faild”. Did you mean “failed”?" in answer.content.decode()


@pytest.mark.slow
def test_every_filter_of_the_records_goes_on_working(cast: Cast) -> None:
    client, n = cast.client("admin"), 0
    for address, pattern in patterns():
        records = getattr(pattern.callback, "model_admin", None)
        if not isinstance(records, ModelAdmin) or not str(pattern.name).endswith("_changelist"):
            continue
        request = client.get(f"/{address}").wsgi_request
        for one in records.get_list_filter(request):
            name = f"{one}__exact" if isinstance(one, str) else one.parameter_name
            answer = client.get(f"/{address}", {name: ""})
            assert "This page does not take" not in answer.content.decode(), (address, name)
            n += 1
        assert client.get(f"/{address}", {"q": "x", "p": ""}).status_code == 200, address
    assert n > 20


@pytest.mark.parametrize(
    ("address", "near", "link"),
    [
        ("/?statsu=failed", "status", "/?status=failed"),
        ("/?status=failed&agnet=child", "agent", "/?status=failed&amp;agent=child"),
        ("/approvals/?bxo=done&sort=age", "box", "/approvals/?sort=age&amp;box=done"),
        ("/?zzz=1&status=failed", "", "/?status=failed"),
    ],
)
def test_the_page_offers_what_was_probably_meant(
    cast: Cast, address: str, near: str, link: str
) -> None:
    client = cast.client("operator")
    answer = client.get(address)
    text = answer.content.decode()
    assert answer.status_code == 422
    assert (f"Did you mean “{near}”?" in text) == bool(near)
    assert f'href="{link}"' in text
    assert client.get(link.replace("&amp;", "&")).status_code == 200


def test_a_parameter_twice_is_refused(cast: Cast) -> None:
    answer = cast.client("operator").get("/?status=failed&status=queued")
    assert answer.status_code == 422
    assert "2 times" in answer.content.decode()


def test_what_a_thread_lists_is_narrowed_by_known_names_only(cast: Cast) -> None:
    thread = scene.start(cast.workspace, scene.make_agent())
    client, page = cast.client("operator"), reverse("thread", args=[thread])
    assert client.get(page, {"knid": "thread"}).status_code == 422
    assert client.get(page, {"kind": "thread", "tab": "state"}).status_code == 200


def test_strangers_learn_nothing_of_it(cast: Cast) -> None:
    assert cast.client("nobody").get("/?zzz=1").status_code == 403
