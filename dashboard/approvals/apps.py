"""The room as a Django app: Django looks for commands in it."""

from django.apps import AppConfig


class ApprovalsConfig(AppConfig):
    """Requests for approval in the dashboard; the app `approvals` is the floor below."""

    name = "dashboard.approvals"
    label = "dashboard_approvals"
