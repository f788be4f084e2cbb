"""Researcher and writer in one process: found, handed over, decided one by one, in the outbox."""

from __future__ import annotations

import csv
import email
import email.policy
import hashlib
from pathlib import Path
from typing import Any

import pytest

from gatepost import Rule, Terms
from gatepost_agents.outreach.agent import graph
from gatepost_agents.outreach.companies import DATA, SAMPLE
from gatepost_agents.outreach.mail import UnusableAddress, message
from gatepost_agents.outreach.writer import graph as writer
from tests.support.web_site import LOOPBACK, site
from workers.authoring.language_models import Reply, Request
from workers.testing.harness import Edit, Harness, Played, Reject

WISHES = {
    "looking_for": "bakeries in Hamburg that deliver",
    "offer": "Paper bags with your print",
    "sender": "Ada Lovelace",
    "reply_to": "ada@bags.example",
}
BAKERIES = ["Alder Bakery", "Millstone Bread", "Grain & Crust"]


@pytest.fixture(autouse=True)
def outbox(tmp_path: Path, settings: Any) -> Path:
    settings.GATEPOST_OUTBOX = tmp_path / "outbox"
    return tmp_path / "outbox"


def play(text: str = "", model: Any = None, decide: Any = None, **more: Any) -> tuple[Any, Played]:
    """(the researcher's thread, the writer's)."""
    stop_after = more.pop("stop_after", None)
    policy = more.pop("policy", None)
    harness = Harness(graph, agents=[writer], stop_after=stop_after, policy=policy)
    values = WISHES | more
    if text:
        raw = text.encode()
        sha = hashlib.sha256(raw).hexdigest()
        harness.plays.files[sha] = ("mine.csv", "text/csv", raw)
        ref = {"$artifact": sha, "name": "mine.csv", "media_type": "text/csv", "size": len(raw)}
        values["file"] = ref
    thread = harness.play(values, model=model, decide=decide)
    return thread, thread.successor or thread


def mails(outbox: Path) -> dict[str, Any]:
    """{address: the mail} of the outbox."""
    results = {}
    for path in sorted(outbox.glob("*.eml")):
        mail = email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
        results[mail["To"].addresses[0].addr_spec] = mail
    return results


@pytest.mark.requirement("A42")
def test_companies_are_found_researched_and_handed_to_the_writer(outbox: Path) -> None:
    first, second = play()
    assert (first.status, second.status) == ("succeeded", "waiting"), (first, second)
    assert [lead["company"] for lead in first.state["leads"]] == BAKERIES
    assert first.kinds.count("thread.handed_off") == 1
    assert second.state["leads"] == first.state["leads"]
    assert [a for a in second.activities if a.tool == "read_companies"] == []
    with (DATA / SAMPLE).open(newline="") as file:
        lines = list(csv.reader(file))
    for lead in first.state["leads"]:
        row = dict(zip(lines[0], lines[lead["line"] - 1], strict=True))
        assert row["company"] == lead["company"]
        for fact in lead["facts"]:
            assert row[fact["column"]] == fact["text"]
    assert not outbox.exists()


def test_each_mail_waits_for_a_person_and_only_what_is_approved_is_sent(outbox: Path) -> None:
    _, thread = play()
    bodies = []
    for number, company in enumerate(BAKERIES):
        (request,) = thread.open
        assert request.title == f"Mail {company}?"
        assert (request.tool, request.undo) == ("outreach.mail", "")
        assert "can’t be unsent" in request.description
        bodies.append(request.args["body"])
        thread.decide(Reject("not these") if number == 1 else "approve")
    assert thread.status == "succeeded", thread
    results = mails(outbox)
    assert set(results) == {"jonas@alder-bakery.example", "eva@grain-and-crust.example"}
    for body, mail in zip((bodies[0], bodies[2]), results.values(), strict=False):
        assert mail["Reply-To"] == "ada@bags.example"
        assert "Paper bags with your print" in mail.get_content()
        assert mail.get_content().count("\n") == body.count("\n")
    assert [one["company"] for one in thread.state["declined"]] == ["Millstone Bread"]
    assert "not these" in thread.state["declined"][0]["why"]
    assert thread.state["outcome"] == "2 of 3 mails sent."


def test_what_a_person_edits_is_what_is_sent(outbox: Path) -> None:
    _, thread = play(most=1)
    (request,) = thread.open
    thread.decide(Edit({**request.args, "body": "Short and kind."}))
    assert thread.status == "succeeded", thread
    (mail,) = mails(outbox).values()
    assert mail.get_content().strip() == "Short and kind."


def test_without_a_model_the_mail_is_a_template_of_what_the_line_says(outbox: Path) -> None:
    _, thread = play(most=1)
    (drafted,) = thread.state["drafts"]
    assert drafted["by"] == "template"
    assert "Sourdough bread baked at night" in drafted["body"]
    assert any("No model was asked" in thought for thought in thread.thoughts)


def test_a_model_words_the_middle_and_its_own_numbers_are_named(outbox: Path) -> None:
    requests: list[Request] = []

    def model(request: Request) -> Reply:
        requests.append(request)
        return Reply("Your bread is known in 4711 towns.", "m-1", 2, 2)

    harness = Harness(writer)
    lead = {
        "company": "Alder", "mail": "a@alder.example", "contact": "Jo", "line": 2, "why": ["x"],
        "facts": [{"field": "about", "column": "about", "text": "Bread"}],
    }  # fmt: skip
    thread = harness.play({**{k: WISHES[k] for k in ("offer", "sender")}, "leads": [lead]},
                          model=model)  # fmt: skip
    (drafted,) = thread.state["drafts"]
    assert (drafted["by"], drafted["strange"]) == ("model", ["4711"])
    body = "Dear Jo,\n\nYour bread is known in 4711 towns.\n\nKind regards\nAda Lovelace\n"
    assert drafted["body"] == body
    assert requests[0].parts[1]["facts"] == lead["facts"]
    assert any("do not have: 4711" in thought for thought in thread.thoughts)


