"""The pictures in docs/pictures/: all there, of real pages, and not older than their templates."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from PIL import Image

HERE = Path(__file__).parents[3] / "docs" / "pictures"
AGAIN = "take them again with `make pictures`"
FEWEST_COLOURS = 24
LARGEST_BYTES = 10_000_000


def load() -> ModuleType:
    """The script that takes them, which is in no package."""
    spec = importlib.util.spec_from_file_location("make_pictures", HERE / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["make_pictures"] = module
    before = list(sys.path)
    spec.loader.exec_module(module)
    sys.path[:] = before
    return module


make = load()
PICTURES = {path.name: (page, width, path) for page, _theme, width, path in make.pictures()}


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    """What was noted when they were taken."""
    assert make.MADE.exists(), f"there are none; {AGAIN}"
    payload: dict[str, Any] = json.loads(make.MADE.read_text())
    return payload


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_shows_something(name: str) -> None:
    _page, width, path = PICTURES[name]
    assert path.exists(), f"{name} is missing; {AGAIN}"
    with Image.open(path) as image:
        assert image.width in (width, 2 * width)
        assert image.height >= make.WIDTHS[width]
        colours = image.convert("RGB").getcolors(1_000_000) or ()
    count, most = max(colours)
    assert len(colours) >= FEWEST_COLOURS, f"{name} is empty"
    assert count < 0.98 * image.width * image.height, f"{name} is nearly all {most}"


@pytest.mark.parametrize("page", make.SHOTS)
def test_a_picture_is_of_the_right_page_and_not_older_than_its_template(
    page: str, made: dict[str, Any]
) -> None:
    shot = make.SHOTS[page]
    assert shot.title in made[page]["title"]
    assert made[page]["made_from"] == make.made_from(shot.template), (
        f"{page} is older than its template or styles; {AGAIN}"
    )


def test_nothing_else_lies_there_and_all_are_small() -> None:
    files = {path.name for path in HERE.iterdir() if path.is_file()}
    assert files == {*PICTURES, "made.json", "make.py"}
    assert sum(path.stat().st_size for path in HERE.glob("*.png")) < LARGEST_BYTES


def test_a_page_is_judged_with_everything_that_it_includes() -> None:
    names = {path.name for path in make.sources("thread/detail.html")}
    assert {"detail.html", "base.html", "action.html", "graph.html", "thread.css"} <= names
    assert {"tokens.css", "base.css", "components.css"} <= names
    assert make.made_from("thread/detail.html") != make.made_from("thread/list.html")
