"""The inbox, the decision page and policies in a real browser."""
