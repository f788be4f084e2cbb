"""The product's settings for benchmarks, which ask workers by a message which tasks are active."""

from dashboard.settings import *  # noqa: F403

CELERY_WORKER_ENABLE_REMOTE_CONTROL = True
