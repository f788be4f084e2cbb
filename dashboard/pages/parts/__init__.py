"""Regions of a thread's page that read or compute more than a few lines."""
