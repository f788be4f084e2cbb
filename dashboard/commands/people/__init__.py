"""Verbs about people and workspaces."""