def test_a_table_of_one_s_own_in_its_own_words(outbox: Path) -> None:
    text = (
        "Firma;Adresse;Branche;Ort;May contact\r\n"
        "Brot AG;brot@brot.example;Bakery;Hamburg;yes\r\n"
        "Nein AG;nein@nein.example;Bakery;Hamburg;no\r\n"
        "Ohne AG;;Bakery;Hamburg;yes\r\n"
        "Doppelt AG;BROT@brot.example;Bakery;Hamburg;yes\r\n"
        "Nie AG;nie@nie.example;Bakery;Hamburg;yes\r\n"
        "Holz AG;holz@holz.example;Timber;Kiel;yes\r\n"
    )
    first, _ = play(text, columns={"mail": "Adresse"}, never=["nie ag"])
    assert [lead["company"] for lead in first.state["leads"]] == ["Brot AG"]
    assert {one["company"]: one["why"] for one in first.state["set_aside"]} == {
        "Nein AG": "it does not want to be contacted",
        "Ohne AG": "it has no mail address that mail can go to",
        "Doppelt AG": "another line has the same mail address",
        "Nie AG": "you never write to it",
    }


def test_nobody_is_written_to_when_nobody_fits(outbox: Path) -> None:
    first, _ = play(looking_for="submarine dealers")
    assert (first.status, first.successor) == ("succeeded", None)
    assert first.state["outcome"] == "No company fits that can be written to."


@pytest.mark.parametrize("to", ["", "x", "a@b", "a@b.example\nBcc: c@d.example", "a b@c.example"])
def test_a_mail_goes_to_one_plain_address_only(to: str) -> None:
    with pytest.raises(UnusableAddress):
        message(to=to, name="", subject="", body="", sender="", reply_to="",
                at="2026-11-23T10:00:00+00:00", key="k")  # fmt: skip


def test_the_same_key_writes_the_same_bytes_and_no_header_is_injected() -> None:
    args: dict[str, str] = {
        "to": "a@b.example", "name": "A\r\nBcc: c@d.example", "subject": "Hi\nX-Evil: 1",
        "body": "B", "sender": "S\n", "reply_to": "", "at": "2026-11-23T10:00:00+00:00",
    }  # fmt: skip
    assert message(**args, key="k") == message(**args, key="k")
    assert message(**args, key="k")[0] != message(**args, key="other")[0]
    mail = email.message_from_bytes(message(**args, key="k")[1], policy=email.policy.default)
    assert not {"Bcc", "X-Evil"} & set(mail.keys())


def test_the_sample_is_made_up_and_says_so() -> None:
    with (DATA / SAMPLE).open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 30
    assert {row["note"] for row in rows} == {"made up"}
    assert all(not row["mail"] or row["mail"].endswith(".example") for row in rows)
    assert "sample" in SAMPLE


@pytest.mark.nightly
@pytest.mark.parametrize("n", range(1, 24, 3))
def test_a_lost_worker_finds_once_and_sends_once(outbox: Path, n: int) -> None:
    first, second = play(stop_after=n, decide="approve", most=2)
    for _ in range(4):
        if second.status == "waiting":
            second.decide("approve")
    assert (first.status, second.status) == ("succeeded", "succeeded"), (first, second)
    assert len(mails(outbox)) == len(list(outbox.iterdir())) == 2
    assert [a.attempts for a in first.activities if a.tool == "read_companies"] == [1]
    assert first.kinds.count("thread.handed_off") == 1


COMPANIES = (
    "company,mail,industry,city,website\n"
    "Elm Bakery,elm@elm.example,bakery,Hamburg,{website}\n"
    "Oak Bakery,oak@oak.example,bakery,Hamburg,\n"
)


@pytest.mark.requirement("F12")
def test_a_lead_is_looked_up_where_a_policy_lets_it(outbox: Path, settings: Any) -> None:
    settings.GATEPOST_WEB_NETWORKS = [LOOPBACK]
    with site() as there:
        website = there.put("/", "<p>Our bakeries in Hamburg deliver before six.</p><p>Imprint</p>")
        text = COMPANIES.format(website=website)

        def policy(facts: Any) -> Rule | None:
            is_it = facts.tool == "web.read" and facts.args["host"] == there.host
            return Rule("allow", "pages@1", "Pages", Terms()) if is_it else None

        first, second = play(text, policy=policy)
    elm, oak = first.state["leads"]
    [fact] = [fact for fact in elm["facts"] if fact["field"] == "website"]
    line = "Our bakeries in Hamburg deliver before six."
    assert fact == {"field": "website", "column": website, "text": line}
    assert [fact["field"] for fact in oak["facts"]] == ["company", "industry", "city"]
    [page] = first.state["pages"]
    assert (page["company"], page["url"], page["facts"]) == ("Elm Bakery", website, 1)
    assert "deliver before six" in second.state["drafts"][0]["body"]
    assert there.hits == {"/": 1}


@pytest.mark.requirement("F12")
def test_a_lead_that_is_not_looked_up_says_so(outbox: Path) -> None:
    first, second = play(COMPANIES.format(website="elm.example"))
    [page] = first.state["pages"]
    assert "Reading the web is off for this agent" in page["refused"]
    assert any("Elm Bakery was not looked up" in thought for thought in first.thoughts)
    assert len(second.state["drafts"]) == 2
