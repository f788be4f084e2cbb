"""docs/howto/api.md: its blocks are run in one shell, and what stands below them is compared."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.cast import make_cast
from tests.support.site import Site, started_site

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "howto" / "api.md"
BLOCK = re.compile(r"^```bash\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
MARK = "--- block "


@dataclass(frozen=True)
class Block:
    """What the page says to type, and what it says to see."""

    typed: str
    seen: str

    def fits(self, text: str) -> bool:
        """Whether this was seen; `…` stands for anything, a line of it for any lines."""
        wanted = "".join(
            r"(?:.*\n)*?" if line == "…\n" else re.escape(line).replace("…", ".+")
            for line in self.seen.splitlines(keepends=True)
        )
        return re.fullmatch(wanted, text) is not None


def blocks(page: Path = PAGE) -> list[Block]:
    """In the order of the page."""
    return [Block(typed, seen) for typed, seen in BLOCK.findall(page.read_text())]


def test_every_block_says_what_is_seen() -> None:
    result = blocks()
    assert len(result) == PAGE.read_text().count("```bash\n") >= 12
    assert [
        b.typed for b in result if not b.seen and re.search(r"^(get|send) ", b.typed, re.M)
    ] == []


@pytest.mark.nightly
@pytest.mark.hazard
def test_a_newcomer_drives_a_thread(real_db: str, tmp_path: Path) -> None:
    make_cast()
    settings = {"GATEPOST_PUBLISHED": str(tmp_path), "GATEPOST_SHIPPED_AGENTS": "true"}
    with started_site(slots=1, **settings) as site:
        others = differences(site, PAGE)
    assert not others, "\n\n".join(others)


@pytest.mark.nightly
@pytest.mark.hazard
def test_an_agent_elsewhere_is_killed_and_another_one_goes_on(real_db: str) -> None:
    make_cast()
    page = PAGE.with_name("external-agents.md")
    with started_site(slots=0) as site:
        others = differences(site, page)
    assert not others, "\n\n".join(others)


@pytest.mark.nightly
@pytest.mark.hazard
def test_an_agent_that_speaks_mcp_saves_its_state_and_asks_people(real_db: str) -> None:
    make_cast()
    with started_site(slots=0, GATEPOST_UNDO_WINDOWS="0,0,0") as site:
        others = differences(site, PAGE.with_name("mcp-server.md"))
    assert not others, "\n\n".join(others)


def differences(site: Site, page: Path) -> list[str]:
    """Run the blocks of a page in one shell; what they print that the page does not say."""
    result = blocks(page)
    script = "".join(f"echo '{MARK}{i}'\n{b.typed}" for i, b in enumerate(result))
    done = subprocess.run(
        ["bash", "-eu", "-c", script],
        cwd=ROOT,
        env=os.environ
        | {
            "GATEPOST": site.url,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        },
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    message = f"{done.stdout}\n{done.stderr}\n{site.log('worker')[-2000:]}"
    assert done.returncode == 0, message
    parts = re.split(rf"^{MARK}\d+\n", done.stdout, flags=re.MULTILINE)[1:]
    assert len(parts) == len(result)
    return [
        f"{block.typed}\nprints\n{output}\nbut the page says\n{block.seen}"
        for block, output in zip(result, parts, strict=True)
        if not block.fits(output)
    ]
