"""The story that the pictures show: people who use the API of a fresh product."""

from __future__ import annotations

import re
import time
from typing import Any


class Person:
    """Somebody who is signed in and uses the API."""

    def __init__(self, base: str, name: str, password: str) -> None:
        import httpx

        self.http = httpx.Client(base_url=base, timeout=60)
        page = self.http.get("/login/").text
        token = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page)[0]
        form = {"username": name, "password": password, "csrfmiddlewaretoken": token}
        answer = self.http.post("/login/", data=form)
        assert answer.status_code == 302, answer.text
        self.http.headers["X-CSRFToken"] = self.http.cookies["csrftoken"]

    def get(self, path: str) -> Any:
        """What the API answers."""
        answer = self.http.get(f"/api/v1{path}")
        assert answer.is_success, answer.text
        return answer.json()

    def post(self, path: str, **body: Any) -> Any:
        """Ask the API for a change."""
        answer = self.http.post(f"/api/v1{path}", json=body)
        assert answer.is_success, (path, answer.text)
        return answer.json()

    def upload(self, name: str, content: bytes) -> Any:
        """Store a table."""
        answer = self.http.post("/api/v1/artifacts/", files={"file": (name, content, "text/csv")})
        assert answer.is_success, answer.text
        return answer.json()

    def start(self, title: str, pause_at: str = "", **value: Any) -> str:
        """Start the research agent; the thread's id."""
        value.setdefault("question", title)
        return self.start_agent("market-research", title, pause_at=pause_at, input=value)

    def start_agent(self, agent: str, title: str, **more: Any) -> str:
        """Start an agent; the thread's id."""
        return str(self.post("/threads/", agent=agent, title=title, **more)["id"])

    def wait(self, thread: str, status: str) -> None:
        """Return when the thread has come that far."""
        deadline = time.monotonic() + 120
        while (result := self.get(f"/threads/{thread}/")["status"]) != status:
            assert time.monotonic() < deadline, f"{thread} is {result}, not {status}"
            time.sleep(0.1)

    def checkpoint(self, thread: str, number: int) -> str:
        """The id of a checkpoint of this number."""
        rows = self.get(f"/threads/{thread}/checkpoints/")["results"]
        return str(next(row["id"] for row in rows if row["number"] == number))

    def decide(self, thread: str, verdict: str, comment: str) -> str:
        """Decide what the thread asks; the approval's id."""
        rows = self.get("/approvals/?status=pending")["results"]
        row = next(row for row in rows if row["thread"] == thread)
        payload = {"verdict": verdict, "comment": comment, "proposal_hash": row["proposal_hash"]}
        self.post(f"/approvals/{row['id']}/decide/", **payload)
        return str(row["id"])


def play_story(operator: Person, manager: Person) -> dict[str, str]:
    """Let everything happen that the pictures show; the ids they need."""
    from tests.browser.tables import shop_table

    seeded = {row["name"]: row["id"] for row in operator.get("/threads/")["results"]}
    gate, published = seeded["demo-flights"], seeded["demo-weather"]
    for thread in (gate, published):
        operator.wait(thread, "waiting")
    sound = "Figures checked against the source."
    ids = {"gate": gate, "published": published}
    ids["decided"] = manager.decide(published, "approve", sound)

    first = operator.upload("sales-2025-q1.csv", shop_table(12_000))
    sold = {"question": "Which shop has the highest price?", "file": first}
    ids["rolled_back"] = sales = operator.start("Sales of the first quarter", **sold)
    broken = operator.upload("sales-2025-q2.csv", shop_table(12_000, broken=900))
    ids["failed"] = failed = operator.start(
        "Prices of the second quarter", file=broken, measure="price"
    )
    refused = operator.start(
        "Does the wind keep planes on the ground?", dataset="weather", measure="wind_gust"
    )
    paused = operator.start("How far can one see in fog?", "draw", dataset="weather")

    operator.wait(sales, "waiting")
    manager.decide(sales, "approve", "Goes to the board meeting.")
    operator.wait(sales, "succeeded")
    target = manager.checkpoint(sales, 1)
    reason = "Weight was meant, not price."
    manager.post(f"/threads/{sales}/rollback/", checkpoint=target, reason=reason)

    operator.wait(refused, "waiting")
    manager.decide(refused, "reject", "Gusts are missing in too many rows; use wind speed.")
    operator.wait(published, "succeeded")
    target = manager.checkpoint(published, 1)
    changes = {"measure": "wind_speed", "question": "Where does it blow?"}
    title = "How windy is it instead?"
    fork = manager.post(
        f"/threads/{published}/fork/", checkpoint=target, changes=changes, title=title
    )["id"]
    for thread, status in {
        fork: "waiting",
        refused: "succeeded",
        sales: "paused",
        paused: "paused",
        failed: "failed",
    }.items():
        operator.wait(thread, status)
    rows = manager.get("/approvals/?status=pending")["results"]
    ids["open"] = next(row["id"] for row in rows if row["thread"] == gate)
    remember(operator)
    return ids


