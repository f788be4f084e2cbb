"""Gatepost against its budgets: `python -m benchmarks --rows 1,2`, one JSON line per row."""
