"""Numbers of the dialogs that cancel and roll back, computed another way by plain SQL."""

from __future__ import annotations

import random
import re

from tests.support.cast import Cast
from tests.unit.checkpoints.builders import one, rows
from tests.unit.dashboard import populations

BEHIND = """
WITH RECURSIVE way AS (SELECT c.id, c.parent FROM gp_checkpoint c JOIN gp_thread t ON t.head = c.id
  WHERE t.id = %s UNION ALL
  SELECT c.id, c.parent FROM gp_checkpoint c JOIN way ON c.id = way.parent)
SELECT count(*) FROM gp_checkpoint WHERE thread_id = %s AND id IN (SELECT id FROM way)
  AND number > (SELECT number FROM gp_checkpoint WHERE id = %s)
"""
EFFECTS = """
SELECT count(*) FROM gp_activity a JOIN gp_thread t ON t.id = a.thread_id
WHERE t.id = %s AND a.kind = 'effect' AND a.branch = t.branch AND a.state = 'done' AND a.undo <> ''
"""
OPEN = "SELECT count(*) FROM gp_approval WHERE thread_id = %s AND status IN ('pending', 'held')"


def _number(pattern: str, html: str) -> int:
    match = re.search(pattern, html)
    return int(match[1]) if match else 0


def test_numbers_of_the_dialogs_that_undo(cast: Cast) -> None:
    client, seen = cast.client("operator"), 0
    for thread in populations.populate(cast, random.Random(5)):
        first = one("SELECT id FROM gp_checkpoint WHERE thread_id = %s AND number = 0", (thread,))
        dialogs = [
            client.get(f"/threads/{thread}/cancel/"),
            client.get(f"/threads/{thread}/rollback/?checkpoint={first}"),
        ]
        for dialog in dialogs:
            if dialog.status_code != 200:
                continue
            seen += 1
            html = dialog.content.decode()
            effects, waiting = one(EFFECTS, (thread,)), one(OPEN, (thread,))
            assert html.count('data-fate="undoable"') == effects
            assert _number(r"(\d+) open requests? withdrawn", html) == waiting
            if dialog is dialogs[1]:
                behind = rows(BEHIND, (thread, thread, first))[0][0]
                assert _number(r"(\d+) checkpoints? stays? in the history", html) == behind
                assert _number(r"(\d+) undo calls? will be made", html) == effects
    assert seen > 10