def remember(operator: Person) -> None:
    """Put some texts into memory; one came from outside and is corrected."""
    research = {"scope": "agent", "owner": "market-research"}
    operator.post("/memories/", text="Reports for the board give euros, without cents.", **research)
    operator.post("/memories/", text="Storms in October delayed most flights of 2024.", **research)
    operator.post(
        "/memories/", text="Answer in British English.", kind="conversation", scope="workspace"
    )
    text = "The airport publishes its delays on Mondays."
    more = {"outside": True, "kind": "document", "metadata": {"page": "airport.example/delays"}}
    memory = str(operator.post("/memories/", text=text, **more, **research)["id"])
    operator.post(
        f"/memories/{memory}/correct/",
        text="The airport publishes its delays on Tuesdays.",
        reason="The page says so since September.",
    )


def start_conversation_and_case(operator: Person) -> dict[str, str]:
    """Start the threads of the pictures of a conversation and an encrypted channel; their ids."""
    goal = "My kettle (order 7) arrived broken. I would like my money back."
    talk = operator.start_agent("support", "My kettle arrived broken", input={"goal": goal})
    operator.wait(talk, "waiting")
    value = {"patient": "Ada Byron", "diagnosis": "Iron deficiency. Second blood test on 3 March."}
    case = operator.start_agent("cases", "Blood test of Ada Byron", input=value)
    operator.wait(case, "succeeded")
    return {"conversation": talk, "case": case}


def fleet_addresses(started: Any, people: dict[str, Person]) -> dict[str, str]:
    """Wait until the demo's people have taken their steps; the ids that the pictures need.

    Somebody asks a model as well, so that there is spending to show.
    """
    operator, admin = people["operator"], people["admin"]
    for goal in ("Where is order 7?", "My kettle is broken", "I would like my money back"):
        operator.start_agent("support", goal, input={"goal": goal}, labels={"team": "support"})
    deadline = time.monotonic() + 600
    while "all taken" not in started.text:
        assert time.monotonic() < deadline, started.text
        time.sleep(1)
    agents = ("payments", "market-research")
    rows = [row for agent in agents for row in operator.get(f"/threads/?agent={agent}")["results"]]
    ids = {row["name"]: row["id"] for row in rows if row["name"]}
    forks = operator.get("/threads/?q=has:fork")["results"]
    ids["fork"] = next(row["id"] for row in forks if row["title"].startswith("How windy"))
    admin.post("/budgets/", scope="agent", name="support", max_cost="0.00033")
    while not any(row["agent"] == "payments" for row in _incidents(operator)):
        time.sleep(1)
    failed = (row for row in _incidents(operator) if row["kind"] == "thread.failed")
    ids["incident"] = next(row["id"] for row in failed if row["agent"] == "payments")
    return ids


def _incidents(operator: Person) -> list[Any]:
    results: list[Any] = operator.get("/incidents/")["results"]
    return results


def keep_busy(operator: Person, board: Any) -> None:
    """Threads that are worked on and one that waits its turn, pushed to the open board."""
    titles = ("Delays by carrier", "Delays by airport", "Delays by month")
    for title in titles:
        operator.start(title, dataset="flights", measure="dep_delay")
    board.locator("tr[data-status=running]").nth(1).wait_for()
