"""A page of docs/howto taken apart into units: what a reader types, calls and opens.

Units: lines of `sh` and `bash` blocks; other blocks; and in the text what stands as code and is a
command with its words, a call (`GET /...`), an address (`/...`) or a query of the board.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.unit.dashboard.command_list import COMMANDS, command_named

HOWTOS = Path(__file__).parents[2] / "docs/howto"
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`]+)`")
CALL = re.compile(r"(?:GET|POST|PUT|PATCH|DELETE) /\S*")
QUERY = re.compile(r"-?(?:status|agent|node|stuck|age|idle|cost|label|state\.[\w.]+|has):\S.*")
SHELL = ("sh", "bash")
PROGRAM = re.compile(r"(?:\./manage\.py|gatepost) ")


def without_note(line: str) -> str:
    """A line of a shell without the note behind it."""
    return re.sub(r"(?:^|\s+)#\s.*$", "", line).strip()


def lines_of(block: str) -> list[str]:
    """The commands of a shell block; continued lines are one."""
    joined = re.sub(r"\\\n\s*", "", block)
    return [line for line in map(without_note, joined.splitlines()) if line]


def is_unit(code: str) -> bool:
    """Whether code in the text of a page is something to perform."""
    name, _, rest = PROGRAM.sub("", code).partition(" ")
    verbs = (
        {verb.name for verb in getattr(command_named(name), "verbs", ())}
        if (name in COMMANDS)
        else set()
    )
    command = name in COMMANDS and (rest.split(" ")[0] in verbs if verbs else rest[:2] == "--")
    typed = PROGRAM.match(code) is not None and "VERB" not in code
    return bool(command or typed or CALL.fullmatch(code) or QUERY.fullmatch(code)) or (
        re.fullmatch(r"/[a-z][^\s`]*", code) is not None
    )


def parts_of(line: str) -> list[str]:
    """The commands of ours in a line of a shell, without what other programs do with them."""
    line = re.sub(r"\s*>\s*/dev/null", "", line)
    parts = [part.partition(" | ")[0] for part in re.split(r"\s+(?:&&|\|\|)\s+", line)]
    ours = [part for part in parts if PROGRAM.match(part)] or parts[:1]
    return [
        re.sub(r"^token (?!create|list|revoke)", "token create ", PROGRAM.sub("", p)) for p in ours
    ]


def sections_of(page: str) -> dict[str, str]:
    """{title: text} of the sections of a page; what stands before the first has no title."""
    before, *parts = re.split(r"^## ", (HOWTOS / f"{page}.md").read_text(), flags=re.MULTILINE)
    return {"": before} | {part.partition("\n")[0]: part for part in parts}


def units_of(text: str) -> list[str]:
    """What is to be performed on a page, each once, in order."""
    results: list[str] = []
    end = 0

    def read(prose: str) -> Iterator[str]:
        return (code for code in CODE.findall(prose.replace("\n", " ")) if is_unit(code))

    for fence in FENCE.finditer(text):
        results += read(text[end : fence.start()])
        language, block = fence[1].split(" ")[0], fence[2]
        results += lines_of(block) if language in SHELL else [block]
        end = fence.end()
    results += read(text[end:])
    return list(dict.fromkeys(results))
