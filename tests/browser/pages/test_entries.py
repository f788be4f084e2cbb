"""Who sees what: the auditor everything, the stranger nothing, the anonymous the sign-in page."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import People
from tests.browser.house import House
from tests.browser.screens import Screen
from tests.faults.bench import Case

pytestmark = pytest.mark.browser
# Verifying changes nothing of a thread: auditors most of all may ask for it.
BUTTON = "button[form]:not([formaction$='/verify/'])"
CHANGES = f"{BUTTON}, button[data-live-action], a[data-live-action], form.form-card button"


def enabled(screen: Screen) -> list[str]:
    """Visible controls that would change something, by their text."""
    result = screen.one(CHANGES).filter(visible=True)
    off = "[aria-disabled=true], [disabled]"
    texts: list[str] = result.evaluate_all(
        f"all => all.filter(one => !one.matches('{off}')).map(one => one.textContent.trim())"
    )
    return texts


def pages(case: Case) -> dict[str, str]:
    """Every page that only shows."""
    return {
        "board": "/",
        "thread": f"/threads/{case.id}/",
        "past": f"/threads/{case.id}/?cp=1",
        "anatomy": f"/threads/{case.id}/?tab=anatomy",
        "inbox": "/approvals/",
        "approval": f"/approvals/{case.open().id}/",
    }


def forms(case: Case) -> dict[str, str]:
    """Every page that changes something when it is sent."""
    return {
        "start": "/threads/new/",
        "fork": f"/threads/{case.id}/fork/",
        "rollback": f"/threads/{case.id}/rollback/",
        "edit": f"/threads/{case.id}/edit/",
        "cancel": f"/threads/{case.id}/cancel/",
    }


def files(case: Case) -> list[str]:
    """What the thread keeps outside of its state."""
    return [f"/artifacts/{one['$artifact']}/" for one in case.state()["chart"].values()]


def post(screen: Screen, path: str, **form: str) -> Any:
    """Send a form by hand with the token that the browser has."""
    tokens = {one["name"]: one["value"] for one in screen.context.cookies()}
    form["csrfmiddlewaretoken"] = tokens["csrftoken"]
    return screen.page.request.post(screen.base + path, form=form, max_redirects=0)


@pytest.mark.requirement("D03")
def test_an_auditor_sees_everything_and_can_press_nothing(
    house: House, people: People, at_gate: Case
) -> None:
    operator, auditor = people("operator"), people("auditor")
    for name, path in pages(at_gate).items():
        operator.open(path)
        auditor.open(path)
        assert auditor.one("h1").inner_text() == operator.one("h1").inner_text(), name
        assert enabled(auditor) == [], name
    operator.open(f"/threads/{at_gate.id}/")
    assert enabled(operator) == ["Pause", "Edit…", "Fork…", "Roll back…", "Cancel…"]
    auditor.open(f"/threads/{at_gate.id}/")
    expect(auditor.one("#thread-events")).to_contain_text("approval.requested")
    for path in files(at_gate):
        assert auditor.page.request.get(auditor.base + path).status == 200

    # The entry points behind the buttons are closed too.
    auditor.allow("status of 403")
    for path in forms(at_gate).values():
        auditor.open(path)
        expect(auditor.one(".error-page")).to_have_attribute("data-status", "403")
    before, row = at_gate.row(), at_gate.open()
    for verb in ("pause", "resume", "retry", "cancel"):
        assert post(auditor, f"/threads/{at_gate.id}/{verb}/").status == 403
    proposal = {"verdict": "approve", "proposal_hash": row.proposal_hash}
    for screen in (auditor, operator):
        assert post(screen, f"/approvals/{row.id}/decide/", **proposal).status == 403
    assert (at_gate.row(), at_gate.open()) == (before, row)


def test_a_stranger_sees_nothing(house: House, people: People, at_gate: Case) -> None:
    stranger = people("stranger")
    shown = pages(at_gate)
    for name in ("board", "inbox"):
        stranger.open(shown[name])
        expect(stranger.one("[data-row]")).to_have_count(0)
        assert "Weather" not in stranger.one("body").inner_text()
    stranger.allow("status of 404")
    hidden = [shown["thread"], shown["past"], shown["approval"], *files(at_gate)]
    for path in (*hidden, *(path for path in forms(at_gate).values() if path != "/threads/new/")):
        answer = stranger.page.request.get(stranger.base + path)
        assert answer.status == 404, path
        assert "Weather" not in answer.text()
    stranger.open(shown["thread"])
    expect(stranger.one(".error-page")).to_have_attribute("data-status", "404")
    for verb in ("pause", "cancel"):
        assert post(stranger, f"/threads/{at_gate.id}/{verb}/").status == 404


def test_the_anonymous_are_sent_to_the_sign_in_page(
    house: House, people: People, at_gate: Case
) -> None:
    nobody = people("")
    paths = [*pages(at_gate).values(), *forms(at_gate).values(), *files(at_gate), "/api/docs/"]
    for path in paths:
        answer = nobody.page.request.get(nobody.base + path, max_redirects=0)
        assert answer.status == 302, path
        assert answer.headers["location"] == f"/login/?next={quote(path)}", path
    nobody.open(f"/approvals/{at_gate.open().id}/")
    expect(nobody.one("h1")).to_have_text("Sign in to Gatepost")
    # A socket says nothing to whoever is not signed in.
    message = nobody.page.evaluate(
        """url => new Promise((done) => {
            const said = [], socket = new WebSocket(url);
            socket.onmessage = (message) => said.push(JSON.parse(message.data).type);
            socket.onclose = (event) => done([...said, event.code]);
        })""",
        nobody.base.replace("http", "ws") + "/ws/live/",
    )
    assert message == ["closed", 4401]
