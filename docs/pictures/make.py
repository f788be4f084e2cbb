"""Takes the pictures of this folder anew from the working product: `make pictures`.

`python docs/pictures/make.py family stream` takes some of them and leaves the others;
`--fleet` stands for all that show the fleet of `make demo`.

Starts everything on a fresh data folder as `make up` does, lets people and agents make a story of
threads in many states, and takes each page in both themes, wide and on a phone. `made.json` keeps
the title that each picture showed and a hash of the templates and styles it was made from.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from docs.pictures.camera import Camera, small
from docs.pictures.shots import FLEET, HERE, MADE, ROOT, SHOTS, WIDTHS, made_from
from docs.pictures.story import (
    Person,
    fleet_addresses,
    keep_busy,
    play_story,
    start_conversation_and_case,
)

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


@contextmanager
def product(*flags: str) -> Iterator[Any]:
    """A fresh data folder and everything started in it; both gone afterwards.

    Agents of the how-tos are among its agents. One asks a model server on this machine, over HTTP;
    the agents that ship ask none.
    """
    from tests.faults.embedded.helpers import up
    from tests.unit.workers.language.model_server import Say, serving_models

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

    from tests.support.chromium import FLAGS, find_chromium

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
        ids = play_story(people["operator"], people["manager"])
    if not OF_MANY.isdisjoint(names):
        ids |= start_conversation_and_case(people["operator"])
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
