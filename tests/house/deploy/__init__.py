"""Containers and units against the code."""
