"""Tasks for the test of warm connections; a worker takes them with `--include`."""

import threading

from django.db import connection
from redis import Redis

from workers.broker import doorbell
from workers.celery import app

ANSWERS = "test:warm-answers"
# A worker takes messages for tasks that are named there only.
doorbell.READERS["tests.backend"] = str


@app.task(name="tests.backend")
def backend(redis_url: str) -> None:
    """Say which database process served this task, and from which thread."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            answer = f"{cursor.fetchone()[0]} {threading.get_ident()}"
    except Exception as error:
        answer = f"lost {type(error).__name__}"
    with Redis.from_url(redis_url) as client:
        client.rpush(ANSWERS, answer)
