"""Breakers: the rule which threads an open one stops."""
