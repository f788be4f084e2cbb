"""Faults that are drawn and charged, and the courses of tasks under them."""
