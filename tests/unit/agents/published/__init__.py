"""The published folder and the pages in it."""
