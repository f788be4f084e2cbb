"""docs/howto/write-an-agent.md as a newcomer does it: an empty folder, an environment of its own.

Gatepost is installed by pip from this tree; what it needs comes from the environment of the tests.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from approvals.policies.conditions import condition as condition_of
from approvals.policies.matches import values_of
from checkpoints.errors import GatepostError
from gatepost_command import PACKAGES, __version__
from tests.faults.embedded.helpers import ROOT, clean_environment, free_port, wait_until
from tests.support.web_site import LOOPBACK, site
from tests.unit.dashboard.command_list import COMMANDS
from workers.authoring.graph import Graph
from workers.authoring.language_models import Request, used
from workers.testing.harness import Harness, Reject, Rule, Terms

HOWTO = ROOT / "docs/howto/write-an-agent.md"
README = ROOT / "README.md"
ROWS = Path()  # where the invoices lie in a test
BLOCK = re.compile(r'^```(\w+) title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def blocks() -> dict[str, str]:
    """The fenced blocks of the page that have a title."""
    return {title: text for _, title, text in BLOCK.findall(HOWTO.read_text())}


def files_in(folder: Path) -> Path:
    """Write the files of the page to a folder."""
    for title, text in blocks().items():
        if "." in title:
            (folder / title).write_text(text)
    return folder


def environment() -> dict[str, str]:
    """Somebody's shell."""
    left = ("PYTHONPATH", "PYTEST_CURRENT_TEST", "PYTHONSTARTUP", "VIRTUAL_ENV")
    clean = {k: v for k, v in clean_environment().items() if k not in left}
    # Plugins of the tests of Gatepost and the shipped agents are here because their packages are.
    return clean | {
        "GATEPOST": str(ROOT),
        "GATEPOST_SHIPPED_AGENTS": "false",
        "PYTEST_ADDOPTS": "-p no:asyncio -p no:cacheprovider",
    }


