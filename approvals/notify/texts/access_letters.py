"""Messages to a person whose access somebody else changed, or asked to change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Final

from .letters import LISTED, Letter, line, subject

_DID: Final = {
    "asked": "asked another admin to confirm",
    "confirmed": "confirmed",
    "changed": "changed",
    "mapped": "let a hook decide in your name once you confirm it",
}
ADVICE: Final = (
    "If you didn't expect this, ask your admins before anything is decided in your name."
)


def access_letter(
    changes: Sequence[Mapping[str, Any]], rest: Letter | None = None, *, base: str
) -> Letter:
    """One or several changes of what the reader may do; then what else is new."""
    lines = [_sentence(data) for data in changes[:LISTED]]
    more = [f"and {len(changes) - LISTED} more"] if len(changes) > LISTED else []
    head = "Your access to Gatepost changes"
    text = "\n".join([head, "", *(f"- {one}" for one in lines), *more, "", ADVICE, "", base, ""])
    items = "".join(f"<li>{escape(one)}</li>" for one in [*lines, *more])
    html = f"<h1>{escape(head)}</h1><ul>{items}</ul><p>{escape(ADVICE)}</p>"
    if rest is not None:
        text, html = f"{text}\n{rest.text}", html + rest.html
    return Letter(subject(head), text, html)


def _sentence(data: Mapping[str, Any]) -> str:
    gives = line(", ".join(map(str, data.get("gives") or ())), 300)
    if data.get("by_command"):
        by = "By command on the machine itself, as " + line(data.get("by", "?"), 100)
    else:
        by = line(data.get("by", "?"), 100)
    return f"{by} {_DID.get(str(data.get('what')), 'changed')}: {gives}"
