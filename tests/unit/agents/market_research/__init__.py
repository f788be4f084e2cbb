"""The market research agent: each of its steps, and its figures worked out a second way."""
