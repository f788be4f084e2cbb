"""Takes the pictures of this folder anew from the working product: `make pictures`.

`python docs/pictures/make.py family stream` takes some of them and leaves the others;
`--fleet` stands for all that show the fleet of `make demo`.

Starts everything on a fresh data folder as `make up` does, lets people and agents make a story of
threads in many states, and takes each page in both themes, wide and on a phone. `made.json` keeps
the title that each picture showed and a hash of the templates and styles it was made from.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT))

TEMPLATES = ROOT / "templates"
STATIC = ROOT / "dashboard" / "static"
MADE = HERE / "made.json"
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
WIDTHS = {1440: 900, 390: 844}
TALLEST = {1440: 1900, 390: 1900}  # pixels of the page; what lies below is left out
COLOURS = 192
REFERENCE = re.compile(
    r"""\{%\s*(?:extends|include)\s+"([^"]+)"|\{%\s*static\s+'([^']+\.(?:css|svg))'"""
)


@dataclass(frozen=True)
class Shot:
    """A page: who looks at it, where it is, the template it comes from, the title it has.

    `at` names a part of it: then the picture is one screen from there on. `press` is a button that
    is pressed first.
    """

    who: str
    path: str
    template: str
    title: str
    at: str = ""
    press: str = ""


SHOTS = {
    "login": Shot("", "/login/", "registration/login.html", "Sign in"),
    "start": Shot("operator", "/threads/new/", "thread/new.html", "Start a thread"),
    "thread": Shot("operator", "/threads/{gate}/", "thread/detail.html", "What delays flights"),
    "thread-finished": Shot(
        "operator", "/threads/{published}/", "thread/detail.html", "How cold does it get"
    ),
    "thread-past": Shot(
        "operator", "/threads/{published}/?cp=3", "thread/detail.html", "How cold does it get"
    ),
    "thread-failed": Shot(
        "operator", "/threads/{failed}/", "thread/detail.html", "Prices of the second quarter"
    ),
    "thread-rolled-back": Shot(
        "operator", "/threads/{rolled_back}/", "thread/detail.html", "Sales of the first quarter"
    ),
    "family": Shot(
        "operator", "/threads/{family}/", "thread/detail.html", "All packages", "#thread-family"
    ),
    "conversation": Shot(
        "manager",
        "/threads/{conversation}/",
        "thread/detail.html",
        "My kettle",
        "#thread-conversation",
    ),
    "stream": Shot(
        "operator", "/threads/{stream}/", "thread/detail.html", "How long", "#thread-progress"
    ),
    "inbox": Shot("manager", "/approvals/", "inbox/list.html", "Approvals"),
    "approval": Shot(
        "manager", "/approvals/{open}/", "approval/detail.html", "Publish this report?"
    ),
    "approval-decided": Shot(
        "manager", "/approvals/{decided}/", "approval/detail.html", "Publish this report?"
    ),
    "fork": Shot(
        "manager",
        "/threads/{published}/fork/?checkpoint=1",
        "thread/actions/fork.html",
        "Fork How cold",
    ),
    "rollback": Shot(
        "manager",
        "/threads/{published}/rollback/?checkpoint=1",
        "thread/actions/rollback.html",
        "Roll back How cold",
    ),
    "edit": Shot("operator", "/threads/{failed}/edit/", "thread/actions/edit.html", "Edit Prices"),
    "reveal": Shot(
        "auditor",
        "/threads/{case}/reveal/?channel=diagnosis",
        "thread/reveal.html",
        "diagnosis of",
        press="Show the value",
    ),
    "admin": Shot("auditor", "/admin/", "", "Audit records"),
    "api-docs": Shot("operator", "/api/docs/", "drf_spectacular/swagger_ui.html", "Gatepost API"),
    "board": Shot("operator", "/", "thread/list.html", "Board"),
}
# Pages of the fleet that `make demo` fills, which is another product than that of the pages above.
FLEET = {
    "fleet": Shot("operator", "/", "thread/list.html", "Board"),
    "overview": Shot("operator", "/overview/?period=24h", "overview/page.html", "Overview"),
    "budgets": Shot("admin", "/overview/budgets/", "overview/budgets.html", "Budgets"),
    "compare": Shot(
        "operator",
        "/threads/compare/?left={demo-weather}&right={fork}",
        "thread/compare.html",
        "Compare",
    ),
    "incidents": Shot("operator", "/incidents/", "incident/list.html", "Incidents"),
    "incident": Shot("operator", "/incidents/{incident}/", "incident/detail.html", "Failed"),
    "breaker": Shot(
        "operator", "/breakers/trip/?agent=payments", "breaker/trip.html", "Stop threads"
    ),
    "many": Shot(
        "operator", "/threads/many/?agent=payments&status=failed", "thread/many.html", "Act on"
    ),
    "skip": Shot(
        "operator", "/threads/{demo-broken-1}/skip/", "thread/actions/skip.html", "Skip a node"
    ),
    "record-search": Shot(
        "auditor",
        "/admin/search/?payee=Alpenblick&kind=approval",
        "records/search.html",
        "Search the record",
    ),
    "erase": Shot("admin", "/threads/{demo-weather}/erase/", "erasure/request.html", "Erase"),
}
SHOTS |= FLEET


