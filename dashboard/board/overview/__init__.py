"""The overview: figures over time, each for page, API, CSV and command, and budgets."""
