"""The top floor as a Django app: it listens to news from the floors below."""

import gc

from django.apps import AppConfig, apps
from django.conf import settings
from django.contrib.admin import apps as admin_apps
from django.db.models.signals import post_migrate

from . import THRESHOLDS


class DashboardConfig(AppConfig):
    """The top floor: connects its receivers when Django is ready."""

    default = True
    name = "dashboard"
    verbose_name = "Dashboard"

    def ready(self) -> None:
        from dashboard.operate.grants import after_migration
        from dashboard.threads.capsules import receivers as _folders  # noqa: F401

        from .live import receivers  # noqa: F401
        from .operate import hot_store_check as _hot_store_check  # noqa: F401
        from .recorded_tables import register
        from .records.background import retention as _retention  # noqa: F401
        from .records.background import verification as _verifier  # noqa: F401
        from .records.integrity import outgoing_anchors as _anchors  # noqa: F401

        register()
        from checkpoints.log import remains
        from dashboard.kit.api.idempotency import ERASED_PART

        remains.register(ERASED_PART)
        from dashboard.people.logins import listeners

        from .identity import user_changes
        from .identity.second_factor.records import register_columns

        user_changes.listen()
        listeners.listen()
        register_columns()

        if settings.ROLE == "worker":
            # Imported late by hints: in a worker before its slots are forked, not in each of them.
            from .wire import valkey  # noqa: F401

        # Sent once per app when all tables are there: once is enough.
        sender = apps.get_app_config("checkpoints")
        post_migrate.connect(
            after_migration, sender=sender, dispatch_uid="dashboard.operate.grants"
        )
        gc.set_threshold(*THRESHOLDS)


class RecordsConfig(admin_apps.SimpleAdminConfig):
    """Puts a site of our own in the place of Django's admin site."""

    default = False
    default_site = "dashboard.records.site.RecordsSite"
