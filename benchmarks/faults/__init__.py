"""Faults that are drawn and charged, and the trials of tasks under them."""
