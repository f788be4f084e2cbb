"""A broker that was away is found again within seconds."""

from __future__ import annotations

import pytest
from kombu.exceptions import OperationalError

from tests.embedded.helpers import free_port
from workers.broker import LONGEST_PAUSE, SoonAgain
from workers.celery import app


def test_pauses_between_tries_stay_short(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[float] = []
    monkeypatch.setattr("kombu.utils.functional.sleep", lambda _seconds: None)
    with app.connection_for_read(f"redis://127.0.0.1:{free_port()}/0") as connection:
        assert isinstance(connection, SoonAgain)
        # As Celery's consumer calls it.
        with pytest.raises(OperationalError):
            connection.ensure_connection(lambda _error, pause: told.append(pause), 12)
    assert len(told) >= 10
    assert max(told) == LONGEST_PAUSE
    assert app.conf.broker_connection_max_retries is None
