"""Reads what happened step by step, with contents, for comparing two ways."""
