"""The text of an HTML page: what a reader sees, line by line, and its title."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Final

# Nothing in them is read by people.
HIDDEN: Final = frozenset((
    *("script", "style", "noscript", "template", "svg", "math", "iframe", "object", "canvas"),
    *("audio", "video", "select", "datalist"),
))  # fmt: skip
# They stand on lines of their own.
BLOCKS: Final = frozenset((
    *("address", "article", "aside", "blockquote", "body", "dd", "div", "dl", "dt", "fieldset"),
    *("figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr"),
    *("html", "li", "main", "nav", "ol", "p", "pre", "section", "table", "tr", "ul", "br"),
))  # fmt: skip


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self.parts: list[str] = []
        self._hidden = ""  # the element whose end shows text again
        self._depth = 0  # of elements of that name
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._hidden:
            self._depth += tag == self._hidden
        elif tag in HIDDEN:
            self._hidden, self._depth = tag, 1
        elif tag == "title" and not self.title:
            self._in_title = True
        elif tag in BLOCKS:
            self.parts.append("\n- " if tag == "li" else "\n")
        elif tag in ("td", "th"):
            self.parts.append(" \t")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # <script/> hides nothing after it, as <br/> begins a line.
        if tag in BLOCKS and not self._hidden:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if self._hidden:
            self._depth -= tag == self._hidden
            if not self._depth:
                self._hidden = ""
        elif tag == "title":
            self._in_title = False
        elif tag in BLOCKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data
        elif not self._hidden:
            self.parts.append(re.sub(r"\s+", " ", data))


def text_of_html(source: str) -> tuple[str, str]:
    """(title, text) of a page; lines without an outer blank, one empty line between at most."""
    reader = _Reader()
    reader.feed(source)
    reader.close()
    lines = [
        "\t".join(re.sub(" +", " ", cell).strip() for cell in line.split("\t")).strip()
        for line in "".join(reader.parts).split("\n")
    ]
    shown = [line for line in lines if line not in ("", "-")]
    return " ".join(reader.title.split()), "\n".join(shown)
