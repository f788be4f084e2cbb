"""The verbs of the management commands: thin over actions and queries, like the API."""
