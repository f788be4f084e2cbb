"""Text from files and people inside of Markdown."""

import re


def escaped(text: str) -> str:
    """Text from the table or from a person that means nothing in Markdown, on one line."""
    plain = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    safe = plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    marked = "".join("\\" + c if c in "\\`*[]|#~$" else c for c in safe)
    # At the start of a line these would begin a list or a heading.
    marked = re.sub(r"^(\d*)([-+=.)])", r"\1\\\2", marked)
    # An underscore inside a word is only an underscore; at its edge it could mark a passage.
    words = ["\\" + w if w.startswith("_") else w for w in marked.split(" ")]
    return " ".join(w[:-1] + "\\_" if w.endswith("_") else w for w in words)