class Shell:
    """A terminal in which the environment of the page is active."""

    def __init__(self, home: Path) -> None:
        self.activate = f'. "{home}/.venv/bin/activate"\n'
        self.packages = Path(home, ".venv", sysconfig.get_path("purelib", vars={"base": "."}))

    def __call__(
        self, folder: Path, text: str, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Type these commands in the folder."""
        return subprocess.run(
            ["sh", "-c", f"set -e\n{self.activate}{text}"],
            cwd=folder,
            env=environment() | variables,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def block(self, folder: Path, title: str) -> subprocess.CompletedProcess[str]:
        """Type one block of the page."""
        return self(folder, blocks()[title])


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """The environment that the page makes, from what is here instead of from an index."""
    home = tmp_path_factory.mktemp("environment")
    make, _activate, *install = blocks()["environment"].splitlines(keepends=True)
    assert make.startswith("python3 -m venv")
    subprocess.run([sys.executable, *make.split()[1:]], cwd=home, check=True)
    made = Shell(home)
    packages = sysconfig.get_path("purelib")
    (made.packages / "of_the_tests.pth").write_text(f"{packages}\n")
    offline = "pip install --quiet --no-index --no-build-isolation "
    done = made(home, "".join(install).replace("pip install ", offline))
    assert done.returncode == 0, done.stdout + done.stderr
    return made


def test_its_tests_pass_in_an_empty_folder(shell: Shell, tmp_path: Path) -> None:
    done = shell.block(files_in(tmp_path), "test")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\b28 passed\b", done.stdout), done.stdout
    assert "arning" not in done.stdout + done.stderr


def test_the_agent_of_the_readme_passes_its_test(shell: Shell, tmp_path: Path) -> None:
    code = re.findall(r"^```python\n# (\w+\.py)\n(.*?)^```$", README.read_text(), re.M | re.S)
    assert [name for name, _ in code] == ["orders.py", "test_orders.py"]
    for name, text in code:
        (tmp_path / name).write_text(text)
    done = shell.block(tmp_path, "test")
    assert "1 passed" in done.stdout, done.stdout + done.stderr
    assert not (tmp_path / "order.txt").exists()
    done = shell(tmp_path, blocks()["check"].replace("invoices", "orders"))
    assert "0 errors, 0 warnings" in done.stdout + done.stderr


def test_the_agent_is_found_sound(shell: Shell, tmp_path: Path) -> None:
    done = shell.block(files_in(tmp_path), "check")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 errors, 0 warnings" in done.stdout + done.stderr
    (tmp_path / "invoices.py").write_text(blocks()["invoices.py"].replace('"check"', '"chekc"'))
    done = shell.block(tmp_path, "check")
    assert done.returncode != 0
    assert "chekc" in done.stdout + done.stderr


def asks_a_model() -> Any:
    """The page's agent that asks a model, without one."""
    module = ModuleType("reminder")
    exec(compile(blocks()["reminder.py"], "reminder.py", "exec", dont_inherit=True), vars(module))
    return Harness(module.graph).play({"payee": "Cem", "problem": "sum"}).reason


def module_of(name: str, *changes: tuple[str, str]) -> ModuleType:
    """One of the page's agents, with lines written otherwise."""
    text = blocks()[f"{name}.py"]
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    module = ModuleType(name)
    exec(compile(text, f"{name}.py", "exec", dont_inherit=True), vars(module))
    return module


def asks_in_another_form() -> Any:
    """The page's interrupt with a word where true or false belongs."""
    module = module_of("mails", ('"allow_edit": True', '"allow_edit": "yes"'))
    return Harness(module.graph).play().reason


def meets_a_policy() -> Any:
    """An effect without a gate, a policy that asks, and a reviewer who says no."""
    module = module_of("trips")
    asks = Rule("ask", "journeys@1", "journeys", Terms())
    return Harness(module.graph, policy=lambda _: asks).play(decide=Reject("too far")).reason


@pytest.mark.requirement("F10")
def test_the_order_of_the_page_is_shipped_once_it_is_paid() -> None:
    plays = Harness(module_of("shipping").graph)
    paid = plays.play(signals={"payment.settled": {"amount": "9.50"}})
    assert paid.state["outcome"] == "shipped for 9.50"
    assert plays.play().state["outcome"] == "cancelled: not paid in time"


@pytest.mark.requirement("F12")
def test_the_shop_of_the_page_is_looked_up_where_the_policy_of_the_page_lets_it(
    settings: Any,
) -> None:
    graph = module_of("opening_hours").graph
    refused = Harness(graph).play({"website": "https://www.alder-bakery.example/"})
    assert "is off for this agent" in refused.state["outcome"]
    settings.GATEPOST_WEB_NETWORKS = [LOOPBACK]
    texts = HOWTO.read_text().split("```text\n")
    text = next(one for one in texts if one.startswith("tool == 'web.read'"))
    with site() as there:
        text = text.partition("\n")[0].replace("www.alder-bakery.example", there.host)

        def policy(facts: Any) -> Rule | None:
            holds = condition_of(text).holds(values_of(facts))
            return Rule("allow", "pages@1", "Pages", Terms()) if holds else None

        url = there.put("/", "<title>Alder Bakery</title><p>Open from six to ten.<p>Imprint")
        played = Harness(graph, policy=policy).play({"website": url})
    assert played.state["hours"] == ["Open from six to ten."]
    assert played.state["outcome"].startswith("Alder Bakery, read at 20")


def test_the_model_of_the_page_speaks_to_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[tuple[str, dict[str, Any]]] = []

    class Speaking(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            requests.append((self.path, body))
            payload = {
                "model": f"{body['model']}-2026",
                "choices": [{"message": {"role": "assistant", "content": "Dear Cem"}}],
                "usage": {"prompt_tokens": 20, "completion_tokens": 2},
            }
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(payload).encode())

        def log_message(self, *_: Any) -> None: ...

    module = ModuleType("my_model")
    exec(compile(blocks()["my_model.py"], "my_model.py", "exec", dont_inherit=True), vars(module))
    with ThreadingHTTPServer(("127.0.0.1", 0), Speaking) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        monkeypatch.setenv("MY_MODEL_URL", f"http://127.0.0.1:{server.server_port}")
        request = Request(("Write", {"payee": "Cem"}), "tiny", "Be brief.", temperature=0.5)
        text, usage = used(module.answer(request))
        server.shutdown()
    assert text == "Dear Cem"
    assert (usage["model"], usage["tokens"]) == ("tiny-2026", 22)
    (path, body) = requests[0]
    assert path == "/v1/chat/completions"
    assert body == {
        "model": "tiny",
        "temperature": 0.5,
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": 'Write\n\n{"payee":"Cem"}'},
        ],
    }


