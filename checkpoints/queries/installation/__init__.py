"""Queries about the whole installation: queues, workers, workspaces, figures."""
