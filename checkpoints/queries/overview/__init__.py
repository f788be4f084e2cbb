"""Queries behind the overview: what threads did and spent over time, and budgets by month."""
