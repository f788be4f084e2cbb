"""The judged questions: how many are answered right, and that nothing else is answered.

`judged.json` has a row for each: the thread of `stories.py` that it is about, the question, and a
part of the answer as it stands in the event; null where the record has none.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from checkpoints import queries
from dashboard.kit.action import read
from dashboard.questions.ask import ASK_RECORD, AskRecord
from tests.support.cast import Cast
from tests.unit.dashboard.questions.stories import Stories

JUDGED: list[dict[str, Any]] = json.loads(Path(__file__).with_name("judged.json").read_text())
PAGE = Path(__file__).parents[4] / "docs/howto/ask-the-record.md"
RIGHT_LEAST = 0.9


def recorded(thread: Any, seq: int) -> str:
    """All that an event records and names, as the log has it; read past the product's passages."""
    (event,) = queries.events_after(thread, seq - 1, limit=1)
    parts: list[Any] = [event.kind, event.actor, event.data]
    if ident := event.data.get("activity"):
        parts += [[a.args, a.result] for a in queries.activities(thread) if str(a.id) == ident]
    if ident := event.data.get("checkpoint"):
        parts += [c.delta for c in queries.checkpoints(thread).rows if str(c.id) == ident]
    return json.dumps(parts, ensure_ascii=False, default=str)


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.requirement("B41")
def test_the_judged_questions(
    cast: Cast, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    stories = Stories(cast, tmp_path)
    stories.play(settings, monkeypatch)
    right: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    wrong: list[tuple[Any, ...]] = []
    for row in JUDGED:
        about, expected = row["about"], row["answer"]
        body = {"question": row["question"], "thread": str(stories.threads[about])}
        result = ASK_RECORD.run(cast.actor("viewer"), read(AskRecord, body))
        kind = f"{about}, not in the record" if expected is None else about
        counts[kind] += 1
        texts = [sentence.text for sentence in result.sentences]
        is_right = not texts if expected is None else bool(texts) and expected in texts[0]
        if not is_right:
            wrong.append((about, row["question"], expected, texts, result.missing))
        right[kind] += is_right
    for one in wrong:
        print(*one, sep=" | ")
    print({kind: (right[kind], n) for kind, n in counts.items()})
    answerable = [kind for kind in counts if "not in" not in kind]
    assert sum(counts.values()) == 100
    assert sum(counts[kind] for kind in answerable) == 75
    assert [one for one in wrong if one[2] is None] == []
    assert sum(right[kind] for kind in answerable) >= RIGHT_LEAST * 75
