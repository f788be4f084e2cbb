"""The pictures in docs/pictures/: all there, of real pages, and not older than their templates."""

from __future__ import annotations

import json
from typing import Any

import pytest
from PIL import Image

from docs.pictures import shots

HERE = shots.HERE
AGAIN = "take them again with `make pictures`"
FEWEST_COLOURS = 24
LARGEST_BYTES = 10_000_000
SCRIPTS = {"camera.py", "make.py", "shots.py", "story.py"}


PICTURES = {path.name: (page, width, path) for page, _theme, width, path in shots.pictures()}


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    """What was noted when they were taken."""
    assert shots.MADE.exists(), f"there are none; {AGAIN}"
    payload: dict[str, Any] = json.loads(shots.MADE.read_text())
    return payload


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_shows_something(name: str) -> None:
    _page, width, path = PICTURES[name]
    assert path.exists(), f"{name} is missing; {AGAIN}"
    with Image.open(path) as image:
        assert image.width in (width, 2 * width)
        assert image.height >= shots.WIDTHS[width]
        colours = image.convert("RGB").getcolors(1_000_000) or ()
    count, most = max(colours)
    assert len(colours) >= FEWEST_COLOURS, f"{name} is empty"
    assert count < 0.98 * image.width * image.height, f"{name} is nearly all {most}"


@pytest.mark.parametrize("page", shots.SHOTS)
def test_a_picture_is_of_the_right_page_and_not_older_than_its_template(
    page: str, made: dict[str, Any]
) -> None:
    shot = shots.SHOTS[page]
    assert shot.title in made[page]["title"]
    assert made[page]["made_from"] == shots.made_from(shot.template), (
        f"{page} is older than its template or styles; {AGAIN}"
    )


def test_nothing_else_lies_there_and_all_are_small() -> None:
    files = {path.name for path in HERE.iterdir() if path.is_file()}
    assert files == {*PICTURES, "made.json", *SCRIPTS}
    assert sum(path.stat().st_size for path in HERE.glob("*.png")) < LARGEST_BYTES


def test_a_page_is_judged_with_everything_that_it_includes() -> None:
    names = {path.name for path in shots.sources("threads/detail.html")}
    assert {"detail.html", "base.html", "action.html", "graph.html", "thread.css"} <= names
    assert {"tokens.css", "base.css", "components.css"} <= names
    assert shots.made_from("threads/detail.html") != shots.made_from("board/board.html")
