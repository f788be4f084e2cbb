"""Calls about the caller's own account."""
