"""Templates of long pages lose their indentation and nothing else."""

from __future__ import annotations

import pytest
from django.template.loader import get_template

from dashboard.http.compact_templates import compact


@pytest.mark.parametrize(
    ("source", "made"),
    [
        ("<p>\n    one\n</p>", "<p>\n one\n</p>"),
        ("a\n\n\n   b", "a\n b"),
        ("<a\n      href='x'>", "<a\n href='x'>"),
        ("<pre>\n    kept\n</pre>\n    out", "<pre>\n    kept\n</pre>\n out"),
        ("<textarea a>\n  kept</textarea>", "<textarea a>\n  kept</textarea>"),
        ("  in a line  stays", "  in a line  stays"),
    ],
)
def test_indentation_is_left_out(source: str, made: str) -> None:
    assert compact(source) == made
    assert compact(made) == made


def test_the_page_of_a_thread_is_compact_and_others_are_as_written() -> None:
    assert "\n  " not in get_template("threads/detail.html").template.source
    assert "\n  " in get_template("board/overview/page.html").template.source
