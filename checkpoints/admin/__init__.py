"""The ground floor in the admin site: threads, logs and rules are read, roles are edited."""

from . import history, people, rules

__all__ = ["history", "people", "rules"]
