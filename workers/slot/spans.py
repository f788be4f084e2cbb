"""Exports spans in a thread of the worker's main process, where the environment names a collector.

Otherwise nothing of OpenTelemetry is imported.
"""

from __future__ import annotations

from typing import Any

import structlog
from celery.signals import worker_ready, worker_shutdown

from checkpoints.server_packages import INSTALL, SPANS, is_installed

from ..tracing.environment import is_on
from ..tracing.exporter import Exporter, SpanExporter
from . import canary, forks

log = structlog.get_logger("gatepost.tracing")
_exporters: list[SpanExporter] = []


def _otlp() -> Exporter:
    from ..tracing.otlp import OtlpExporter

    return OtlpExporter()


@worker_ready.connect(dispatch_uid="workers.slot.spans.start")
def start_exporting(**_kwargs: Any) -> None:
    """Begin with the worker."""
    if is_on() and not is_installed(SPANS):
        log.error("spans.not_installed", why=f"Spans need {INSTALL}")
    elif is_on():
        exporter = SpanExporter(_otlp, owner=canary.worker_id(), inside=forks.Turn().taken)
        exporter.start()
        _exporters.append(exporter)


@worker_shutdown.connect(dispatch_uid="workers.slot.spans.stop")
def stop_exporting(**_kwargs: Any) -> None:
    """End with the worker."""
    while _exporters:
        _exporters.pop().stop()
