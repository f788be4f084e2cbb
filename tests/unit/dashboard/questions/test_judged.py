"""The judged questions: how many are answered right, from which event, and nothing else.

`judged.json` has a row for each: the thread of `stories.py` that it is about, the question, and a
part of the answer as it stands in the event; null where the record has none.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from checkpoints import queries
from checkpoints.payloads import opened
from dashboard.identity.people import people
from dashboard.kit.action import read
from dashboard.questions.ask import ASK_RECORD, AskRecord
from tests.support.cast import Cast
from tests.unit.dashboard.questions.stories import Stories

JUDGED: list[dict[str, Any]] = json.loads(Path(__file__).with_name("judged.json").read_text())
PAGE = Path(__file__).parents[4] / "docs/howto/ask-the-record.md"
RIGHT_LEAST = 0.9
# Words of an answer that stand in the record as something else.
WORDED = {"approved": '"verdict": "approve"', "yes": "true"}


def recorded(cast: Cast, thread: UUID, seq: int) -> str:
    """All that an event records and names, as the log has it; read past the product's passages."""
    (event,) = queries.events_after(thread, seq - 1, limit=1)
    parts: list[Any] = [event.kind, event.actor, event.data, people([event.actor])]
    if ident := event.data.get("activity"):
        parts += [[a.args, a.result] for a in queries.activities(thread) if str(a.id) == ident]
    if ident := event.data.get("checkpoint"):
        first = ident["checkpoint"] if isinstance(ident, dict) else ident
        parts.append(queries.checkpoint(thread, UUID(first)).delta)
    if event.kind == "artifact.stored":
        with opened(queries.artifact(event.data["sha256"], workspace=cast.workspace)) as file:
            parts.append(file.read().decode())
    return json.dumps(parts, ensure_ascii=False, default=str)


def holds_answer(record: str, answer: str) -> bool:
    """Return whether an event holds an answer: as it stands, or its words where it is composed."""
    words = (WORDED.get(word, word) for word in answer.split())
    return answer in record or all(word in record for word in words)


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
    unfounded: list[tuple[Any, ...]] = []
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
        if expected is None or not is_right:
            continue
        source = result.sentences[0]
        assert str(source.thread) == body["thread"]
        if not holds_answer(recorded(cast, source.thread, source.seq), expected):
            unfounded.append((row["question"], expected, source.kind, source.seq))
    for one in wrong:
        print(*one, sep=" | ")
    print({kind: (right[kind], n) for kind, n in counts.items()})
    assert unfounded == []
    answerable = [kind for kind in counts if "not in" not in kind]
    assert sum(counts.values()) == 100
    assert sum(counts[kind] for kind in answerable) == 75
    assert [one for one in wrong if one[2] is None] == []
    assert sum(right[kind] for kind in answerable) >= RIGHT_LEAST * 75