OF_MANY = frozenset({"family", "conversation", "stream", "reveal"})
# Agents beside those that ship: {module: the page that shows its code}.
SHOWN = {"support": "tool-loop", "cases": "encrypted-channels"}
ANSWERS: tuple[dict[str, Any], ...] = (
    {"text": "Let me look at your order.", "calls": (("c1", "find_order", '{"number": 7}'),)},
    {
        "text": "I am sorry: order 7 is a kettle that was broken on arrival. I will ask for a "
        "refund of the 40.00 that you paid.",
        "calls": (("c2", "refund", '{"order": 7, "amount": "40.00"}'),),
    },
    {
        "text": "A refund has three steps. First I look at the order, so that the amount is what "
        "was paid. Then a colleague approves the refund; most are approved within an hour. The "
        "bank books the money after that, which takes up to three working days. You get a message "
        "with each step, and you can ask me at any time where it stands.",
        "pause": 0.4,
    },
)
# Started when their pictures are taken: (agent, title, input).
AT_WORK: dict[str, tuple[str, str, dict[str, Any]]] = {
    "family": ("dependency-audit", "All packages of the shop", {"at_most": 2}),
    "stream": ("support", "How long does a refund take?", {"goal": "How long does a refund take?"}),
}
# What is waited for then, so that there is something to see.
ENOUGH = {
    "#thread-family": "() => document.querySelector('#thread-family [data-count=succeeded]')",
    "#thread-progress": "() => (document.querySelector('[data-stream-text]')?.textContent ?? '')"
    ".length > 120",
}
SCROLL_TO = """(at) => {
  const top = document.querySelector(at).getBoundingClientRect().top + scrollY;
  const bar = document.querySelector("header")?.offsetHeight ?? 0;
  scrollTo(0, innerWidth < 500 ? top - bar - 12 : 0);
}"""


# ---- what a picture was made from ---------------------------------------------------------------


def sources(template: str) -> list[Path]:
    """The files that decide how a template's page looks: templates it uses, and styles."""
    results: dict[Path, None] = {}
    waiting = [TEMPLATES / template] if template else []
    while waiting:
        path = waiting.pop()
        if path in results:
            continue
        results[path] = None
        if path.suffix != ".html" or not path.exists():  # Django's own are not ours to watch
            continue
        for used, static in REFERENCE.findall(path.read_text()):
            waiting.append(TEMPLATES / used if used else STATIC / static)
    return sorted(path for path in results if path.exists())


