"""The working floor as a Django app."""

from django.apps import AppConfig


class WorkersConfig(AppConfig):
    """Floor 2: working."""

    name = "workers"
    verbose_name = "Workers"

    def ready(self) -> None:
        """Listen to the news from below."""
        from .broker import receivers  # noqa: F401
