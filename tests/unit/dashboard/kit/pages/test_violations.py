"""Reports of blocked page content: small, few, and nothing of their text in the log."""

from __future__ import annotations

import json
from typing import Any

import pytest
import structlog
from django.conf import settings
from django.test import Client
from django.urls import reverse

from tests.support.cast import Cast

pytestmark = pytest.mark.django_db
OLD, NEW = "application/csp-report", "application/reports+json"
SECRET = "hush-0123456789"


def old(**changes: Any) -> dict[str, Any]:
    """A report as Firefox and older browsers send it."""
    return {
        "csp-report": {
            "document-uri": f"https://gate.example/welcome/?sesame={SECRET}",
            "effective-directive": "script-src-elem",
            "blocked-uri": f"https://evil.example/x.js?stolen={SECRET}",
            "script-sample": f"alert('{SECRET}')",
            "referrer": f"https://mail.example/{SECRET}",
        }
        | changes
    }


def send(body: Any, kind: str = OLD, client: Client | None = None) -> tuple[int, list[Any]]:
    """The status of the answer, and what the log got."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    with structlog.testing.capture_logs() as lines:
        answer = (client or Client(enforce_csrf_checks=True)).post(
            reverse("violations"), raw, content_type=kind
        )
    return answer.status_code, [line for line in lines if line["event"].startswith("page_policy")]


def test_the_policy_of_every_page_names_the_address() -> None:
    policy = Client().get("/login/").headers["Content-Security-Policy"]
    assert f"report-uri {reverse('violations')}" in policy
    assert settings.SECURE_CSP["report-uri"] == [reverse("violations")]


@pytest.mark.parametrize("known", [False, True])
def test_a_report_is_logged_without_its_texts(cast: Cast, known: bool) -> None:
    """Also without a login: a page before it can be attacked, too."""
    status, lines = send(old(), client=cast.client("operator") if known else None)
    assert status == 204
    (line,) = lines
    assert SECRET not in json.dumps(line, default=str)
    assert line["directive"] == "script-src-elem"
    assert (line["blocked"], line["page"]) == ("https://evil.example", "/welcome/")


def test_the_newer_form_is_read_and_its_length_bounded() -> None:
    one = {
        "type": "csp-violation",
        "body": {
            "documentURL": f"https://gate.example/threads/?q={SECRET}",
            "effectiveDirective": "style-src-attr",
            "blockedURL": "inline",
            "sample": SECRET,
        },
    }
    status, lines = send([one, {"type": "deprecation", "body": {}}, *[one] * 20], NEW)
    assert status == 204
    assert len(lines) == 9  # ten are looked at
    assert {line["blocked"] for line in lines} == {"inline"}
    assert SECRET not in json.dumps(lines, default=str)


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b" ", OLD, 400),
        (b"no json", OLD, 400),
        (b"[" * 5000, OLD, 400),
        (b'{"csp-report": {"effective-directive": "a", "effective-directive": "b"}}', OLD, 400),
        ([1, None, "x"], NEW, 400),
        ({"csp-report": {"effective-directive": "'; DROP"}}, OLD, 400),
        ({"csp-report": {"effective-directive": 7}}, OLD, 400),
        ({"csp-report": [1]}, OLD, 400),
        (old(filler="x" * 9000), OLD, 413),
        (old(), "text/html", 415),
        (old(), "multipart/form-data; boundary=x", 415),
    ],
)
def test_what_is_no_report_is_refused_and_not_logged(body: Any, kind: str, status: int) -> None:
    assert send(body, kind) == (status, [])


@pytest.mark.parametrize(
    ("blocked", "shown"),
    [
        ("data", "data"),
        ("", "inline"),
        (None, "unknown"),
        ("data:text/html;base64,AAAA", "data:"),
        (f"javascript:alert('{SECRET}')", "javascript:"),
        (f"https://user:{SECRET}@evil.example/", "https://evil.example"),
        ("https://[bad", "unknown"),
        (f"not an address {SECRET}", "unknown"),
        ("https://a\nb.example/", "https://ab.example"),
    ],
)
def test_of_what_was_blocked_only_the_origin_is_logged(blocked: Any, shown: str) -> None:
    _, (line,) = send(old(**{"blocked-uri": blocked}))
    assert line["blocked"] == shown


def test_nobody_reads_or_fills_the_log(settings: Any) -> None:
    settings.GATEPOST_VIOLATIONS_PER_ADDRESS = 3
    client = Client(REMOTE_ADDR="198.51.100.77")
    statuses = [send(old(), client=client)[0] for _ in range(6)]
    assert statuses == [204] * 3 + [429] * 3
    assert send(old(), client=client)[1] == []
    answer = client.post(reverse("violations"), json.dumps(old()), content_type=OLD)
    assert 0 < int(answer.headers["Retry-After"]) <= 60
    assert Client().get(reverse("violations")).status_code == 405
