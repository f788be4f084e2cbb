"""Write docs/events.md from the records of the kinds: `python -m tools.event_kinds`.

Kinds, payload fields and comparisons come from `checkpoints.states`, sentences from
`dashboard.wording.events`; a test compares the page with them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

PAGE: Final = Path(__file__).parent.parent / "docs/events.md"
HEAD: Final = """# Events

Made by `python -m tools.event_kinds`; a test compares it. Each kind is `noun.past_participle`. The
sentence is how pages and commands describe such an event of Ada's. A payload has the named fields
as far as they apply: see [fields](#fields). Events of former versions may have others. Verification
computes the chain of every event anew; the last column says what it compares besides. Where that
are changed rows, the payload has `rows`, `columns` and `was` as well.
"""
# Example of a field by its type, for the sentence; others are left out of it.
EXAMPLES: Final[Mapping[str, str | int]] = {
    "text": "{{{}}}",
    "integer": 3,
    "number": 3,
    "boolean": 1,
}


def page() -> str:
    """The page as Markdown."""
    from checkpoints.states import FIELDS, EventKind, WorkspaceEventKind

    fields = "\n".join(f"| `{name}` | {kind} | {about} |" for name, (kind, about) in FIELDS.items())
    return (
        f"{HEAD}\n## The log of a thread\n\n{_table(EventKind)}\n\n"
        f"## The log of a workspace\n\n{_table(WorkspaceEventKind)}\n\n"
        f"## Fields\n\n| field | type | what it is |\n|---|---|---|\n{fields}\n"
    )


def _table(kinds: Iterable[Any]) -> str:
    from checkpoints.states import ROW_FIELDS

    lines = ["| kind | sentence | fields | verification compares |", "|---|---|---|---|"]
    for kind in kinds:
        fields = " ".join(f"`{name}`" for name in kind.fields if name not in ROW_FIELDS)
        lines.append(f"| `{kind}` | {_sentence(kind)} | {fields} | {'; '.join(kind.proofs)} |")
    return "\n".join(lines)


def _sentence(kind: Any) -> str:
    """The sentence of a kind, with the names of its fields in place of texts."""
    from checkpoints.states import FIELDS
    from dashboard.wording.events import KINDS

    data = {}
    for name in kind.fields:
        example = EXAMPLES.get(FIELDS[name][0])
        if example is not None:
            data[name] = example.format(name) if isinstance(example, str) else example
    return KINDS[kind].sentence(data, "Ada").replace("|", "\\|")


if __name__ == "__main__":
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
    django.setup()
    PAGE.write_text(page())
