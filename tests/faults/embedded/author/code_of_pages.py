"""The Python code of README and docs/howto as files of an author, page by page.

A block with a file name (a title, or a comment as its first line) is that file. The others are
pieces: `PIECES` has the file around each of them.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
BLOCK = re.compile(r'^```python(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
DATA = re.compile(r'^```\w+ title="([^"]+\.csv)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"# (\w+\.py)\n")
PIECE = re.compile(r"^( *)<piece>$", re.MULTILINE)
PAGES = {"README": ROOT / "README.md"} | {
    path.stem: path for path in sorted((ROOT / "docs/howto").glob("*.md"))
}
# The pins of its SDK and of what the product's environment has exclude each other.
BESIDE_OPENAI_AGENTS = frozenset({"openai-agents"})

BANK = """
def paid(order: str) -> int:
    return 4000


def refund(order: str, cents: int, key: str = "") -> str:
    return f"{cents} for {order}"
"""
# {page: {file: text}}: what a page speaks of and the author has.
BESIDE = {"openai-agents": {"bank.py": BANK}, "pydantic-ai": {"bank.py": BANK}}
# {page: (another page, a file of that)}
OF_OTHERS = {"capsule": ("write-an-agent", "trips.py")}

SHIFTS = """
from pydantic import BaseModel, Field


class Shift(BaseModel):
    slot: str = ""


class Shifts(BaseModel):
    <piece>
"""
# {page: the file around each of its pieces, in order}
PIECES: dict[str, list[str]] = {
    "capsule": ["<piece>"],
    "encrypted-channels": ["thread = '0199'\n<piece>"],
    "hooks": [
        "<piece>",
        "from hooks_0 import send_decision\n"
        "address = secret = approval = proposal_hash = ''\n\n\ndef deliver() -> None:\n    <piece>",
    ],
    "many-agents": [
        "<piece>",
        "from typing import Any\nfrom gatepost import END, Context, Graph, State\n<piece>",
        "from many_agents_0 import lead, reader\n"
        "from many_agents_1 import researcher, writer\n<piece>",
    ],
    "models": [
        """
from gatepost import Context, tool


@tool("weather")
def read_weather(city: str, *, key: str) -> str:
    return city


def node(ctx: Context, table: list[str]) -> None:
    <piece>
""",
        """
from typing import Annotated, Any
from gatepost import Append, Context, ConversationId, State
<piece>
""",
        """
from gatepost import Context, Graph, State


class Report(State):
    goal: str = ""


def node(state: Report, ctx: Context) -> None:
    <piece>
""",
        "import gatepost\n<piece>\n    return key\n",
    ],
    "notifications": ["<piece>"],
    "opentelemetry": [
        """
import httpx


def start(token: str, gatepost: str) -> None:
    def inject(headers: dict[str, str]) -> None: ...
    <piece>
""",
        "import gatepost\nimport httpx\nshop = ''\n<piece>",
    ],
    "payloads": [
        """
from gatepost import Graph, State


class Research(State):
    goal: str = ""


<piece>
"""
    ],
    "pydantic-ai": ["import bank\nfrom pydantic_ai import Agent\nagent = Agent('test')\n<piece>"],
    "write-an-agent": [
        SHIFTS,
        SHIFTS,
        SHIFTS,
        """
from gatepost import Context


def node(ctx: Context, payments: list[str], total: str) -> None:
    <piece>
""",
        "<piece>",
        """
from typing import Any
from gatepost import Context, State, tool


class Invoices(State):
    goal: str = ""


def look_up(goal: str) -> str:
    return goal


def take_back(args: dict[str, Any], result: Any, *, key: str) -> None: ...


def node(state: Invoices, ctx: Context) -> None:
    <piece>
""",
    ],
}


def files_of(page: str) -> dict[str, str]:
    """{name: text} of the files that an author has who copies all code of a page."""
    text = PAGES[page].read_text()
    files, pieces = dict(DATA.findall(text)) | BESIDE.get(page, {}), 0
    for title, block in BLOCK.findall(text):
        named = NAMED.match(block)
        if title or named:
            files[title or named[1]] = block
            continue
        around = PIECES[page][pieces]
        files[f"{page.replace('-', '_')}_{pieces}.py"] = PIECE.sub(
            lambda match, block=block: textwrap.indent(block, match[1]), around
        )
        pieces += 1
    assert pieces == len(PIECES.get(page, [])), f"{page} has {pieces} pieces"
    if page in OF_OTHERS:
        other, name = OF_OTHERS[page]
        files[name] = files_of(other)[name]
    return files


def with_code() -> list[str]:
    """The pages that have Python code."""
    return [page for page, path in PAGES.items() if BLOCK.search(path.read_text())]


def folders(pages: Iterable[str]) -> list[dict[str, str]]:
    """{name: text} of as few folders as take the files of the pages, no name twice in one."""
    results: list[dict[str, str]] = []
    for page in pages:
        files = files_of(page)
        folder = next((one for one in results if one.keys().isdisjoint(files)), None)
        if folder is None:
            results.append(folder := {})
        folder.update(files)
    return results
