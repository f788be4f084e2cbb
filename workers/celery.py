"""The Celery application: doorbells that carry ids only; PostgreSQL is the queue's truth."""

import os
from typing import Any

from celery import Celery
from celery.fixups.django import DjangoFixup, DjangoWorkerFixup
from celery.signals import setup_logging
from django.db import close_old_connections

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")

# What a request may wait for a Valkey that is frozen.
SEND_SECONDS = 0.25


class Warm(DjangoWorkerFixup):
    """Keeps a task's database connection for the next one.

    Celery's own fixup closes it around every task (2 to 3 ms and all prepared statements each);
    its counter (CELERY_DB_REUSE_MAX) keeps a broken one. Only broken or old ones go here; the
    inherited `_close_database` still parts a forked process from its parent's connections.
    """

    def close_database(self, **_kwargs: Any) -> None:
        close_old_connections()


class WarmFixup(DjangoFixup):
    """Django's fixup with the warm worker part.

    Lazy, since the application's settings are not ready when fixups are built.
    """

    _warm: Warm | None = None

    @property
    def worker_fixup(self) -> Warm:
        if self._warm is None:
            self._warm = Warm(self.app)
        return self._warm


def fixup(application: Celery) -> WarmFixup:
    """Install WarmFixup in place of Celery's built-in fixups."""
    warm = WarmFixup(application)
    warm.install()
    return warm


@setup_logging.connect
def keep_logging(**_kwargs: Any) -> None:
    """Django has set up all logging; somebody listening here keeps Celery from doing it again."""


class App(Celery):
    """Celery, whose producers give up soon: a doorbell that is lost is rung again by the sweep."""

    def connection_for_write(self, url: str | None = None, **options: Any) -> Any:
        """A connection on which a Valkey that does not answer holds nobody for long."""
        value = options.pop("transport_options", None) or {}
        options["transport_options"] = {"socket_timeout": SEND_SECONDS, **value}
        parent: Any = super()
        return parent.connection_for_write(url, **options)


app = App("gatepost", amqp="workers.broker.transport:Broker", fixups=[fixup])
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["workers"])
