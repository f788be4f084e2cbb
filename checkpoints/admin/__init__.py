"""The ground floor in the admin site: threads and logs are read, people's roles are edited."""

from . import history, people

__all__ = ["history", "people"]
