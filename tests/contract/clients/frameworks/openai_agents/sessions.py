"""python sessions.py SEED: generated calls of a session in memory and of the SDK's own, in SQLite.

Prints how many calls of each kind were the same.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections import Counter
from typing import Any

from agents.memory import Session, SQLiteSession
from agents.memory.session_settings import SessionSettings

from gatepost_client.openai_agents import MemorySession

SEED = int(sys.argv[1])
ITEMS: tuple[Any, ...] = (
    {"role": "user", "content": "Grüße aus Ærø: 100 %, \u0000 und \ud83d"},
    {"role": "assistant", "content": [{"type": "output_text", "text": "Yes.", "annotations": []}]},
    {"type": "function_call", "name": "f", "arguments": '{"a": [1, 2.5, null]}', "call_id": "c"},
    {"type": "function_call_output", "call_id": "c", "output": "x" * 60_000},
)


async def main() -> None:
    chance, calls = random.Random(SEED), Counter[str]()
    default = chance.choice([None, 2])
    settings = SessionSettings(limit=default)
    ours = MemorySession(f"sweep-{SEED}", session_settings=settings)
    theirs = SQLiteSession(f"sweep-{SEED}", session_settings=settings)
    assert isinstance(ours, Session)
    assert ours.session_id == theirs.session_id
    for _ in range(40):
        call = chance.choice(["add", "add", "add", "pop", "pop", "clear"])
        if call == "clear" and chance.random() < 0.7:
            call = "add"
        if call == "add":
            items = [dict(chance.choice(ITEMS)) for _ in range(chance.randrange(5))]
            answers = [await one.add_items(items) for one in (ours, theirs)]
        elif call == "pop":
            answers = [await one.pop_item() for one in (ours, theirs)]
        else:
            answers = [await one.clear_session() for one in (ours, theirs)]
        assert answers[0] == answers[1], call
        for limit in (None, -1, 0, chance.randrange(1, 9)):
            mine, reference = [await one.get_items(limit) for one in (ours, theirs)]
            assert mine == reference, (call, limit)
        calls[call] += 1
    theirs.close()
    print(json.dumps(calls))


if __name__ == "__main__":
    asyncio.run(main())
