from django.apps import AppConfig


class ApprovalsConfig(AppConfig):
    """Floor 1: stops, people, verdicts."""

    name = "approvals"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from .hooks.stored_secrets import register_columns
        from .notify import devices
        from .queries import erased_parts
        from .recorded_tables import register

        register()
        register_columns()
        devices.register_columns()
        erased_parts.register()
