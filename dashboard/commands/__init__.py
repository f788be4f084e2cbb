"""The commands of `manage.py` and their verbs: thin over actions and queries, like the API."""
