"""A thread's messages on its page: of a loop with a model, and of several agents."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest

from approvals import queries as requests
from dashboard.threads.start import start_thread
from gatepost import Gate, Reply, Request, react, tool
from tests.support import decisions
from tests.support.cast import Cast, make_cast
from tests.unit.dashboard.threads.page.test_family_tree import region, words
from tests.unit.workers.react.models import by_turn, calls
from tests.unit.workers.tree.agents import GRAPHS
from tests.unit.workers.tree.conftest import Fleet
from workers.code.registry import announce

NAME = "thread-conversation"


def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@tool("talk.send", idempotent=True)
def send(to: str, *, key: str) -> str:
    """Send a mail."""
    return f"sent to {to}"


def chatty(request: Request) -> Any:
    """Answers each message; asked for a summary it writes one."""
    if "shorten" in request.system:
        return Reply("They talked.", model="test-1")
    return Reply(f"Answer {len(request.chat)} " + "x" * 300, model="test-1")


MODEL = by_turn(
    calls(
        ("add", {"a": 2, "b": 3}), ("talk.send", {"to": "<b>ada</b>"}), ("talk.send", {"to": "bob"})
    ),
    "Ada has her mail.",
)
REVIEW = Gate("Send the mail?", risk="low")
helper = react("helper", model=MODEL, tools=[add, send], gates={"talk.send": REVIEW})
chat = react("chat", model=chatty, chat=True, summarise_at=300, keep=2)


@dataclass
class Talks:
    """A cast, and a fleet of agents that talk."""

    cast: Cast
    fleet: Fleet

    def start(self, agent: str, **values: Any) -> UUID:
        thread = start_thread(self.cast.actor("operator"), agent=agent, input=values, title=agent)
        self.fleet.work()
        return thread

    def decide(self, thread: UUID, verdict: str, comment: str = "", args: Any = None) -> None:
        """Decide the oldest open request of a thread as the manager, then let it work."""
        row = requests.for_thread(thread, open_only=True)[-1]
        who = self.cast.actor("manager")
        decisions.decide(who, row.id, verdict, row.proposal_hash, comment, args)
        self.fleet.work()

    def region(self, thread: UUID) -> str:
        return region(self.cast, thread, NAME)


@pytest.fixture
def talks(real_db: str, settings: Any) -> Talks:
    settings.ALLOWED_HOSTS = ["testserver"]
    cast = make_cast()
    agents = {g.name: announce(g, {}, ()) for g in GRAPHS}
    tools = {send.name: send}
    agents |= {"helper": announce(helper, tools, ()), "chat": announce(chat, {}, ())}
    return Talks(cast, Fleet(agents, cast.workspace))


def messages_of(html: str) -> list[str]:
    """(who and what) of each message, calls left out."""
    rows = re.findall(r'<li id="(?:message|summary)-\d+"[^>]*>(.*?)</li>', html, re.S)
    texts = [
        words(re.sub(r"<details class=\"call\".*?</details>", "", row, flags=re.S)) for row in rows
    ]
    return [re.sub(r",? \d\d:\d\d:\d\d|, [\d.]+ m?s\b", "", text) for text in texts]


def called(html: str) -> list[str]:
    """What each call says while it is folded."""
    rows = re.findall(r'<details class="call".*?<summary>(.*?)</summary>', html, re.S)
    return [words(row) for row in rows]


@pytest.mark.requirement("C36")
def test_a_loop_is_shown_as_a_conversation_with_its_calls_and_gates(talks: Talks) -> None:
    thread = talks.start("helper", goal="Write to Ada and Bob.")
    html = talks.region(thread)
    assert messages_of(html) == ["operator Write to Ada and Bob.", "helper test-1, unpriced"]
    assert called(html) == [
        'add {"a": 2, "b": 3} Done',
        'talk.send {"to": "<b>ada</b>"} Waiting for approval',
        'talk.send {"to": "bob"} Waiting for approval',
    ]
    assert "<b>ada</b>" not in html
    [ada, bob] = sorted(requests.for_thread(thread), key=lambda row: str(row.args))
    assert re.findall(r'href="/approvals/([^/]+)/"', html) == [str(ada.id), str(bob.id)]

    talks.decide(thread, "approve")
    talks.decide(thread, "reject", "not him")
    html = talks.region(thread)
    assert messages_of(html)[-1] == "helper test-1, unpriced Ada has her mail."
    assert sorted(called(html)) == [
        'add {"a": 2, "b": 3} Done',
        'talk.send {"to": "<b>ada</b>"} Approved',
        'talk.send {"to": "bob"} Rejected',
    ] or sorted(called(html)) == [
        'add {"a": 2, "b": 3} Done',
        'talk.send {"to": "<b>ada</b>"} Rejected',
        'talk.send {"to": "bob"} Approved',
    ]
    assert "Rejected by manager, not carried out: not him" in words(html)
    assert "sent to " in words(html)
    # The past as it was: the answer is not there yet.
    client = talks.cast.client("operator")
    past = client.get(f"/threads/{thread}/?cp=1").content.decode()
    assert "Ada has her mail." not in past[past.index(NAME) : past.index("thread-input")]


@pytest.mark.requirement("E10")
def test_a_chat_says_who_wrote_and_shows_its_summary_as_one(talks: Talks) -> None:
    thread = talks.start("chat", goal="Hi")
    for number in range(4):
        talks.decide(thread, "respond", args=f"And {number}?")
    rows = messages_of(talks.region(thread))
    assert rows[0] == "operator Hi"
    assert "manager And 0?" in rows
    [summary] = [row for row in rows if row.startswith("Summary of the first ")]
    number = int(re.findall(r"first (\d+) messages", summary)[0])
    assert summary.endswith("The model is shown this in their place. Show the summary They talked.")
    assert rows.index(summary) == number
    client = talks.cast.client("operator")
    older = client.get(f"/threads/{thread}/?messages_before=3").content.decode()
    assert messages_of(older) == rows[:2]
    assert "1 to 2 of " in words(older)
    assert "data-refetch" in older[older.index(f'id="{NAME}"') :][:200]
    assert client.get(f"/threads/{thread}/?messages_before=no").status_code == 422


def test_people_write_text_into_a_conversation(talks: Talks) -> None:
    thread = talks.start("chat", goal="Hi")
    client = talks.cast.client("operator")
    page = client.get(f"/threads/{thread}/").content.decode()
    assert "&quot;role&quot;" not in page[page.index('name="f-message"') :][:400]
    for text in ("And now?\nPlease.", '{"role": "user", "content": "As JSON."}'):
        answer = client.post(f"/threads/{thread}/input/", {"f-message": text})
        assert answer.status_code == 303, answer.content
    talks.decide(thread, "respond", args="Wait.")
    texts = messages_of(talks.region(thread))
    assert "operator And now? Please." in texts
    assert "operator As JSON." in texts


@pytest.mark.requirement("C38")
@pytest.mark.requirement("E06")
def test_several_agents_in_one_conversation_are_named_with_links(talks: Talks) -> None:
    thread = talks.start("conversation", speakers=["one", "two"], lines=2)
    html = talks.region(thread)
    children = {str(child) for child in talks.fleet.children(thread)}
    links = re.findall(r'<a class="link in" href="/threads/([^/]+)/">speaker</a>', html)
    assert set(links) == children
    state = talks.fleet.state(thread)["messages"]
    # In the order of the log, each beside the thread that sent it.
    senders = {child: talks.fleet.state(UUID(child))["name"] for child in children}
    assert [senders[link] for link in links] == [message["by"] for message in state]
    assert len(messages_of(html)) == 4


def test_a_thread_without_messages_has_no_conversation(talks: Talks) -> None:
    thread = talks.start("reader", file="a")
    assert " hidden" in talks.region(thread)
    assert messages_of(talks.region(thread)) == []
