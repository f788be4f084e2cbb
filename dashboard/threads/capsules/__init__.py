"""Carrying a thread from one installation to another in one file."""
