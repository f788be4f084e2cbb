"""A thread's state as one document, and data as JSON or YAML text."""
