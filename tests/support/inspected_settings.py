"""The settings of the tests for one worker that may be asked by a message what it does."""

from tests.support.settings import *  # noqa: F403

CELERY_WORKER_ENABLE_REMOTE_CONTROL = True
