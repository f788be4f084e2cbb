"""Looks at an agent's module as a worker would take it, without a worker or a database."""