def made_from(template: str) -> str:
    """A hash that changes with any of the sources."""
    digest = hashlib.sha256()
    for path in sources(template):
        digest.update(f"{path.relative_to(ROOT)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def pictures() -> Iterator[tuple[str, str, int, Path]]:
    """(page, theme, width, file) of every picture that should be there."""
    for page in SHOTS:
        for theme in THEMES:
            for width in WIDTHS:
                yield page, theme, width, HERE / f"{page}-{theme}-{width}.png"


# ---- the story ----------------------------------------------------------------------------------


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


def tell(operator: Person, manager: Person) -> dict[str, str]:
    """Let everything happen that the pictures show; the ids they need."""
    from tests.acceptance.tables import shop_table

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
    return ids


def tell_of_many(operator: Person) -> dict[str, str]:
    """What the pictures of a conversation and an encrypted channel show; the ids they need."""
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


# ---- taking them --------------------------------------------------------------------------------


def small(png: bytes) -> bytes:
    """The same picture with a palette."""
    from PIL import Image

    with Image.open(io.BytesIO(png)) as image:
        plain = image.convert("RGB")
        few = plain.quantize(
            COLOURS, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE
        )
    out = io.BytesIO()
    few.save(out, "PNG", optimize=True)
    return out.getvalue()


class Camera:
    """One window of each person for each width."""

    def __init__(self, browser: Any, base: str, people: dict[str, Person]) -> None:
        self.browser, self.base, self.people = browser, base, people
        self.windows: dict[tuple[str, int, bool], Any] = {}
        self.faults: list[str] = []

    def window(self, who: str, width: int, fine: bool) -> Any:
        """The page of a person; on a phone with all its pixels, or a small picture."""
        if (who, width, fine) not in self.windows:
            phone = width < 500
            context = self.browser.new_context(
                viewport={"width": width, "height": WIDTHS[width]},
                device_scale_factor=2 if phone and fine else 1,
                is_mobile=phone,
                has_touch=phone,
                reduced_motion="reduce",
            )
            if who:
                cookies = self.people[who].http.cookies.items()
                context.add_cookies(
                    [{"name": name, "value": value, "url": self.base} for name, value in cookies]
                )
            self.windows[who, width, fine] = context.new_page()
        return self.windows[who, width, fine]

    def open(self, shot: Shot, path: str, width: int) -> Any:
        """Show a page of the product that is whole; an error page is none."""
        page = self.window(shot.who, width, fine=not shot.at)
        page.set_viewport_size({"width": width, "height": WIDTHS[width]})
        answer = page.goto(self.base + path)
        assert answer.status == 200, f"{path}: {answer.status}"
        assert page.locator(".error-page").count() == 0, f"{path}: an error page"
        if page.locator("#live-badge").count():
            page.wait_for_selector("#live-badge[data-state=live]")
        elif not shot.template.startswith("registration"):
            page.wait_for_load_state("networkidle")
        for image in page.locator("img").all():
            image.scroll_into_view_if_needed()  # it loads when it is seen
            image.evaluate("image => image.decode()")
        if shot.press:
            page.get_by_role("button", name=shot.press).click()
            page.wait_for_load_state("networkidle")
        page.evaluate("window.scrollTo(0, 0)")
        if shot.at in ENOUGH:
            page.wait_for_function(ENOUGH[shot.at], timeout=60_000)
        if shot.at:
            page.evaluate(SCROLL_TO, shot.at)
        return page

    def take(self, page: Any, width: int, *, whole: bool) -> dict[str, bytes]:
        """{theme: picture} of the page that is open, as tall as it is or as it stands."""
        # Not "the full page": bars at the lower edge would then lie across its middle.
        for _ in range(2 if whole else 0):
            tall = page.evaluate("document.documentElement.scrollHeight")
            height = min(max(tall, WIDTHS[width]), TALLEST[width])
            page.set_viewport_size({"width": width, "height": height})
        results = {}
        for theme in THEMES:
            page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            results[theme] = page.screenshot(animations="disabled")
        over = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        if over > 0:
            self.faults.append(f"{page.url} is {over} px wider than {width}")
        return results


@contextmanager
def product(*flags: str) -> Iterator[Any]:
    """A fresh data folder and everything started in it; both gone afterwards.

    Agents of the how-tos are among its agents. One asks a model server on this machine, over HTTP;
    the agents that ship ask none.
    """
    from tests.embedded.helpers import up
    from tests.workers.language.model_server import Say, serving_models

    folder = Path(tempfile.mkdtemp(prefix="gatepost-pictures-", dir="/tmp"))
    folder.chmod(0o711)  # the account that serves the database goes through it
    code = folder / "agents"
    code.mkdir()
    for module, page in SHOWN.items():
        text = (ROOT / f"docs/howto/{page}.md").read_text()
        shown = re.findall(rf'^```python title="{module}\.py"\n(.*?)^```$', text, re.M | re.S)
        (code / f"{module}.py").write_text(shown[0])
    script = [Say(**answer) for answer in ANSWERS]
    try:
        with serving_models(*script) as models:
            environment = {
                "PYTHONPATH": str(code),
                "GATEPOST_AGENTS": ",".join(SHOWN),
                "GATEPOST_AGENT_MODELS": f"support=openai:gpt-4.1-mini@{models.url}?prices=openai",
            }
            with up(folder / "data", "--workers", "2", *flags, environment=environment) as started:
                yield started
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    from playwright.sync_api import sync_playwright

    from tests.chromium import FLAGS, find_chromium

    some = [*FLEET] if sys.argv[1:] == ["--fleet"] else sys.argv[1:]
    names = some or list(SHOTS)
    made: dict[str, dict[str, str]] = json.loads(MADE.read_text()) if some else {}
    taken: dict[Path, bytes] = {}
    faults: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(FLAGS))
        of_fleet = [name for name in names if name in FLEET]
        others = [name for name in names if name not in FLEET]
        for part, flags in ((others, ()), (of_fleet, ("--fleet",))):
            if part:
                with product(*flags) as started:
                    faults += take_all(browser, started, part, made, taken)
        browser.close()
    for old in {*HERE.glob("*.png")} - taken.keys():
        if not some:
            old.unlink()
    print(f"  {len(taken)} pictures, {sum(map(len, taken.values())) / 1e6:.1f} MB")
    for fault in faults:
        print(f"  LOOK: {fault}")