def broken(*changes: tuple[str, str]) -> Graph:
    """The page's agent with these mistakes in it."""
    code = blocks()["invoices.py"]
    for old, new in changes:
        assert code.count(old) == 1, old
        code = code.replace(old, new)
    module = ModuleType("invoices")
    module.__file__ = str(ROWS / "invoices.py")
    exec(compile(code, module.__file__, "exec", dont_inherit=True), vars(module))
    graph: Graph = module.graph  # type: ignore[attr-defined]
    return graph


def reason(*changes: tuple[str, str]) -> str:
    return Harness(broken(*changes)).play(decide="approve").reason


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(GatepostError) as refused:
        call()
    return refused.value.message


def with_other_code() -> str:
    harness = Harness(broken())
    thread = harness.play()
    harness.install(broken())
    return thread.decide("approve").reason


def lost_in_the_tool() -> str:
    graph = broken((", idempotent=True)", ")"))
    played = (Harness(graph, stop_after=n).play(decide="approve") for n in range(1, 20))
    return next(thread.reason for thread in played if thread.status == "attention")


ALSO = """
@graph.node(then=END)
def also(state: Invoices, ctx: Context) -> dict[str, Any]:
    return {"outcome": "mine"}
"""
# The start of each message that the page explains, and a mistake that brings it up.
MISTAKES: dict[str, Callable[[], str]] = {
    "the state has no such channel; did you mean": lambda: reason(
        ('return {"total": str(', 'return {"totl": str(')
    ),
    "Input should be a valid string, not int": lambda: reason(
        ('return {"total": str(', 'return {"total": len(str(1)), "outcome": str(')
    ),
    "The state is read-only in a node: return {'refused': ...}": lambda: reason(
        ("    for problem in state.refused:\n", "    for problem in state.refused.pop():\n")
    ),
    "written more than once in one step; give it a reducer that joins values": lambda: reason(
        ('then="check"', 'then=("check", "also")'),
        ('return {"total": str(', 'return {"outcome": str('),
        ("def take_back", f"{ALSO}\n\ndef take_back"),
    ),
    "leads to 'chekc', and there is no such node": lambda: refusal(
        lambda: Harness(broken(('then="check"', 'then="chekc"')))
    ),
    "is not among its ways": lambda: reason(('return "pay" if', 'return "pya" if')),
    "What 'read_rows' returned cannot be kept: $[0].file: PosixPath is not a JSON type": lambda: (
        reason(
            (
                "return list(csv.DictReader(opened))",
                "return [r | {'file': PAYMENTS} for r in csv.DictReader(opened)]",
            )
        )
    ),
    "ctx.effect takes a tool, and 'write_payments' is none": lambda: reason(
        ('@tool("payments.write", undo=take_back, idempotent=True)\n', "")
    ),
    "is a tool: call it with ctx.effect(...)": lambda: reason(
        ("ctx.activity(read_rows, state.file)", "ctx.activity(write_payments, state.file)")
    ),
    "takes no key: end its parameters with": lambda: reason(
        ("payments: list[dict[str, str]], *, key: str", "payments: list[dict[str, str]]")
    ),
    "cannot be called so: missing a required argument": lambda: reason(
        ('"payments": state.payments}', '"paymnets": state.payments}')
    ),
    "the state has no such channel; it has": lambda: refusal(
        lambda: Harness(broken()).play({"fiel": "other.csv"})
    ),
    "outside of an activity. A node begins again after each stop": lambda: reason(
        ("rows = ctx.activity(read_rows, state.file)", "rows = [*map(dict, [])]; PAYMENTS.mkdir()")
    ),
    "nested too deeply, or contains itself": lambda: reason(
        (
            "rows = ctx.activity(read_rows, state.file)",
            "rows = []; rows.append(rows); ctx.think('a', rows=rows)",
        )
    ),
    "raised KeyError: 'price'": lambda: reason(
        ('return {"total": str(', 'return {"total": {}["price"] or str(')
    ),
    "ctx.effect stopped the node, and the node caught that and continued": lambda: reason(
        (
            '        return {"outcome": f"Not paid: {no.comment}"}',
            '        return {"outcome": "paid"}',
        ),
        ("    except Rejected as no:", "    except BaseException:"),
    ),
    "steps since the last message, decision, timer or click": lambda: reason(
        ('description="Pays what adds up.")', 'description="Pays what adds up.", max_steps=3)'),
        ('-> Literal["pay", "__end__"]:', '-> Literal["check", "__end__"]:'),
        ('return "pay" if', 'return "check" if'),
    ),
    "There is no model to ask": asks_a_model,
    "The code of 'invoices' changed since this thread last worked": with_other_code,
    "This interrupt cannot be asked: $.config.allow_edit": asks_in_another_form,
    "Rejected by": meets_a_policy,
    "Whether 'payments.write' happened is unknown": lost_in_the_tool,
}


