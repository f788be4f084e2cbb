"""A broker that was away is found again within seconds."""

from __future__ import annotations

from uuid import uuid4

import pytest
from kombu.connection import Connection
from kombu.exceptions import OperationalError

from tests.faults.embedded.helpers import free_port
from workers.broker.transport import LONGEST_PAUSE, FastReconnect
from workers.celery import app


def test_pauses_between_tries_stay_short(monkeypatch: pytest.MonkeyPatch) -> None:
    messages: list[float] = []
    monkeypatch.setattr("kombu.utils.functional.sleep", lambda _seconds: None)
    with app.connection_for_read(f"redis://127.0.0.1:{free_port()}/0") as connection:
        assert isinstance(connection, FastReconnect)
        # As Celery's consumer calls it.
        with pytest.raises(OperationalError):
            connection.ensure_connection(lambda _error, pause: messages.append(pause), 12)
    assert len(messages) >= 10
    assert max(messages) == LONGEST_PAUSE
    assert app.conf.broker_connection_max_retries is None


@pytest.mark.parametrize("careful", [True, False])
def test_a_lost_connection_with_an_unacknowledged_doorbell_is_let_go(careful: bool) -> None:
    """What ended workers whose broker was killed between a message and its acknowledgement."""
    kind = FastReconnect if careful else Connection
    name = f"lost-{uuid4()}"
    with app.connection_for_write() as writing, writing.SimpleQueue(name) as queue:
        queue.put({"ring": 1})
    connection = kind(app.conf.broker_url)
    channel = connection.default_channel
    assert channel.basic_get(name) is not None
    connection._do_close_transport()  # as `collect` leaves it when the broker does not answer
    if careful:
        connection.close()
    else:  # kombu's own still needs our help
        with pytest.raises(AttributeError):
            connection.close()
