"""The top floor as a Django app: it listens to news from the floors below."""

from django.apps import AppConfig


class DashboardConfig(AppConfig):
    name = "dashboard"
    verbose_name = "Dashboard"

    def ready(self) -> None:
        from .live import receivers  # noqa: F401