def test_the_page_explains_these_messages_and_each_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "ROWS", files_in(tmp_path))
    table = HOWTO.read_text().partition("| it says | do |")[2]
    assert re.findall(r"^\| `(.+?)` \|", table, re.MULTILINE) == list(MISTAKES)
    for message, provoke in MISTAKES.items():
        assert message in (text := provoke()), text


# ---- the whole way, with servers and a worker ----------------------------------------------------


@contextmanager
def started(shell: Shell, folder: Path, port: int) -> Iterator[Path]:
    """What the page says starts Gatepost, on a port that is free; its output."""
    output = folder / "up.txt"
    command = f"{shell.activate}{blocks()['start'].strip()} --port {port}"
    with output.open("wb") as file:
        process = subprocess.Popen(
            ["sh", "-c", command],
            cwd=folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def ready() -> bool:
        assert process.poll() is None, output.read_text()
        return "\n  Stop  " in output.read_text()

    try:
        wait_until(ready, seconds=60, what="up")
        yield output
    finally:
        os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


class Person:
    """Somebody with a token, at the API."""

    def __init__(self, shell: Shell, folder: Path, port: int, name: str, scopes: str) -> None:
        made = shell(folder, f"gatepost token create {name} --scopes {scopes}")
        match = re.search(r"gp_[a-z0-9]{8}_[A-Za-z0-9_-]{43}", made.stdout)
        assert match, made.stdout + made.stderr
        self._token, self._port = match.group(), port

    def __call__(self, path: str, body: Any = None) -> Any:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._port}/api/v1{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {self._token}",
                "Content-Type": "application/json",
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{path}: {error.code} {error.read().decode()}") from error

    def wait(self, thread: str, status: str) -> Any:
        """The thread, once it has this status."""

        def there() -> bool:
            result = self(f"/threads/{thread}/")
            assert result["status"] not in {"failed", "attention"} - {status}, result
            return bool(result["status"] == status)

        wait_until(there, seconds=30, what=status)
        return self(f"/threads/{thread}/")

    def request_of(self, thread: str) -> Any:
        """The thread's open request."""
        rows = self("/approvals/")["results"]
        (ident,) = [a["id"] for a in rows if a["thread"] == thread]
        return self(f"/approvals/{ident}/")


@pytest.mark.hazard
@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks at processes through /proc")
def test_it_asks_pays_forks_and_takes_back_in_a_real_worker(shell: Shell, data: Path) -> None:
    folder, port = files_in(data.parent), free_port()
    payments = folder / "payments"
    with started(shell, folder, port):
        result = json.loads(shell(folder, "gatepost doctor --json").stdout)["findings"]
        packages = next(f for f in result if f["name"] == "packages")
        assert packages["level"] == "ok", packages
        named = [f for f in result if re.search(r"manage\.py|\bmake [a-z]", f["do"])]
        assert named == [], "a clone is not here"
        operator = Person(shell, folder, port, "operator", "read,start,control,fork")
        manager = Person(shell, folder, port, "manager", "read,decide")
        thread = operator("/threads/", {"agent": "invoices", "input": {}})["id"]
        operator.wait(thread, "waiting")
        request = manager.request_of(thread)
        assert request["title"] == "Pay 2 invoices, 161.84 in all?"
        assert not payments.exists()
        verdict = {"verdict": "approve", "proposal_hash": request["proposal_hash"]}
        manager(f"/approvals/{request['id']}/decide/", verdict)
        operator.wait(thread, "succeeded")
        paid = payments / f"payments-{thread}.csv"
        assert paid.read_text().splitlines()[1:] == [
            "2026-101,Ada Print,95.20",
            "2026-102,Bea Paper,66.64",
        ]

        rows = operator(f"/threads/{thread}/checkpoints/")["results"]
        point = {row["number"]: row["id"] for row in rows}
        changed = {"payments": [{"number": "1", "payee": "Ada", "amount": "2.00"}]}
        fork = operator(f"/threads/{thread}/fork/", {"checkpoint": point[1], "changes": changed})
        operator.wait(fork["id"], "waiting")
        assert manager.request_of(fork["id"])["title"] == "Repeat: Pay 1 invoices, 2.00 in all?"
        assert paid.exists()

        back = {"checkpoint": point[2], "reason": "wrong account"}
        operator(f"/threads/{thread}/rollback/", back)
        operator.wait(thread, "paused")
        assert not paid.exists()
        kinds = [e["kind"] for e in operator(f"/threads/{thread}/events/?after=0")["results"]]
        assert kinds.count("compensation.finished") == 1
        assert operator(f"/threads/{thread}/state/")["state"]["outcome"] == ""


# ---- what is installed ---------------------------------------------------------------------------


def test_the_wheel_holds_the_product_and_nothing_else(shell: Shell) -> None:
    (noted,) = shell.packages.glob("gatepost-*.dist-info/RECORD")
    rows = [Path(line.rsplit(",", 2)[0]) for line in noted.read_text().splitlines()]
    beside = ("__pycache__", noted.parent.name)
    installed = {str(p) for p in rows if not {*p.parts} & {*beside}}
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")
    here = [Path(name) for name in listed if name and (ROOT / name).is_file()]
    packages = {*PACKAGES} - {"gatepost_agents"}  # a distribution of its own
    wanted = {str(p) for p in here if p.parts[0] in {*packages, "gatepost_command.py"}}
    wanted |= {str(Path("dashboard", p)) for p in here if p.parts[0] == "templates"}
    assert installed == wanted | {"../../../bin/gatepost"}
    tops = {Path(name).parts[0] for name in installed}
    assert tops == {*packages, "gatepost_command.py", ".."}


def test_the_command_is_that_of_the_clone(shell: Shell, tmp_path: Path) -> None:
    done = shell(tmp_path, "gatepost --version && gatepost --help")
    version, text = done.stdout.split("\n", 1)
    assert version == __version__
    (noted,) = shell.packages.glob("gatepost-*.dist-info")
    assert noted.name == f"gatepost-{version}.dist-info"
    rooms = dict(re.findall(r"^\[(\w+)\]\n((?: .+\n)+)", text, re.MULTILINE))
    shown = {line.split()[0]: room for room, lines in rooms.items() for line in lines.splitlines()}
    assert shown == {name: app.rpartition(".")[2] for name, app in COMMANDS.items()}
    assert [*tmp_path.iterdir()] == []


def test_names_of_ours_are_refused_with_their_path(shell: Shell, tmp_path: Path) -> None:
    for name in PACKAGES:
        package = tmp_path / name
        package.mkdir()
        (package / "__init__.py").touch()
        for text, variables in (
            ("gatepost up", {}),
            ("gatepost agent check invoices", {}),
            ("gatepost token list", {"PYTHONPATH": str(tmp_path)}),
        ):
            done = shell(tmp_path, text, **variables)
            assert done.returncode == 1, text
            assert done.stderr.startswith(f"gatepost: {package}: this name is taken"), done.stderr
            assert len(done.stderr.splitlines()) == 1
        (package / "__init__.py").unlink()
        package.rmdir()
    assert [*tmp_path.iterdir()] == []