def take_all(
    browser: Any,
    started: Any,
    names: list[str],
    made: dict[str, dict[str, str]],
    taken: dict[Path, bytes],
) -> list[str]:
    """Take these pages of one product, and note them; pages that are too wide."""
    base = f"http://127.0.0.1:{started.port}"
    lines = (started.data / "demo-logins.txt").read_text().splitlines()
    people = {name: Person(base, name, word) for name, word in map(str.split, lines)}
    ids: dict[str, str] = {}
    if FLEET.keys() >= set(names):
        ids = fleet_addresses(started, people)
    elif not OF_MANY.issuperset(names):
        ids = tell(people["operator"], people["manager"])
    if not OF_MANY.isdisjoint(names):
        ids |= tell_of_many(people["operator"])
    camera = Camera(browser, base, people)
    for name in names:
        shot = SHOTS[name]
        if name in AT_WORK:
            agent, title, value = AT_WORK[name]
            ids[name] = people["operator"].start_agent(agent, title, input=value)
        address = shot.path.format(**ids)
        pages = {width: camera.open(shot, address, width) for width in WIDTHS}
        if name == "board":
            keep_busy(people["operator"], pages[1440])
        for width, page in pages.items():
            title = page.title()
            assert shot.title in title, f"{name}: {title}"
            for theme, png in camera.take(page, width, whole=not shot.at).items():
                path = HERE / f"{name}-{theme}-{width}.png"
                taken[path] = small(png)
                path.write_bytes(taken[path])
        made[name] = {"title": title, "template": shot.template}
        made[name]["made_from"] = made_from(shot.template)
        MADE.write_text(json.dumps(made, indent=1, sort_keys=True) + "\n")
        print(f"  {name}: {title}", flush=True)
    return camera.faults


if __name__ == "__main__":
    main()
