"""While a model writes an answer nothing of the database is held."""

from __future__ import annotations

import json
from typing import Any

import psycopg
from django.db import connection

from tests.support.cast import make_cast
from tests.unit.checkpoints.builders import rows
from tests.unit.dashboard.questions.test_asking import record
from tests.unit.dashboard.questions.test_generation import HARBOUR, QUESTION, answering, say
from tests.unit.workers.language.model_server import Got, ModelServer, Say

OPEN = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
    "AND state LIKE 'idle in transaction%'"
)


def test_no_transaction_is_open_meanwhile_whatever_key_is_sent(
    real_db: str, settings: Any, monkeypatch: Any
) -> None:
    cast = make_cast()
    record(cast, HARBOUR)
    known = connection.get_connection_params()
    at = {name: known[name] for name in ("dbname", "user", "host", "port") if name in known}
    seen = []
    usual = ModelServer.answer

    def looking(self: ModelServer, request: Got) -> Say:
        with psycopg.connect(**at, autocommit=True) as other:
            seen.extend(other.execute(OPEN).fetchall())
        return usual(self, request)

    monkeypatch.setattr(ModelServer, "answer", looking)
    with answering(settings, say(("Kiel's harbour has 12 cranes.", 1))):
        answer = cast.client("viewer").post(
            "/api/v1/records/questions/",
            json.dumps({"question": QUESTION, "generate": True}),
            content_type="application/json",
            headers={"Idempotency-Key": "k"},
        )
    assert answer.json()["method"] == "generation"
    assert seen == [(0,)]
    assert rows("SELECT count(*) FROM gp_idempotency_key") == [(0,)]
