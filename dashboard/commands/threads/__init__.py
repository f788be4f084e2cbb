"""Verbs of the command `threads`."""
