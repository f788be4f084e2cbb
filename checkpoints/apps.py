from django.apps import AppConfig


class CheckpointsConfig(AppConfig):
    """Ground floor: what a thread is, and all that was ever written about it."""

    name = "checkpoints"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from .encryption.channels import register_columns
        from .log import remains
        from .models.recorded_tables import register
        from .queries.erasures import parts
        from .store import history_index
        from .store.encrypted import keys
        from .store.statement import searchable

        register()
        register_columns()
        parts.register()
        remains.register(keys.ERASED_PART)
        remains.register(searchable.ERASED_PART)
        remains.register(history_index.ERASED_PART)
