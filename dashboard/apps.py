"""The top floor as a Django app: it listens to news from the floors below."""

from importlib.util import find_spec

from django.apps import AppConfig


class DashboardConfig(AppConfig):
    name = "dashboard"
    verbose_name = "Dashboard"

    def ready(self) -> None:
        if find_spec("dashboard.live") and find_spec("dashboard.live.receivers"):
            from dashboard.live import receivers  # noqa: F401
