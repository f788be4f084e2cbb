"""Settings of the installation that an agent may read."""

from typing import Any


def setting(name: str) -> Any:
    """Read a setting of this installation by its name; LookupError where there is none."""
    from django.conf import settings  # with asyncio: a module of an agent needs neither

    try:
        return getattr(settings, name)
    except AttributeError:
        raise LookupError(f"This installation has no setting {name}.") from None
