"""The agent that reads a table, cleans it, analyses it and drafts a report with a chart.

The steps `load`, `clean`, `analyse`, `chart`, `report` and `publish` know nothing of the engine:
paths and JSON-safe values go in, files and JSON-safe values come out.
"""
